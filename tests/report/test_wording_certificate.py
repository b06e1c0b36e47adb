"""What is not as good as promised, as whole lines."""

from __future__ import annotations

import pytest

from pyopbench.report.wording.certificate import miss_text
from pyopbench.results.certificate import (
    MayBeToldApart,
    Miss,
    NoIdenticalPairs,
    Overhead,
    Pairs,
    SlowdownMissed,
    ToldApart,
    TooCostly,
)


@pytest.mark.parametrize(
    ("miss", "said"),
    [
        (NoIdenticalPairs(), "no identical pair has a verdict"),
        (
            ToldApart(Pairs(0, 1_000, 6, 5, 900, 89, 1.0, 0.018), 0.01),
            "11 of 1,000 identical pairs were told apart, 1.1%; promised are at most 1%",
        ),
        (
            MayBeToldApart(Pairs(0, 200, 1, 1, 198, 0, 1.0, 0.031), 0.02),
            "2 of 200 identical pairs were told apart: up to 3.1%; promised are at most 2%",
        ),
        (
            SlowdownMissed(Pairs(5, 100, 0, 94, 0, 6, 1.05, 0.9), 0.95),
            "94 of 100 slowdowns by 5% were found, 94%; promised are at least 95%",
        ),
        (
            TooCostly(Overhead(20e-6, 20.03e-6), 0.001),
            "timing adds 0.15% to a call of 20.0 µs; promised are at most 0.1%",
        ),
    ],
)
def test_misses(miss: Miss, said: str) -> None:
    assert miss_text(miss) == said
