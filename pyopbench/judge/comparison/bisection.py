"""Bisection of commits: the launches of stored runs in blocks, and the searches that use them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from scipy import special

from pyopbench.judge.comparison.changes import Bisected, FoundChange, Outcome
from pyopbench.judge.comparison.history import History
from pyopbench.judge.comparison.series import Series
from pyopbench.judge.comparison.sides import pair_logs, sides_along
from pyopbench.stats.estimate import LEVEL
from pyopbench.stats.step_search import MOST_GAPS, STEP, Step, StepSearch
from pyopbench.store import run_sides
from pyopbench.store.read import read_source

CommitBlock: TypeAlias = Sequence[tuple[str, float]]
"""Commits that were launched together, and the log of the time of each over that of the first."""
MeasureCommits: TypeAlias = Callable[[Sequence[str], tuple[str, ...], Path], bool]
"""Measures cases of some commits interleaved, into a folder; returns whether it did."""
MOST_RANGES = MOST_GAPS // 2
"""How many suspicions one search follows, the largest first: each adds two ends, and gaps between these."""


def read_blocks(folder: Path) -> dict[str, list[CommitBlock]]:
    """Return the blocks of launches of each case of a run over commits.

    The A/A control counts as another launch of the first commit.

    Returns:
        Blocks by case; empty if the run is not over several commits.

    Raises:
        BadInput: the files are not as they were written.
    """
    sides = run_sides.read(folder) if run_sides.is_here(folder) else []
    if len(sides) < 2 or any(side.revision is None for side in sides):
        return {}
    runs = read_source(folder)
    found: dict[str, dict[object, list[tuple[str, float]]]] = {}
    first, *others = sides
    for side in others:
        pair = sides_along("commit", runs, [first.label, side.label], str(folder))
        if pair.paired != "block":
            return {}
        for row in pair_logs(pair).itertuples():
            block = found.setdefault(str(row.case), {}).setdefault(row.block, [(_commit(first), 0.0)])
            block.append((_commit(side), float(row.value)))  # type: ignore[arg-type]
    return {case: list(blocks.values()) for case, blocks in found.items()}


def _commit(side: run_sides.Side) -> str:
    return "" if side.revision is None else side.revision.commit


@dataclass
class CommitSearch:
    """The search for the steps of one series.

    Attributes:
        number: of the series in its history.
        case: the id of its case.
        commits: oldest first.
        changes: the changes of the series that are suspected, or were confirmed.
        search: the search; its places are positions in `commits`.
    """

    number: int
    case: str
    commits: Sequence[str]
    changes: Sequence[FoundChange]
    search: StepSearch

    @classmethod
    def of(cls, found: History, number: int, commits: Sequence[str], stored: Sequence[CommitBlock]) -> CommitSearch:
        """Return the search of a series, with its interleaved launches that exist already.

        Args:
            found: the history.
            number: of the series.
            commits: oldest first, without a gap.
            stored: blocks of its case.
        """
        series = found.traced[number].series
        changes = [one for one in found.changes if one.number == number and one.rerun and one.status != "refuted"]
        ends = {value for one in changes[:MOST_RANGES] if one.rerun for value in (one.rerun.before, one.rerun.after)}
        if series.places.size <= MOST_GAPS:
            ends |= {commit for block in stored for commit, _ in block}
        sought = min((abs(math.log(one.ratio)) for one in changes), default=math.log1p(STEP))
        places = {commit: place for place, commit in enumerate(commits)}
        start = {places[commit] for commit in ends if commit in places}
        self = cls(
            number, series.case, commits, changes, StepSearch(start, math.log1p(found.options.minimum_effect), sought)
        )
        self._add(stored, start)
        return self

    @property
    def is_worthwhile(self) -> bool:
        """Whether a step is suspected, or probable from the launches that exist already."""
        if not self.search.start or len(self.commits) < 2:
            return False
        if self.changes:
            return True
        self.search.next_block()
        return bool(self.search.open or self.search.found)

    def wanted(self) -> list[str]:
        """Return the commits to launch together next; none if there is nothing left to find."""
        return [self.commits[place] for place in self.search.next_block()]

    def add(self, blocks: Sequence[CommitBlock]) -> bool:
        """Add blocks that were measured after the last `wanted`; return whether any of them can be used."""
        wanted = set(self.search.next_block())
        known = {place for block in self.search.blocks for place, _ in block}
        if not wanted or not self._add(blocks, known | wanted):
            return False
        # A commit that failed while others were measured is not launched again.
        self.search.skipped |= wanted - {place for block in self.search.blocks for place, _ in block}
        return True

    def _add(self, blocks: Sequence[CommitBlock], wanted: Collection[int]) -> int:
        """Add the launches of some places; return how many blocks have at least two of these places."""
        places = {commit: place for place, commit in enumerate(self.commits) if place in wanted}
        taken = [[(places[commit], value) for commit, value in block if commit in places] for block in blocks]
        usable = [block for block in taken if len({place for place, _ in block}) > 1]
        self.search.blocks += usable
        return len(usable)

    def bisected(self) -> Iterator[Bisected]:
        """Yield the steps that were found, and those that are not narrowed down to a commit yet."""
        is_finished = not self.search.next_block()
        launched = sorted({place for block in self.search.blocks for place, _ in block})
        measured = tuple(self.commits[place] for place in launched)
        for step in (*self.search.found, *self.search.open):
            left = tuple(self.commits[step.before + 1 : step.after + 1])
            yield Bisected(
                self.case, self.commits[0], self.commits[-1], left, measured, math.exp(step.size), is_finished
            )

    def judged(self, change: FoundChange, folder: Path) -> FoundChange:
        """Return a change with the result of the search, if it is of this series and has no re-run of its own."""
        rerun = change.rerun
        if rerun is None or change.again is not None or change.number != self.number:
            return change
        places = {commit: place for place, commit in enumerate(self.commits)}
        first, last = places.get(rerun.before, -1), places.get(rerun.after, -1)
        launched = {place for block in self.search.blocks for place, _ in block}
        if not {first, last} <= launched:
            return change

        def inside(steps: Sequence[Step]) -> list[Step]:
            return [one for one in steps if first <= one.before and one.after <= last]

        certain = inside(self.search.found)
        if not certain:
            return replace(change, status="open" if inside(self.search.steps) else "refuted")
        size = sum(one.size for one in certain)
        half = float(special.ndtri((1 + LEVEL) / 2)) * math.hypot(*(one.error for one in certain))
        outcome = Outcome(
            "slower" if size > 0 else "faster",
            ratio=math.exp(size),
            low=math.exp(size - half),
            high=math.exp(size + half),
            launches=sum(len(block) for block in self.search.blocks),
            folder=str(folder),
        )
        return replace(change, status="confirmed" if outcome.outcome == change.direction else "refuted", again=outcome)


def run_searches(searches: Sequence[CommitSearch], folder: Path, measure: MeasureCommits | None) -> None:
    """Add the stored rounds to searches over the same commits, and measure more until there is nothing left to find.

    Args:
        searches: the searches; a round measures the commits that any of them needs.
        folder: the folder that has a folder for each round.
        measure: measures a round; if it returns False, the searches end. None to use only stored rounds.
    """
    for number in itertools.count(1):
        asked = {one.case: one.wanted() for one in searches}
        wanted = {commit for some in asked.values() for commit in some}
        if not wanted:
            return
        place = folder / f"{number:03}"
        if _add_round(searches, place):
            continue
        commits = sorted(wanted, key=searches[0].commits.index)
        cases = tuple(case for case, some in asked.items() if some)
        if measure is None or not measure(commits, cases, place) or not _add_round(searches, place):
            return


def _add_round(searches: Sequence[CommitSearch], folder: Path) -> bool:
    """Add the blocks of a round to searches; return whether any search can use them."""
    blocks = read_blocks(folder)
    added = [one.add(blocks.get(one.case, ())) for one in searches]
    return any(added)


def ends_of(found: History, series: Sequence[Series]) -> tuple[str, str]:
    """Return the first and the last commit of some series."""
    places = [int(place) for one in series for place in (one.places[0], one.places[-1])]
    return found.moments[min(places)].value, found.moments[max(places)].value


def blocks_by_case(folders: Sequence[Path]) -> Mapping[str, list[CommitBlock]]:
    """Return the blocks of each case of several runs."""
    blocks: dict[str, list[CommitBlock]] = {}
    for folder in folders:
        for case, some in read_blocks(folder).items():
            blocks.setdefault(case, []).extend(some)
    return blocks
