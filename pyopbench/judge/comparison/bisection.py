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
from pyopbench.model.side import HERE, Environment
from pyopbench.stats.estimate import LEVEL
from pyopbench.stats.step_search import MOST_GAPS, STEP, Step, StepSearch
from pyopbench.store import run_sides
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source

CommitBlock: TypeAlias = Sequence[tuple[str, float]]
"""Commits that were launched together, and the log of the time of each over that of the first."""
MeasureCommits: TypeAlias = Callable[[Sequence[str], tuple[str, ...], Path], bool]
"""Measures cases of some commits interleaved, into a folder; returns whether it did."""
CaseAndEnvironment: TypeAlias = tuple[str, Environment]
"""The id of a case and the environment that it was measured in."""
MOST_PLACES = 30
"""How many commits of stored launches one search uses: combinations of steps grow with the third power."""
MOST_RANGES = MOST_GAPS // 2
"""How many suspicions one search follows, the largest first: each adds two ends, and gaps between these."""


@dataclass
class CommitLaunches:
    """The launches of commits in interleaved runs, of one case in one environment.

    Attributes:
        blocks: of launches. The A/A control counts as another launch of the first commit.
        failed: commits that a finished round could not measure.
    """

    blocks: list[CommitBlock] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)


def read_launches(folders: Iterable[Path], rounds: Iterable[Path] = ()) -> Mapping[CaseAndEnvironment, CommitLaunches]:
    """Return the launches of several folders, by case and environment; each folder counts once.

    A folder without an interleaved run over several commits adds nothing. Commits are only compared in the same
    environment.

    Args:
        folders: of results.
        rounds: of finished rounds of searches. Only in these does a commit count as failed.

    Raises:
        BadInput: the files are not as they were written.
    """
    found: dict[CaseAndEnvironment, CommitLaunches] = {}
    finished = [real_path(path) for path in rounds]
    for folder in dict.fromkeys((*map(real_path, folders), *finished)):
        every = run_sides.read_all(folder) if run_sides.is_here(folder) else []
        if any(side.revision is None for side in every):
            continue
        measured = [side for side in every if side.problem is None]
        runs = read_source(folder) if len(measured) > 1 else ()
        for environment in dict.fromkeys(side.environment for side in measured):
            sides = [side for side in measured if side.environment == environment]
            unplanned = {_commit(side) for side in every if side.problem and side.environment == environment}
            for case, blocks in _blocks(folder, runs, sides).items():
                known = found.setdefault((case, environment), CommitLaunches())
                known.blocks += blocks
                if folder in finished:
                    known.failed |= unplanned | _failed(case, sides, measured, runs)
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
        for case, some in blocks.items():
            found.setdefault(case, list(some.values()))
        # A case that the first side lacks is compared with the next side that has it.
        if all(case in found for run in runs for case in run.cases):
            break
    return found


def _failed(
    case: str, sides: Sequence[run_sides.Side], measured: Sequence[run_sides.Side], runs: Sequence[Run]
) -> set[str]:
    """Return the commits of some sides at which a case failed; without a sample, it may just not have had its turn."""
    failing = [side for side, run in zip(measured, runs, strict=True) if any(one.case == case for one in run.failures)]
    return {_commit(side) for side in failing if side in sides and not side.is_control}


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
        places: those whose launches are used.
    """

    number: int
    case: str
    commits: Sequence[str]
    changes: Sequence[FoundChange]
    search: StepSearch
    ranges: Sequence[tuple[int, int]] = ()
    places: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, found: History, number: int, commits: Sequence[str], stored: CommitLaunches) -> CommitSearch:
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
        ends = [(places[one.before], places[one.after]) for one in reruns if {one.before, one.after} <= {*places}]
        ranges = [(min(one), max(one)) for one in ends]
        start = {place for one in ranges for place in one}
        launched = {places[commit] for block in stored.blocks for commit, _ in block if commit in places}
        if series.places.size <= MOST_GAPS:
            ranges = [(0, len(commits) - 1)]
            start |= launched if len(launched) <= MOST_PLACES else {min(launched), max(launched)}
        sought = min((abs(math.log(one.ratio)) for one in changes), default=math.log1p(STEP))
        search = StepSearch(start, math.log1p(found.options.minimum_effect), sought)
        self = cls(number, series.case, commits, changes, search, ranges, set(start))
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

    def add(self, launched: CommitLaunches) -> bool:
        """Add launches of commits that are wanted, or in the ranges that are searched; return whether any is of use.

        Of very many commits in the ranges, a few that are evenly spread are used. A commit that could not be measured
        is not launched again.
        """
        order = {commit: place for place, commit in enumerate(self.commits)}
        wanted = set(self.search.next_block())
        offered = {order[commit] for block in launched.blocks for commit, _ in block if commit in order}
        inside = sorted(
            place for place in offered - self.places if any(first <= place <= last for first, last in self.ranges)
        )
        room = max(MOST_PLACES - len(self.places), 0)
        self.places |= (wanted & offered) | set(inside[:: max(-(-len(inside) // room), 1)] if room else ())
        places = {commit: place for commit, place in order.items() if place in self.places}
        taken = [[(places[commit], value) for commit, value in block if commit in places] for block in launched.blocks]
        usable = [block for block in taken if len({place for place, _ in block}) > 1]
        self.search.blocks += usable
        failed = {order[commit] for commit in launched.failed if commit in order}
        is_new = bool(usable or failed - self.search.skipped)
        self.search.skipped |= failed
        self.search.next_block()  # its `found` and `open` are those of the last one
        return is_new

    def skip(self, commits: Collection[str]) -> None:
        """Launch no longer what a round was asked for in vain, or the next rounds might all be the same."""
        self.search.skipped |= {self.commits.index(commit) for commit in commits}

    def bisected(self, environment: Environment = HERE) -> Iterator[Bisected]:
        """Yield the certain steps, then the probable ones, as those of an environment."""
        is_finished = not self.search.next_block()
        launched = sorted({place for block in self.search.blocks for place, _ in block})
        measured = tuple(self.commits[place] for place in launched)
        certain = self.search.found
        for step in (*certain, *self.search.open):
            left = tuple(self.commits[step.before + 1 : step.after + 1])
            yield Bisected(
                self.case,
                self.commits[0],
                self.commits[-1],
                left,
                measured,
                ratio=math.exp(step.size),
                is_finished=is_finished,
                is_certain=step in certain,
                environment="" if environment.is_here else environment.text,
            )

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
    environment: Environment,
    folder: Path,
    measure: MeasureCommits,
    most_commits: int | None = None,
) -> None:
    """Measure commits in rounds until there is nothing left to find.

    Args:
        searches: the searches; a round measures the commits that any of them needs.
        environment: the one in which all of them are measured.
        folder: of the search; each round is a subfolder named `001`, `002`, and so on.
        measure: measures a round; if it returns False, the searches end.
        most_commits: of a round; None for any number.
    """
    for number in itertools.count(1):
        place = folder / f"{number:03}"
        if place.exists():  # of an earlier command
            continue
        asked: dict[str, set[str]] = {}
        for one in searches:
            asked.setdefault(one.case, set()).update(one.wanted())
        wanted = {commit for some in asked.values() for commit in some}
        if not wanted:
            return
        commits = _choose_commits(wanted, searches, most_commits)
        if not measure(commits, tuple(case for case, some in asked.items() if some), place):
            return
        launched = read_launches((), [place])
        of_each = {case: launched.get((case, environment), CommitLaunches()) for case in asked}
        added = [one.add(of_each[one.case]) for one in searches]
        if not any(added):  # the next round would be the same
            return
        for one in searches:
            known = {commit for block in of_each[one.case].blocks for commit, _ in block}
            one.skip({*commits} & asked[one.case] - known)


def each_once(steps: Iterable[Bisected]) -> list[Bisected]:
    """Return each step of a case once, the certain one of several.

    A case has a series for each separate result, and the search of each finds the same steps.
    """
    found: dict[object, Bisected] = {}
    for step in steps:
        if step.is_certain or (step.case, step.environment, step.left) not in found:
            found[step.case, step.environment, step.left] = step
    return list(found.values())


def _choose_commits(wanted: Collection[str], searches: Sequence[CommitSearch], most_commits: int | None) -> list[str]:
    """Return up to `most_commits` of the wanted commits, oldest first.

    Those with the fewest launches are chosen. One that has launches already is always among them, because blocks
    without a common commit cannot be compared.
    """
    order = searches[0].commits
    launches = Counter(one.commits[place] for one in searches for block in one.search.blocks for place, _ in block)
    chosen = sorted(wanted, key=lambda commit: (launches[commit], order.index(commit)))
    if most_commits is not None and len(chosen) > most_commits:
        links = [commit for commit in chosen if launches[commit]][:1]
        chosen = [*links, *(commit for commit in chosen if commit not in links)][:most_commits]
    return sorted(chosen, key=order.index)
