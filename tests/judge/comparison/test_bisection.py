"""The judgement of a suspected change by the search for commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.judge.comparison.bisection import CommitSearch
from pyopbench.judge.comparison.changes import FoundChange, Rerun
from pyopbench.stats.step_search import StepSearch

COMMITS = [f"{number:040x}" for number in range(9)]


def change(before: int, after: int) -> FoundChange:
    rerun = Rerun("pyopbench", "commit", COMMITS[before], COMMITS[after], ("op.py",), ("case",))
    labels = dict.fromkeys(("before", "first"), COMMITS[before]) | dict.fromkeys(("after", "last"), COMMITS[after])
    return FoundChange(0, after, **labels, ratio=1.1, low=1.05, high=1.15, status="suspected", rerun=rerun)


@pytest.mark.parametrize(
    ("ends", "step", "status"),
    [((0, 8), 0.0, "refuted"), ((0, 1), 0.1, "confirmed"), ((0, 1), -0.1, "refuted"), ((2, 4), 0.0, "suspected")],
)
def test_a_search_judges_a_change_if_it_launched_both_ends(ends, step, status):
    places = [0, 1, 8]
    search = StepSearch(set(places), 0.03)
    search.blocks += [[(place, step * (place > 0) + 1e-4 * number * place) for place in places] for number in range(4)]
    found = change(*ends)
    commit_search = CommitSearch(0, "case", COMMITS, [found], search)
    search.next_block()
    assert commit_search.judged(found, Path("reruns")).status == status
