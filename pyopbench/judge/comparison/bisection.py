"""Bisection of commits: the launches of stored runs in blocks, and the searches that use them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from scipy import special

from pyopbench.judge.comparison.changes import Bisected, FoundChange, Outcome
from pyopbench.judge.comparison.history import History
from pyopbench.judge.comparison.sides import pair_logs, sides_along
from pyopbench.model.paths import real_path
from pyopbench.model.side import Environment
from pyopbench.stats.estimate import LEVEL
from pyopbench.stats.step_search import MOST_GAPS, STEP, Step, StepSearch
from pyopbench.store import run_sides
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source

CommitBlock: TypeAlias = Sequence[tuple[str, float]]
"""Commits that were launched together, and the log of the time of each over that of the first."""
MeasureCommits: TypeAlias = Callable[[Sequence[str], tuple[str, ...], Path], bool]
"""Measures cases of some commits interleaved, into a folder; returns whether it did."""
Place: TypeAlias = tuple[str, Environment]
"""The id of a case and the environment that it was measured in."""
MOST_RANGES = MOST_GAPS // 2
"""How many suspicions one search follows, the largest first: each adds two ends, and gaps between these."""


@dataclass
class Launched:
    """The launches that interleaved runs over commits have of a case.

    Attributes:
        blocks: of launches. The A/A control counts as another launch of the first commit.
        failed: commits that a finished round asked for, and has no launch of.
    """

    blocks: list[CommitBlock] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)


def read_launches(folders: Iterable[Path], rounds: Iterable[Path] = ()) -> Mapping[Place, Launched]:
    """Return the launches of several folders, by case and environment; each folder counts once.

    A folder without an interleaved run over several commits adds nothing. Commits are only compared in the same
    environment.

    Args:
        folders: of results.
        rounds: of finished rounds of searches. In other runs a commit may lack launches because they were interrupted.

    Raises:
        BadInput: the files are not as they were written.
    """
    found: dict[Place, Launched] = {}
    finished = set(map(real_path, rounds))
    for folder in dict.fromkeys((*map(real_path, folders), *finished)):
        every = run_sides.read_all(folder) if run_sides.is_here(folder) else []
        if any(side.revision is None for side in every):
            continue
        measured = [side for side in every if side.problem is None]
        runs = read_source(folder) if len(measured) > 1 else ()
        for environment in dict.fromkeys(side.environment for side in measured):
            sides = [side for side in measured if side.environment == environment]
            asked = {_commit(side) for side in every if side.environment == environment}
            for case, blocks in _blocks(folder, runs, sides).items():
                known = found.setdefault((case, environment), Launched())
                known.blocks += blocks
                if folder in finished:
                    known.failed |= asked - {commit for block in blocks for commit, _ in block}
    return found


def _blocks(folder: Path, runs: Sequence[Run], sides: Sequence[run_sides.Side]) -> dict[str, list[CommitBlock]]:
    """Return the blocks of each case; the first side that has launches of a case is in each of them."""
    found: dict[str, list[CommitBlock]] = {}
    for number, first in enumerate(sides):
        blocks: dict[str, dict[object, list[tuple[str, float]]]] = {}
        for side in sides[number + 1 :]:
            pair = sides_along("commit", runs, [first.label, side.label], str(folder))
            if pair.paired != "block":
                return {}
            for row in pair_logs(pair).itertuples():
                block = blocks.setdefault(str(row.case), {}).setdefault(row.block, [(_commit(first), 0.0)])
                block.append((_commit(side), float(row.value)))  # type: ignore[arg-type]
        found = {**{case: list(some.values()) for case, some in blocks.items()}, **found}
        if {case for run in runs for case in run.cases} <= {*found}:
            break
    return found


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
        ranges: the first and the last place of each stretch in which a step is searched.
    """

    number: int
    case: str
    commits: Sequence[str]
    changes: Sequence[FoundChange]
    search: StepSearch
    ranges: Sequence[tuple[int, int]] = ()

    @classmethod
    def of(cls, found: History, number: int, commits: Sequence[str], stored: Launched) -> CommitSearch:
        """Return the search of a series, with its interleaved launches that exist already.

        Args:
            found: the history.
            number: of the series.
            commits: oldest first, without a gap.
            stored: the launches of its case, in its environment.
        """
        series = found.traced[number].series
        changes = [one for one in found.changes if one.number == number and one.rerun and one.status != "refuted"]
        reruns = [one.rerun for one in changes[:MOST_RANGES] if one.rerun]
        places = {commit: place for place, commit in enumerate(commits)}
        ranges = [(places[one.before], places[one.after]) for one in reruns if {one.before, one.after} <= {*places}]
        start = {place for ends in ranges for place in ends}
        if series.places.size <= MOST_GAPS:
            ranges = [(0, len(commits) - 1)]
            start |= {places[commit] for block in stored.blocks for commit, _ in block if commit in places}
        sought = min((abs(math.log(one.ratio)) for one in changes), default=math.log1p(STEP))
        search = StepSearch(start, math.log1p(found.options.minimum_effect), sought)
        self = cls(number, series.case, commits, changes, search, ranges)
        self.add(stored)
        return self

    @property
    def is_worthwhile(self) -> bool:
        """Whether a step is suspected, or probable from the launches that exist already."""
        if not self.search.start or len(self.commits) < 2:
            return False
        return bool(self.changes or self.search.open or self.search.found)

    def wanted(self) -> list[str]:
        """Return the commits to launch together next; none if there is nothing left to find."""
        return [self.commits[place] for place in self.search.next_block()]

    def add(self, launched: Launched) -> bool:
        """Add launches of commits in the ranges that are searched; return whether any of them can be used.

        A commit that was asked for and has no launch is not launched again.
        """
        places = {
            commit: place
            for place, commit in enumerate(self.commits)
            if any(first <= place <= last for first, last in self.ranges)
        }
        taken = [[(places[commit], value) for commit, value in block if commit in places] for block in launched.blocks]
        usable = [block for block in taken if len({place for place, _ in block}) > 1]
        self.search.blocks += usable
        known = {place for block in self.search.blocks for place, _ in block}
        failed = {places[commit] for commit in launched.failed if commit in places} - known
        is_new = bool(usable or failed - self.search.skipped)
        self.search.skipped |= failed
        self.search.next_block()  # the steps of all these launches
        return is_new

    def bisected(self) -> Iterator[Bisected]:
        """Yield the steps that were found, and those that are not narrowed down to a commit yet."""
        is_finished = not self.search.next_block()
        launched = sorted({place for block in self.search.blocks for place, _ in block})
        measured = tuple(self.commits[place] for place in launched)
        certain = self.search.found
        for step in (*certain, *self.search.open):
            left = tuple(self.commits[step.before + 1 : step.after + 1])
            ends, ratio = (self.commits[0], self.commits[-1]), math.exp(step.size)
            yield Bisected(self.case, *ends, left, measured, ratio, is_finished, step in certain)

    def judged(self, change: FoundChange, folder: Path) -> FoundChange:
        """Return a change with the result of the search, if it is of this series and has no re-run of its own."""
        rerun = change.rerun
        if rerun is None or change.again is not None or change.number != self.number:
            return change
        places = {commit: place for place, commit in enumerate(self.commits)}
        first, last = places.get(rerun.before, -1), places.get(rerun.after, -1)
        launched = {place for block in self.search.blocks for place, _ in block}
        if not {first, last} <= launched or not self.search.is_begun:
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


def run_searches(
    searches: Sequence[CommitSearch],
    where: Environment,
    folder: Path,
    measure: MeasureCommits,
    most: int | None = None,
) -> None:
    """Measure commits in rounds until there is nothing left to find.

    Args:
        searches: the searches; a round measures the commits that any of them needs.
        where: the environment of all.
        folder: the folder that has a folder for each round.
        measure: measures a round; if it returns False, the searches end.
        most: how many commits a round can have; None for any number.
    """
    numbers = (number for number in itertools.count(1) if not (folder / f"{number:03}").exists())
    for number in numbers:
        asked = {one.case: one.wanted() for one in searches}
        wanted = {commit for some in asked.values() for commit in some}
        if not wanted:
            return
        place = folder / f"{number:03}"
        commits = _fitting(wanted, searches, most)
        if not measure(commits, tuple(case for case, some in asked.items() if some), place):
            return
        launched = read_launches((), [place])
        added = [one.add(launched.get((one.case, where), Launched())) for one in searches]
        if not any(added):
            return


def _fitting(wanted: Collection[str], searches: Sequence[CommitSearch], most: int | None) -> list[str]:
    """Return at most so many of the wanted commits, oldest first: those with the fewest launches, and one to link them.

    Blocks without a commit in common cannot be compared.
    """
    order = searches[0].commits
    launches = Counter(one.commits[place] for one in searches for block in one.search.blocks for place, _ in block)
    chosen = sorted(wanted, key=lambda commit: (launches[commit], order.index(commit)))
    if most is not None and len(chosen) > most:
        links = [commit for commit in chosen if launches[commit]][:1]
        chosen = [*links, *(commit for commit in chosen if commit not in links)][:most]
    return sorted(chosen, key=order.index)
