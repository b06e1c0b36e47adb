"""Made-up launches of many comparisons, judged by the code that judges runs.

A family is the comparisons of one report: a share of the baseline's time per launch, around the true one. Launches are
added from look to look, only to comparisons that are unresolved, as a run does; what is resolved stops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.judge.decision import Verdict
from pyopbench.judge.verdicts import estimates_of, verdicts_from
from pyopbench.stats import launch_model
from pyopbench.stats.corrections import ALL_ANALYSES, Analyses
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.launch_model import Shares

Floats: TypeAlias = npt.NDArray[np.float64]
Noise: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Floats]

COMPARISONS = 200
FEW_LOOKS = (3, 5, 8)
MANY_LOOKS = (4, 6, 10, 16, 24)
"""After how many launches the data are looked at."""


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Student's t with 3 degrees of freedom, of variance 1."""
    return rng.standard_t(3, shape) / math.sqrt(3)


def spoilt(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """One launch in twenty has ten times the noise."""
    return rng.standard_normal(shape) * np.where(rng.random(shape) < 0.05, 10.0, 1.0)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Lognormal noise on the case and on its baseline: each is skewed, their ratio is not."""
    both = np.exp(0.5 * rng.standard_normal((2, *shape)))
    return (both[0] - both[1]) / math.sqrt(2 * (math.exp(0.25) - 1) * math.exp(0.25))


NOISES: tuple[Noise, ...] = (normal, heavy, spoilt, skewed)


@dataclass(frozen=True)
class Setting:
    """What a family is like.

    Attributes:
        truth: true shares, one for each comparison, or one for all.
        spread: standard deviation of the log of a launch's share.
        factors: the spread of each comparison over `spread`, drawn for each family.
        noise: the shape of the noise.
        looks: launches at each look.
        minimum_effect: as in verdicts.
    """

    truth: float | Floats = 1.0
    spread: float = 0.02
    factors: Callable[[np.random.Generator], Floats] = field(default=lambda rng: np.ones(COMPARISONS))
    noise: Noise = normal
    looks: tuple[int, ...] = FEW_LOOKS
    minimum_effect: float = 0.03


def unlike(sigma: float) -> Callable[[np.random.Generator], Floats]:
    """Spreads that differ by a lognormal factor."""
    return lambda rng: np.exp(sigma * rng.standard_normal(COMPARISONS))


def noisy(count: int, factor: float) -> Callable[[np.random.Generator], Floats]:
    """All spreads alike but those of the first few."""
    return lambda rng: np.where(np.arange(COMPARISONS) < count, factor, 1.0)


def families(setting: Setting, count: int, seed: int) -> Iterator[tuple[Verdict, ...]]:
    """Judge so many families, each from look to look."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        noise = setting.noise(rng, (COMPARISONS, setting.looks[-1]))
        centre = np.broadcast_to(np.log(setting.truth), COMPARISONS)
        yield looked_at(centre[:, None] + setting.spread * setting.factors(rng)[:, None] * noise, setting)


def looked_at(logs: Floats, setting: Setting) -> tuple[Verdict, ...]:
    """Return the verdicts of the report; a comparison gets launches for as long as it is unresolved at a look.

    What is judged after the last launches is the report itself.

    Args:
        logs: `(comparisons, launches)` float64, logs of the shares of all launches that there could be.
        setting: what the family is like.
    """
    have = np.full(len(logs), setting.looks[0])
    held = 0
    for look in setting.looks[1:]:
        held += 1
        verdicts = judged(logs, have, setting, ALL_ANALYSES)
        going_on = [verdict.outcome == "unresolved" for verdict in verdicts]
        if not any(going_on):
            break
        have = np.where(going_on, look, have)
    return judged(logs, have, setting, Analyses.of(held))


def judged(logs: Floats, have: npt.NDArray[np.int64], setting: Setting, looks: Analyses) -> tuple[Verdict, ...]:
    """Return the verdicts on so many launches of each comparison, with so many looks charged."""
    rows = [np.exp(row[:n]) for row, n in zip(logs, have, strict=True)]
    shares = {
        f"case{place:03}": Shares(row - 1, np.full(len(row), np.nan), float(row.mean()) ** 2)
        for place, row in enumerate(rows)
    }
    baselines = dict.fromkeys(shares, "baseline")
    estimates = estimates_of(shares, baselines, (), launch_model.fit(list(shares.values())), 1)
    return verdicts_from(estimates, baselines, setting.minimum_effect, looks)


def false_ones(verdicts: Sequence[Verdict], truth: float | Floats, minimum_effect: float) -> int:
    """Count verdicts that say something untrue of the share."""
    off = np.broadcast_to(truth, len(verdicts)) - 1
    true = {
        "slower": off > minimum_effect + 1e-12,
        "faster": off < -minimum_effect - 1e-12,
        "equivalent": np.abs(off) < minimum_effect - 1e-12,
        "unresolved": np.ones(len(verdicts), dtype=bool),
    }
    return sum(not true[verdict.outcome][index] for index, verdict in enumerate(verdicts))


@dataclass(frozen=True)
class Alarms:
    """Shares of families with a false verdict, and of verdicts that are false."""

    families: float
    verdicts: float


def alarms(setting: Setting, count: int, seed: int) -> Alarms:
    false = [false_ones(found, setting.truth, setting.minimum_effect) for found in families(setting, count, seed)]
    return Alarms(float(np.mean(np.array(false) > 0)), sum(false) / (count * COMPARISONS))


@dataclass(frozen=True)
class Power:
    """The share of slowdowns that is called slower, and how many launches the found ones took on average."""

    found: float
    launches: float


def power(setting: Setting, count: int, seed: int) -> Power:
    """One comparison in ten is a slowdown by `setting.truth`; the others are equal code."""
    slow = np.arange(COMPARISONS) % 10 == 0
    mixed = Setting(np.where(slow, setting.truth, 1.0), setting.spread, setting.factors, setting.noise, setting.looks)
    verdicts = [
        one for family in families(mixed, count, seed) for one, is_slow in zip(family, slow, strict=True) if is_slow
    ]
    launches = [verdict.launches for verdict in verdicts if verdict.outcome == "slower"]
    return Power(len(launches) / len(verdicts), float(np.mean(launches)) if launches else math.nan)


KINDS: dict[str, Setting] = {
    "normal noise, equal spreads": Setting(),
    "t(3) noise": Setting(noise=heavy),
    "one launch in 20 with ten times the noise": Setting(noise=spoilt),
    "lognormal noise on both": Setting(noise=skewed),
    "spreads unlike, lognormal 0.5": Setting(factors=unlike(0.5)),
    "spreads unlike, lognormal 0.8": Setting(factors=unlike(0.8)),
    "one case with five times the spread": Setting(factors=noisy(1, 5.0)),
    "ten cases with five times the spread": Setting(factors=noisy(10, 5.0)),
    "ten cases with ten times the spread": Setting(factors=noisy(10, 10.0)),
}


CHANGES: tuple[dict[str, float], ...] = ({}, {"truth": 1.03}, {"minimum_effect": 0.0})
"""What is true and what counts, in the columns of the table of docs/statistics.md."""


def changed(setting: Setting, **fields: float) -> Setting:
    """Return the setting with some fields changed."""
    return Setting(**{**vars(setting), **fields})


def unpaired_pairs(
    noise: Noise, shape: tuple[int, int], between: tuple[float, float], count: int, seed: int
) -> Iterator[tuple[list[Estimate], list[Estimate]]]:
    """Yield so many pairs of runs of equal code that were not interleaved, as estimates of the logs of each case.

    Args:
        noise: of launches, whose standard deviation is 0.02, and of what runs differ by.
        shape: cases, and launches of each run.
        between: standard deviations of what two runs differ by in all cases alike, and in each case.
        count: pairs.
        seed: makes them repeatable.
    """
    rng = np.random.default_rng(seed)
    cases, launches = shape
    for _ in range(count):
        moved = between[0] * noise(rng, (1,)) + between[1] * noise(rng, (cases,))
        runs = 0.02 * noise(rng, (2, cases, launches))
        runs[1] += moved[:, None]
        first, second = ([Estimate.of(row) for row in run] for run in runs)
        yield first, second


NOISY: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, many: rng.standard_normal(many),
    "t(3)": lambda rng, many: heavy(rng, (many,)),
    "spreads unlike, lognormal 0.5": lambda rng, many: np.exp(0.5 * rng.standard_normal(many)) * normal(rng, (many,)),
    "half of it common to all cases": lambda rng, many: (rng.standard_normal(1) + rng.standard_normal(many)) / 2**0.5,
}
"""What two runs of equal code differ by, with variance 1."""
