"""Simulated gates whose halves of pairs ran in different states of the machine, judged with the rule and without it.

A half takes a random time, a launch has something of its own, and some halves run on a core that is 1.65 times slower,
which its clock rate tells. The value of a block is the median of its turns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopbench.judge.noise import are_unlike
from pyopbench.stats.estimate import Estimate

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
SLOWER = math.log1p(0.10)
"""The planted slowdown, a natural log."""
EFFECT = math.log1p(0.05 / 3)
"""Minimum effect of a gate that is to fail on slowdowns by 5%."""
SLOW_CORE = math.log(1.65)
SHARE = 0.15
"""Share of pairs with a half on a slow core."""
ROUNDS, LAUNCHES = 0.02, 0.01
"""Standard deviations of a turn, and of the noise that the turns of a launch share."""
STATES = {
    "alike": "no half on a slow core",
    "random": "in a random half",
    "second half": "in the half that ran second",
    "second side": "always in the second revision",
    "other clocks": "reported in a random half, but no slower",
    "stolen by time": "none; long halves have more time stolen",
}


def turns(rng: np.random.Generator, state: str, blocks: int, sweeps: int) -> tuple[Floats, Floats]:
    """Return log ratios `(blocks, sweeps)` of two copies of one code, and differences of states, for `are_unlike`.

    Args:
        rng: random numbers.
        state: one of `STATES`.
        blocks: of launches.
        sweeps: pairs of turns in each.
    """
    shape = (2, blocks, sweeps)
    times = ROUNDS * rng.standard_normal(shape) + LAUNCHES * rng.standard_normal((2, blocks, 1))
    clocks = 0.001 * rng.standard_normal(shape)
    steal = np.zeros(shape)
    chosen = {
        "second half": rng.integers(0, 2, (blocks, sweeps)),
        "second side": np.ones((blocks, sweeps), dtype=int),
    }.get(state, rng.integers(0, 2, (blocks, sweeps)))
    is_slow = (chosen == np.arange(2)[:, None, None]) & (rng.random((blocks, sweeps)) < SHARE)
    if state in ("random", "second half", "second side", "other clocks"):
        clocks -= SLOW_CORE * is_slow
    if state in ("random", "second half", "second side"):
        times += SLOW_CORE * is_slow
    if state == "stolen by time":
        times += 0.1 * rng.standard_t(3, shape)
        walls = 0.5 * np.exp(times)
        steal = rng.poisson(walls) * 0.01 / (2 * walls)
    differences = np.stack([steal[1] - steal[0], *2 * [clocks[1] - clocks[0]]], axis=-1)
    return times[1] - times[0], differences.reshape(blocks * sweeps, 3)


def estimated(values: Floats, unlike: npt.NDArray[np.bool_]) -> Estimate:
    """Return the estimate over blocks, each the median of its turns that are kept."""
    kept = np.where(unlike.reshape(values.shape), np.nan, values)
    return Estimate.of(np.nanmedian(kept[~np.isnan(kept).all(axis=1)], axis=1)).alone()


@dataclass(frozen=True)
class Judged:
    """Many gates over two copies of one code.

    Attributes:
        low, high: ends of the intervals, `(gates,)` float64, natural logs; a slowdown moves both by as much.
        discarded: share of the pairs of turns.
    """

    low: Floats
    high: Floats
    discarded: float

    @property
    def told_apart(self) -> int:
        """How many gates find the two copies different."""
        return int(((self.low > 0) | (self.high < 0)).sum())

    @property
    def found(self) -> int:
        """How many find the planted slowdown."""
        return int((self.low + SLOWER > EFFECT).sum())

    @property
    def width(self) -> float:
        """Mean length of the intervals."""
        return float((self.high - self.low).mean())


def gates(state: str, blocks: int, sweeps: int, many: int) -> tuple[Judged, Judged]:
    """Return many gates in a state of the machine, judged by all turns and by those that are kept."""
    rng = np.random.default_rng([list(STATES).index(state), blocks, sweeps])
    ends, discarded = [], 0.0
    for _ in range(many):
        values, differences = turns(rng, state, blocks, sweeps)
        unlike = are_unlike(differences)
        discarded += unlike.mean() / many
        ends.append([estimated(values, one).interval(LEVEL) for one in (np.zeros_like(unlike), unlike)])
    every, kept = np.array(ends).transpose(1, 2, 0)
    return Judged(*every, 0.0), Judged(*kept, discarded)
