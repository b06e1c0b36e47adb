"""The report tells by how much what was measured is off, the largest error over the sizes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from frames import Bench
from pyopbench.judge.judge import judge_run
from pyopbench.model.case import BASELINE, Case
from pyopbench.report.sections import Table, checks


def build(**checked: dict[int, dict[str, float]]) -> Any:
    run = Bench({BASELINE: 1e-4, "native": 2e-5}, sizes=(1, 1000)).run()
    errors = {
        key: checked[case.variant][case.size]
        for key, case in ((key, Case.from_id(key)) for key in run.cases)
        if case.size in checked.get(case.variant, {})
    }
    return checks.build(judge_run(SimpleNamespace(**{**vars(run), "checked": errors})))


def test_the_largest_error_over_the_sizes_is_shown() -> None:
    blocks = build(
        native={1: {"values": 0.0}, 1000: {"values": 2e-7, "gradient": 3e-6}}, **{BASELINE: {1: {"values": 0.0}}}
    )
    (table,) = (block for block in blocks if isinstance(block, Table))
    assert table.columns == ("direction", "variant", "values", "gradient", "against finite differences")
    assert {str(row[1]): [str(cell) for cell in row[2:]] for row in table.rows} == {
        "native": ["2.0e-07", "3.0e-06", "–"],
        BASELINE: ["equal", "–", "–"],
    }


def test_what_differences_cannot_check_is_said_with_the_largest_uncertainty() -> None:
    sizes = {1: 0.11, 1000: 0.24}
    rough = {
        size: {"values": 0.0, "finite_difference": 0.0, "difference_uncertainty": one} for size, one in sizes.items()
    }
    (table,) = (block for block in build(native=rough) if isinstance(block, Table))
    (cell,) = (row[-1] for row in table.rows)
    assert "24%" in str(cell)
    assert cell.number == 0.24


def test_results_from_before_errors_were_stored_have_no_such_section() -> None:
    assert build() == ()
