"""Errors have their exit codes, and come back from another process as what they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyopbench.model.errors import BadInput, NothingMeasured, PyopbenchError, WorkerLost, WrongResult


@pytest.mark.parametrize(
    ("kind", "code"), [*((BadInput, 2), (NothingMeasured, 3), (WorkerLost, 3), (WrongResult, 1), (PyopbenchError, 2))]
)
def test_every_error_has_the_exit_code_that_the_command_line_promises(kind: type[PyopbenchError], code: int) -> None:
    assert kind("what").exit_code == code


def test_bad_input_comes_back_from_another_process_as_what_it_was() -> None:
    error = BadInput("not a size", received=Path("x"), legal=None, hint="try 3")
    found = BadInput.from_plain(json.loads(json.dumps(error.as_plain())))
    assert str(found) == str(error)
