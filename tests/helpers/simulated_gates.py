"""Made-up gates: cases of two revisions over some blocks of launches, looked at and judged by the code that does so.

What is drawn are the logs of launches. A launch of a revision is off by something that all of its cases share, by
something of each case's own, and some cases have two speeds, of which a launch has one. The rounds of a launch add
noise that shrinks with further sweeps; a burst spoils few rounds at first, and is outvoted later. Drift is common to
both revisions of a block, which take turns, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.engine.next_step import LEAST_FOR_INTERIM
from pyopbench.judge.comparison.sides import usual_among
from pyopbench.judge.verdicts import CaseVerdict, verdicts_on
from pyopbench.stats.corrections import ALL_ANALYSES, Analyses
from pyopbench.stats.estimate import LEAST_COMPARISONS, Estimate

Floats: TypeAlias = npt.NDArray[np.float64]

MINIMUM_EFFECT = 0.05 / 3
"""Of a gate that is to fail on slowdowns by 5%."""
ROUNDS = 0.03
"""Standard deviation of a launch's number after the first sweep, of what rounds add."""
SWEEPS = (1, 3, 9)
"""Sweeps at each look, and in the end."""
BURST_SHARE, BURST = 0.06, 0.15
"""Of launches of a case after the first sweep, and by how much on average."""
SLOW_SHARE = 1 / 3
"""Of launches that have the slower one of two speeds."""


@dataclass(frozen=True)
class Noise:
    """What launches of the same code are off by, as shares.

    Attributes:
        launch: standard deviation of a case's own; it differs between cases by a lognormal factor of 0.5.
        common: standard deviation of what all cases of a launch share.
        heavy: is it Student's t with 3 degrees of freedom, and not normal?
        two_speeds: share of cases that have two.
        gap: by how much these differ.
    """

    launch: float
    common: float = 0.0
    heavy: bool = False
    two_speeds: float = 0.0
    gap: float = 0.0

    def draw(self, rng: np.random.Generator, cases: int, launches: int) -> Floats:
        """Return the logs of both revisions: `(2, cases, launches)` float64."""
        shape = (2, cases, launches)
        own = rng.standard_t(3, shape) / math.sqrt(3) if self.heavy else rng.standard_normal(shape)
        own *= self.launch * np.exp(0.5 * rng.standard_normal((cases, 1)))
        common = self.common * rng.standard_normal((2, 1, launches))
        has_two = rng.random((cases, 1)) < self.two_speeds
        found: Floats = own + common + math.log1p(self.gap) * (has_two & (rng.random(shape) < SLOW_SHARE))
        return found


NOISES: dict[str, Noise] = {
    "1%": Noise(0.01),
    "4%, heavy tails": Noise(0.04, common=0.015, heavy=True),
    "10%, heavy tails": Noise(0.10, common=0.015, heavy=True),
    "1%, and 4% in common": Noise(0.01, common=0.04),
    "1%, one case in ten has two speeds, 10% apart": Noise(0.01, common=0.015, two_speeds=0.1, gap=0.10),
}


@dataclass(frozen=True)
class Gate:
    """A gate over two revisions.

    Attributes:
        cases, launches: how many there are of each.
        noise: of launches.
        error: how often any verdict may be wrong.
        slower: by how much all cases are slower in the second revision, as a share.
    """

    cases: int
    launches: int
    noise: Noise
    error: float
    slower: float = 0.0

    def verdicts(self, rng: np.random.Generator) -> list[CaseVerdict]:
        """Measure from look to look, and judge what there is in the end; what a look settles is not measured on."""
        launches = self.noise.draw(rng, self.cases, self.launches)
        launches[1] += math.log1p(self.slower)
        found = np.empty((self.cases, self.launches))
        open_, held = np.ones(self.cases, dtype=bool), 0
        for sweeps in SWEEPS:
            first, second = launches + _of_rounds(rng, launches.shape, sweeps)
            found[open_] = (second - first)[open_]
            if sweeps != SWEEPS[-1] and (self.cases >= LEAST_COMPARISONS or self.launches >= LEAST_FOR_INTERIM):
                held += 1
                open_ = np.array([one.outcome == "unresolved" for one in self._judged(found, ALL_ANALYSES)])
        return self._judged(found, Analyses.of(held))

    def _judged(self, found: Floats, looks: Analyses) -> list[CaseVerdict]:
        estimates = [Estimate.of(row) for row in found]
        usual = usual_among(estimates)
        return verdicts_on([one.with_usual(usual) for one in estimates], MINIMUM_EFFECT, looks, self.error)


def _of_rounds(rng: np.random.Generator, shape: tuple[int, ...], sweeps: int) -> Floats:
    bursts = (rng.random(shape) < BURST_SHARE / sweeps) * rng.exponential(BURST, shape)
    found: Floats = ROUNDS / math.sqrt(sweeps) * rng.standard_normal(shape) + bursts
    return found


@dataclass(frozen=True)
class Rates:
    """Of some gates: the share of rows of which something is said, and the share of gates with such a row."""

    rows: float
    gates: float


def false_alarms(gate: Gate, count: int, seed: int) -> Rates:
    """Return how often so many gates over the same code tell something apart."""
    return _rates(gate, count, seed, lambda one: one.outcome in ("slower", "faster"))


def found_slower(gate: Gate, slower: float, count: int, seed: int) -> Rates:
    """Return how often so many gates find that everything is slower."""
    return _rates(replace(gate, slower=slower), count, seed, lambda one: one.outcome == "slower")


def _rates(gate: Gate, count: int, seed: int, is_told: Callable[[CaseVerdict], bool]) -> Rates:
    rng = np.random.default_rng(seed)
    told = [sum(map(is_told, gate.verdicts(rng))) for _ in range(count)]
    return Rates(sum(told) / (count * gate.cases), sum(map(bool, told)) / count)
