"""What each tool's results cannot support, as whole sentences."""

from __future__ import annotations

import pytest

from pyopbench.report.wording.limitations import limitation_text
from pyopbench.results.limitations import Limitation, NotInterleaved, OnlyOneLaunch, SamplesNotKept


@pytest.mark.parametrize(
    ("limitation", "said"),
    [
        (
            OnlyOneLaunch("asv"),
            (
                "asv does not tell which process a sample is from, so all samples of a benchmark count as one launch. "
                "One launch has no interval: no verdict can be given and nothing decided, and ratios are estimates "
                "without one."
            ),
        ),
        (
            OnlyOneLaunch("pytest-benchmark"),
            (
                "pytest-benchmark times everything in one process, which is one launch. One launch has no interval: no "
                "verdict can be given and nothing decided, and ratios are estimates without one."
            ),
        ),
        (
            NotInterleaved("asv"),
            (
                "asv times one combination after another, each in processes of its own. Nothing is interleaved, so "
                "what the machine did in between is part of every ratio."
            ),
        ),
        (
            SamplesNotKept("asv", bare=1, results=27),
            (
                "1 of 27 results have no samples but asv's median alone, so how calls scattered is not known either: "
                "`asv run --record-samples` keeps them."
            ),
        ),
        (
            SamplesNotKept("pytest-benchmark", bare=10, results=10),
            (
                "10 of 10 benchmarks have no samples but the median alone, so how calls scattered is not known either: "
                "`--benchmark-json` and `--benchmark-save-data` keep them."
            ),
        ),
    ],
)
def test_limitations(limitation: Limitation, said: str) -> None:
    assert limitation_text(limitation) == said
