"""What options of `pyopbench run` come to, before anything is measured."""

from __future__ import annotations

import pytest

from pyopbench.cli.app import _budget
from pyopbench.core.model import Axes
from pyopbench.run import start


@pytest.mark.parametrize(
    ("ops", "versions", "seconds"),
    [
        ((), None, 170.0),
        (("sinh",), None, 45.0),
        (("sinh", "relu"), ["2.16.2", "2.21.0"], 180.0),
        (("sinh", "relu", "log", "square", "cube", "double"), None, 170.0),
    ],
)
def test_a_quick_run_of_few_ops_is_short(ops: tuple[str, ...], versions: list[str] | None, seconds: float) -> None:
    assert _budget(Axes(ops=ops), start.QUICK, versions) == seconds


def test_a_full_run_has_no_budget() -> None:
    assert _budget(Axes(ops=("sinh",)), start.FULL, ["2.16.2", "2.21.0"]) is None
