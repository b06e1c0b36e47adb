"""Which baseline and folder a report of stored results has, where none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

import stored
from commands import noisy_results
from foreign_files import document, write
from pyopbench.engine.report_target import usual_of
from pyopbench.model.errors import NothingMeasured


def test_a_run_says_itself(tmp_path: Path) -> None:
    results = noisy_results(tmp_path / "run")
    assert usual_of([results]) == ("py_function_numpy", results)


def test_nothing_is_put_beside_results_of_another_tool(tmp_path: Path) -> None:
    file = write(tmp_path / "bench.json", document("pytest-benchmark-first"))
    assert usual_of([file])[1] == Path("results/report-bench")


def test_a_run_without_a_sample_has_no_report(tmp_path: Path) -> None:
    empty = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    with pytest.raises(NothingMeasured):
        usual_of([empty])
