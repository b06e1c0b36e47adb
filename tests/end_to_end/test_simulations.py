"""What the statistics promise, simulated: coverage, false alarms and power; run as a script it prints the table.

    python tests/end_to_end/test_simulations.py REPORTS

prints the table of docs/statistics.md. A report here is one family of cases whose verdicts are corrected together. One
case of it is slower, or none.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from pyopbench.judge.verdicts import verdicts_on
from pyopbench.stats.estimate import INTERIM_ERROR, Estimate, Launches, moderated
from pyopbench.stats.unpaired import unpaired

pytestmark = pytest.mark.nightly

Floats: TypeAlias = npt.NDArray[np.float64]
Noise: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], Floats]

EFFECT = 0.03
SLOWDOWNS = (0.05, 0.10, 0.17)
TURNS = (6, 12, 60, 120)
"""Rounds that launches have, in reports with unequal ones; else all have 60."""
ROUND_NOISE = 0.2
NOISES: dict[str, Noise] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t(3)": lambda rng, shape: rng.standard_t(3, shape) / math.sqrt(3),
    "one-sided": lambda rng, shape: rng.standard_exponential(shape) - 1,
}
"""How launches vary, each with variance 1; one-sided noise only ever slows down."""


@dataclass(frozen=True)
class Setting:
    """Reports of a kind: how many cases and launches, and what launches differ by."""

    cases: int
    launches: int
    spread: float
    noise: str = "normal"
    unequal: bool = False

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return log ratios of equal code and their errors over rounds, `(cases, launches)` each."""
        shape = (self.cases, self.launches)
        turns = rng.choice(TURNS, self.launches) if self.unequal else np.full(self.launches, 60)
        errors = np.broadcast_to(ROUND_NOISE * math.sqrt(math.pi / 2) / np.sqrt(turns), shape)
        return self.spread * NOISES[self.noise](rng, shape) + errors * rng.standard_normal(shape), errors


@dataclass(frozen=True)
class Outcome:
    """Shares: of intervals that hold the truth, of reports with a false verdict, of slowdowns that are found."""

    covered: float
    false: float
    found: tuple[float, ...]


def simulated(setting: Setting, reports: int, seed: int = 1, error: float = 0.05) -> Outcome:
    """Judge so many reports of equal code, and each with one case that is slower."""
    rng = np.random.default_rng(seed)
    covered, false, found = [], [], []
    for _ in range(reports):
        values, errors = setting.draw(rng)
        estimates = estimates_of(values, errors)
        covered += [low <= 0 <= high for low, high in (one.interval() for one in estimates)]
        false.append(any(one in ("slower", "faster") for one in outcomes(estimates, error)))
        for slowdown in SLOWDOWNS:
            slower = values.copy()
            slower[0] += math.log1p(slowdown)
            found.append(outcomes(estimates_of(slower, errors), error)[0] == "slower")
    each = np.reshape(found, (reports, len(SLOWDOWNS))).mean(axis=0)
    return Outcome(float(np.mean(covered)), float(np.mean(false)), tuple(each.tolist()))


def estimates_of(values: Floats, errors: Floats) -> list[Estimate]:
    return moderated([Launches(*both) for both in zip(values, errors, strict=True)])


def outcomes(estimates: Sequence[Estimate], error: float) -> list[str]:
    return [one.outcome for one in verdicts_on(estimates, EFFECT, error)]


def rare(share: float, trials: int) -> float:
    """Return a share that is exceeded by chance in one of a thousand simulations."""
    return share + 3 * math.sqrt(share * (1 - share) / trials)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("cases", "launches", "spread"), [(2, 2, 0.1), (2, 3, 0.05), (2, 8, 0.1), (20, 2, 0.05), (20, 5, 0.02)]
)
@pytest.mark.parametrize("unequal", [False, True])
def test_identical_code_is_rarely_told_apart_and_intervals_hold(
    noise: str, cases: int, launches: int, spread: float, unequal: bool
) -> None:
    found = simulated(Setting(cases, launches, spread, noise, unequal), 300)
    assert found.false <= rare(0.05, 300)
    assert found.covered >= 0.92


def test_a_slowdown_of_17_percent_is_found_in_three_launches_that_differ_by_5_percent() -> None:
    assert simulated(Setting(2, 3, 0.05), 300).found[2] >= 0.8


def test_launches_of_few_turns_count_for_less() -> None:
    """With equal weights they would have to be as many as if all had few turns."""
    setting = Setting(2, 5, 0.02, unequal=True)
    rng = np.random.default_rng(3)
    weighted, plain = [], []
    for _ in range(400):
        values, errors = setting.draw(rng)
        weighted += [one.mean for one in estimates_of(values, errors)]
        plain += values.mean(axis=1).tolist()
    assert np.std(weighted) < 0.9 * np.std(plain)


def test_interim_analyses_hardly_add_to_the_error() -> None:
    """After 2, 3 and 5 launches of at most 8: what is clear at 0.1% stops, and the rest is judged at 5%."""
    rng, apart = np.random.default_rng(4), 0
    for _ in range(400):
        values, errors = Setting(2, 8, 0.1).draw(rng)
        stops = (outcomes(estimates_of(values[:, :n], errors[:, :n]), INTERIM_ERROR) for n in (2, 3, 5))
        last = outcomes(estimates_of(values, errors), 0.05)
        apart += any(one in ("slower", "faster") for one in itertools.chain(*stops, last))
    assert apart / 400 <= rare(0.05, 400)


def test_two_runs_that_differ_as_much_as_is_assumed_are_rarely_told_apart() -> None:
    rng, apart = np.random.default_rng(5), 0
    for _ in range(200):
        moved = 0.03 * rng.standard_normal((10, 1))
        first, second = (
            moderated([Launches(row) for row in shift + 0.01 * rng.standard_normal((10, 4))]) for shift in (0, moved)
        )
        apart += any(one in ("slower", "faster") for one in outcomes(unpaired(first, second), 0.05))
    assert apart / 200 <= rare(0.05, 200)


def table(reports: int) -> Iterator[str]:
    """Yield the rows of the table of docs/statistics.md."""
    yield "| cases | launches differ by | noise | turns | launches | intervals hold | false | 5% | 10% | 17% |"
    yield f"|{'---|' * 10}"
    for cases, spread, noise, unequal in itertools.product((2, 40), (0.02, 0.05, 0.10), NOISES, (False, True)):
        for launches in (2, 3, 5, 8):
            found = simulated(Setting(cases, launches, spread, noise, unequal), reports)
            shares = " | ".join(f"{share:.0%}" for share in found.found)
            turns = "unequal" if unequal else "equal"
            yield (
                f"| {cases} | {spread:.0%} | {noise} | {turns} | {launches} | {found.covered:.1%} | "
                f"{found.false:.1%} | {shares} |"
            )


if __name__ == "__main__":
    sys.stdout.writelines(f"{row}\n" for row in table(int(sys.argv[1])))
