"""Which baseline and folder a report of stored results has, where none is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyopbench.engine import start


def usual_of(results: Sequence[Path]) -> tuple[str, Path]:
    """Return the baseline that results were measured for, and the folder that their report goes to.

    Raises:
        BadInput: they are not results.
        NothingMeasured: they hold no sample.
    """
    if start.are_own(results):
        baseline = start.baseline_of(results[0])
        for path in results:
            start.require_measured(path)
        return baseline, results[0]
    from pyopbench.store.read import read_cases  # pandas, which takes a second

    # Nothing is put into folders of other tools, which take every JSON there for their own.
    return str(read_cases(results).settings["baseline"]), start.RESULTS_FOLDER / f"report-{results[0].stem}"
