"""The content of run.json: what is taken, and what an error says of one that is refused."""

from __future__ import annotations

from typing import Any

import pytest

import stored
from certificates import as_stored, certificate
from pyopbench.model.errors import BadInput
from pyopbench.store import run_folder, run_schema

CASES = (stored.case("well"), stored.case("slow"))
RUN: dict[str, Any] = {"schema": run_folder.SCHEMA, **stored.run(CASES), "certificate": as_stored(certificate())}


def test_errors_name_the_file_the_place_and_what_is_legal() -> None:
    content = {**RUN, "settings": {**RUN["settings"], "rounds": "ten"}}
    with pytest.raises(BadInput) as caught:
        run_schema.check_run(content, "run.json")
    assert caught.value.received == "run.json: settings.rounds: expected int, got str: ten"


def test_keys_of_other_versions_are_let_be() -> None:
    run_schema.check_run({**RUN, "later": {"any": [None]}, "settings": {**RUN["settings"], "later": 1}}, "here")


def test_a_case_that_is_none_is_named() -> None:
    with pytest.raises(BadInput) as caught:
        run_schema.check_run({**RUN, "cases": ["no case"]}, "run.json")
    assert caught.value.received == "run.json: 'no case' is not the id of a case"
