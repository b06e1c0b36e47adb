"""The search for the commits at which a level steps: it halves gaps with a probable step, and reuses every launch.

**Blocks.** Commits are launched together, interleaved. The log of a launch's time is the level of its commit, plus an
effect of its block, plus noise. Every launch of a commit counts in every later comparison.

**Assumptions.** Drift between blocks cancels, however large it is, because each block has an effect of its own:
launches are only ever compared within a block, and blocks are linked by the commits that they share. Drift within a
block does not cancel, which is why a block is interleaved. All launches have the same spread.

**Probabilities.** The level may step between any two neighbours among the commits that were launched. Every combination
of steps gets a probability by Bayes' rule, with block effects and the spread integrated out. The prior of the size of a
step is zero at no step, and highest at the expected step or a multiple of it. With such a prior, unlike a normal one, a
few launches can show that there is no step. The probability of a step in a gap is a sum over combinations.

**The next block.** It launches the middle of a gap that probably has a step, both ends of a gap that may have one, and
both sides of a step between adjacent commits until each has `LEAST_LAUNCHES`. A gap that almost certainly has no step
is dropped. A commit is named once the probability of its step is at least 1 - `NAME_ERROR`.

**Limits.** The search does not find two steps of opposite direction between two commits that were launched, or steps
much smaller than the expected one. Its error rates come from simulations: docs/outside.md has them by spread, with
drift between blocks and within them, with heavy tails, and with unequal spreads.

Sources: V. E. Johnson and D. Rossell, "On the use of non-local prior densities in Bayesian hypothesis tests", J. R.
Statist. Soc. B 72 (2010) 143-170, for moment priors (here of order 2); R. M. Karp and R. Kleinberg, "Noisy binary
search and its applications", SODA (2007) 881-890, for halving by uncertain answers; R. A. Bailey, "Design of
Comparative Experiments" (2008), chapter 11, for comparisons across incomplete blocks.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

Block: TypeAlias = Sequence[tuple[int, float]]
"""Places of commits that were launched together, and the log of the time of each, up to a constant of the block."""
Gap: TypeAlias = tuple[int, int]

STEP = 0.10
"""The relative step that is expected if nothing is known about its size."""
SCALES = (1, 4, 16)
"""Equally probable multiples of the expected step: a commit that doubles the time is to be found too."""
NAME_ERROR = 0.01
"""A commit is named if the probability that it has no step is at most this."""
DROP_BELOW = 0.01
"""A gap is dropped if its probability of a step is at most this."""
HALVE_FROM = 0.5
"""A gap is halved if its probability of a step is at least this."""
STEPS_PER_COMMIT = 0.05
"""The probability, before anything is measured, that the level steps at a commit: one in 20."""
LEAST_LAUNCHES = 2
"""Launches of both sides of a step before its commit is named: a single launch may have been disturbed."""
LEAST_COMMITS = 3
"""The fewest commits in a block: in a block of two, its effect uses up half of the information."""
USUAL_SPREAD, USUAL_DEGREES = 0.035, 3
"""The standard deviation of launches that is assumed at first, and how many launches this assumption counts for."""
MOST_GAPS = 10
"""With up to this many gaps all combinations of steps are tried; with more, those of at most `MOST_STEPS` steps."""
MOST_STEPS = 3
LEAST_VARIANCE = 1e-12
"""Relative to the expected step; it avoids a division by 0 if launches do not differ at all."""


@dataclass(frozen=True)
class Step:
    """A step between two commits.

    Attributes:
        before, after: places of the commits.
        probability: of the step.
        size: log of the level after over the level before, if there is a step.
        error: its standard error.
    """

    before: int
    after: int
    probability: float
    size: float
    error: float

    @property
    def is_adjacent(self) -> bool:
        """Whether no commit is in between."""
        return self.after - self.before == 1


@dataclass
class StepSearch:
    """A search for the steps between the first and the last of some commits.

    Attributes:
        start: places to launch first, unless blocks have them already.
        least: log of the smallest ratio that is worth naming.
        sought: log of the ratio of the expected step.
        blocks: the launches so far.
        steps: the gaps in which there may be a step, as of the last `next_block`.
        dropped: gaps that almost certainly have no step.
        skipped: commits that cannot be launched.
    """

    start: Collection[int]
    least: float
    sought: float = math.log1p(STEP)
    blocks: list[Block] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    dropped: set[Gap] = field(default_factory=set)
    skipped: set[int] = field(default_factory=set)

    def next_block(self) -> list[int]:
        """Return the places of the commits to launch together next; none if there is nothing left to find."""
        launches = self._launches()
        if not self.is_begun:
            # All of them, so that the first block links everything.
            return sorted({*self.start} - self.skipped)
        self._update(launches)
        wanted: set[int] = set()
        for step in self.steps:
            ends = (step.before, step.after)
            if step.is_adjacent and step.probability >= 1 - NAME_ERROR:
                wanted |= {place for place in ends if launches[place] < LEAST_LAUNCHES}
            elif not step.is_adjacent and step.probability >= HALVE_FROM:
                wanted |= self._middle(step)
            else:
                fewest = min(launches[place] for place in ends)
                wanted |= {place for place in ends if launches[place] == fewest}
        wanted -= self.skipped
        return sorted(wanted | set(_partners(wanted, launches, self.skipped))) if wanted else []

    @property
    def is_begun(self) -> bool:
        """Whether all commits to start with have been launched: before that, nothing is known of any step."""
        return not self._missing(self._launches())

    @property
    def found(self) -> list[Step]:
        """The steps at single commits that are certain and large enough, as of the last `next_block`."""
        launches = self._launches()
        return [one for one in self.steps if self._is_settled(one, launches) and abs(one.size) >= self.least]

    @property
    def open(self) -> list[Step]:
        """The steps that are probable, but not yet certain to be at one commit."""
        launches = self._launches()
        return [one for one in self.steps if one.probability >= HALVE_FROM and not self._is_settled(one, launches)]

    def _launches(self) -> Counter[int]:
        return Counter(place for block in self.blocks for place, _ in block)

    def _missing(self, launches: Counter[int]) -> set[int]:
        return {place for place in self.start if not launches[place]} - self.skipped

    def _is_settled(self, step: Step, launches: Counter[int]) -> bool:
        """Whether a step is certain to be at one commit, and both sides have been launched often enough."""
        fewest = min(launches[step.before], launches[step.after])
        return step.is_adjacent and step.probability >= 1 - NAME_ERROR and fewest >= LEAST_LAUNCHES

    def _middle(self, step: Step) -> set[int]:
        """Return the place nearest to the middle of a gap that can be launched; none if there is none."""
        inside = [place for place in range(step.before + 1, step.after) if place not in self.skipped]
        return {min(inside, key=lambda place: abs(2 * place - step.before - step.after))} if inside else set()

    def _update(self, launches: Iterable[int]) -> None:
        places = sorted(launches)
        while True:
            self.steps = probable_steps(self.blocks, places, self.dropped, self.sought)
            hardly = {(step.before, step.after) for step in self.steps if step.probability <= DROP_BELOW}
            if not hardly:
                return
            self.dropped |= hardly


def _partners(wanted: Collection[int], launches: Counter[int], skipped: Collection[int]) -> list[int]:
    """Return neighbours of wanted commits that make their block large enough, those with the fewest launches first."""
    places = sorted({*launches, *wanted} - {*skipped})
    neighbours = {
        places[number]
        for place in wanted
        for number in (places.index(place) - 1, places.index(place) + 1)
        if 0 <= number < len(places) and places[number] not in wanted
    }
    many = max(LEAST_COMMITS - len(wanted), 0)
    return sorted(neighbours, key=lambda place: (launches[place], place))[:many]


def probable_steps(
    blocks: Sequence[Block], places: Sequence[int], dropped: Collection[Gap], sought: float
) -> list[Step]:
    """Return the probability and the size of a step in each gap between neighbouring places.

    Args:
        blocks: the launches.
        places: of all commits in them, in order.
        dropped: gaps that have no step.
        sought: log of the ratio at which the prior of a step is highest.
    """
    column = {place: number for number, place in enumerate(places)}
    scatter, products, total, launches = np.zeros((len(places),) * 2), np.zeros(len(places)), 0.0, 0
    for block in blocks:
        values = np.array([value for _, value in block])
        values = values - values.mean()
        at = np.zeros((len(block), len(places)))
        at[np.arange(len(block)), [column[place] for place, _ in block]] = 1
        at -= at.mean(0)
        scatter += at.T @ at
        products += at.T @ values
        total += float(values @ values)
        launches += len(block)
    gaps = [gap for gap in itertools.pairwise(places) if gap not in dropped]
    if not gaps:
        return []
    # The spread, from launches about the levels of their commits.
    levels = np.linalg.pinv(scatter) @ products
    degrees = launches - len(blocks) - int(np.linalg.matrix_rank(scatter))
    known = USUAL_DEGREES * USUAL_SPREAD**2
    variance = (max(total - float(levels @ products), 0.0) + known) / (degrees + USUAL_DEGREES)
    is_after = np.array([[float(place >= after) for _, after in gaps] for place in places])
    combinations = _combinations(len(gaps))
    gram = is_after.T @ scatter @ is_after
    masked = gram * combinations[:, :, None] * combinations[:, None, :]
    against = (is_after.T @ products) * combinations
    none = np.array([after - before for before, after in gaps]) * math.log1p(-STEPS_PER_COMMIT)
    prior = combinations @ np.log(-np.expm1(none)) + (1 - combinations) @ none
    logs, sizes, variances = [], [], []
    for factor in SCALES:
        # Of order 2, a moment prior is highest at twice its scale.
        scale = (factor * sought / 2) ** 2
        ridge = max(variance / scale, LEAST_VARIANCE)
        inverse = np.linalg.inv(masked + np.eye(len(gaps)) * ridge)
        size = np.einsum("ijk,ik->ij", inverse, against)
        spread = np.einsum("ijj->ij", inverse) * variance
        moments = (size**4 + 6 * size**2 * spread + 3 * spread**2) / (3 * scale**2)
        left = known + total - np.einsum("ij,ij->i", against, size)
        logs.append(
            (np.linalg.slogdet(inverse)[1] + len(gaps) * math.log(ridge)) / 2
            - (launches - len(blocks) + USUAL_DEGREES) / 2 * np.log(left)
            + (combinations * np.log(moments)).sum(1)
            + prior
        )
        sizes.append(size)
        variances.append(spread)
    weights = np.exp(np.array(logs) - np.max(logs))
    weights = (weights / weights.sum())[:, :, None] * combinations
    probabilities = weights.sum((0, 1))
    certain = np.maximum(probabilities, np.finfo(float).tiny)
    means = (weights * sizes).sum((0, 1)) / certain
    squares = (weights * (variances + (sizes - means) ** 2)).sum((0, 1)) / certain
    return [
        Step(*gap, float(probability), float(mean), math.sqrt(float(square)))
        for gap, probability, mean, square in zip(gaps, probabilities, means, squares, strict=True)
    ]


def _combinations(gaps: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return a row for each combination of steps that is tried: 1 for a gap with a step, else 0."""
    if gaps <= MOST_GAPS:
        return np.array(list(itertools.product((0.0, 1.0), repeat=gaps)))
    chosen = itertools.chain.from_iterable(itertools.combinations(range(gaps), many) for many in range(MOST_STEPS + 1))
    return np.array([[float(number in some) for number in range(gaps)] for some in map(set, chosen)])
