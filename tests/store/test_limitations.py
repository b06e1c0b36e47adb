"""What results of other tools cannot support."""

from __future__ import annotations

import pytest

from pyopbench.store.limitations import Limitation, NotInterleaved, OnlyOneLaunch, SamplesNotKept


@pytest.mark.parametrize(
    ("limitation", "said"),
    [
        (
            OnlyOneLaunch("asv"),
            (
                "asv does not record which process a sample is from, so all samples of a benchmark count as "
                "one launch. One launch gives no interval, so there are no verdicts and no decisions."
            ),
        ),
        (
            OnlyOneLaunch("pytest-benchmark"),
            (
                "pytest-benchmark times everything in one process, which is one launch. One launch gives no "
                "interval, so there are no verdicts and no decisions."
            ),
        ),
        (
            NotInterleaved("asv"),
            (
                "asv times one combination after another, in separate processes, so every ratio includes how "
                "the machine changed in between."
            ),
        ),
        (
            SamplesNotKept("asv", bare=1, results=27),
            (
                "1 of 27 results have only asv's median and no samples, so the spread of calls is unknown; "
                "`asv run --record-samples` keeps them."
            ),
        ),
        (
            SamplesNotKept("pytest-benchmark", bare=10, results=10),
            (
                "10 of 10 benchmarks have only the median and no samples, so the spread of calls is unknown; "
                "`--benchmark-json` and `--benchmark-save-data` keep them."
            ),
        ),
    ],
)
def test_limitations(limitation: Limitation, said: str) -> None:
    assert limitation.text() == said
