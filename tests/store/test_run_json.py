"""The content of run.json: what is taken, what an error says of one that is refused."""

from __future__ import annotations

from typing import Any

import pytest

import stored
from certificates import as_stored, certificate
from pyopbench.store.run_json import RunContent
from pyopbench.store.strict_json import convert

CASES = (stored.case("well"), stored.case("slow"))
RUN: dict[str, Any] = {**stored.run(CASES), "certificate": as_stored(certificate())}


def read(content: Any) -> None:
    convert(content, RunContent, "run.json").check("run.json")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({**RUN, "settings": {**RUN["settings"], "rounds": "ten"}}, "settings.rounds: expected int, got str: ten"),
        ({**RUN, "settings": {**RUN["settings"], "later": 1}}, "settings: unknown key later"),
        ({**RUN, "later": 1}, "unknown key later"),
        ({**RUN, "cases": ["no case"]}, "'no case' is not the id of a case"),
        ({**RUN, "environment": {**RUN["environment"], "cores": None}}, "environment: cores: expected int, got null"),
        (
            {**RUN, "skips": [{**stored.failure(CASES[0]), "status": "odd"}]},
            "skips[0].status: invalid enum value 'odd'",
        ),
    ],
)
def test_errors_name_the_file_and_the_place(content: Any, told: str) -> None:
    assert stored.refusal(lambda: read(RUN)) is None
    assert stored.refusal(lambda: read(content)) == f"run.json: {told}"


def test_what_is_not_known_of_an_op_or_a_variant_can_be_asked_for() -> None:
    catalogue = stored.typed(RUN).catalogue
    assert (catalogue.op("other").size_unit, catalogue.variant("other").kind) == ("elements", "")
