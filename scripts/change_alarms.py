"""Print how often changes are found that are none, and how often steps are found, beside asv and ruptures.

python scripts/change_alarms.py [--series 1000] [--kept FILE] [--portion 5m]

A row is of so many series of 100 points, simulated in batches. `FILE` keeps what each batch came to: the same command
goes on from there, and after `--portion` no other batch is begun. A table that lacks batches says how many it has.
Every method gets the same series. asv and ruptures are used where they are installed (`pip install asv ruptures`), and
what is not is said. A step is of 5% with a standard error of 2%, at the 20th to the 80th point, and is found if a
change is within 3 points of it. What is measured again is simulated as a run of both sides in turns.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from change_thresholds import DRAWN
from gate_trials import at_most

from pyopbench.judge.verdicts import verdicts_on
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.parse import parse_duration
from pyopbench.model.write_file import write_atomically
from pyopbench.stats.change_points import segment
from pyopbench.stats.corrections import ONE_ANALYSIS
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.launch_model import RELATIVE
from pyopbench.stats.series_noise import between_runs

Floats: TypeAlias = npt.NDArray[np.float64]
Method: TypeAlias = Callable[[Floats], list[int]]

SERIES = 1_000
POINTS = 100
BATCH = 250
"""Series that are simulated at once, with a seed of their own."""
ERROR = 0.02
STEP_SHARE = 0.05
STEP = math.log1p(STEP_SHARE)
FIRST, LAST = 20, 80
NEAR = 3
RERUN_LAUNCHES = 30
ASV_THRESHOLD = 0.05
"""The least regression that asv's pages show unless told otherwise (`regressions_thresholds`)."""


def interleaved(values: Floats) -> list[int]:
    """Find changes as in a run of all commits in turns, whose errors are known."""
    return _listed(values, np.full(values.size, ERROR), "independent", 0.0)


def apart(values: Floats) -> list[int]:
    """Find changes as in runs by themselves, whose errors are not."""
    between = between_runs(values, np.zeros(values.size), ERROR)
    return _listed(values, np.full(values.size, between), "autocorrelated", between)


def _listed(values: Floats, errors: Floats, noise: Any, between: float) -> list[int]:
    found = segment(values, errors, noise, between=between).changes
    return [one.place for one in found if abs(one.step) >= math.log1p(MINIMUM_EFFECT)]


def with_asv(threshold: float | None) -> Method | None:
    """Return asv's detection: of all steps, or of regressions above a threshold; None where asv is not installed."""
    try:
        asv: Any = import_module("asv.step_detect")
    except ImportError:
        return None

    def found(values: Floats) -> list[int]:
        steps = _steps_of_asv(values.tobytes())
        if threshold is None:
            return [step[0] for step in steps[1:]]
        regressions = asv.detect_regressions(steps, threshold)[2] or []
        return [one[1] for one in regressions]

    return found


@cache
def _steps_of_asv(values: bytes) -> Any:
    """Return asv's steps in a series of logs; the rows of both its methods are of the same series."""
    asv: Any = import_module("asv.step_detect")
    return asv.detect_steps(list(np.exp(np.frombuffer(values))))


def with_ruptures() -> Method | None:
    """Return PELT with the known error and a penalty of 2 log n, as BIC has it; None where it is not installed."""
    try:
        ruptures: Any = import_module("ruptures")
    except ImportError:
        return None

    def found(values: Floats) -> list[int]:
        fitted = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(values / ERROR)
        return [int(place) for place in fitted.predict(pen=2 * math.log(values.size))[:-1]]

    return found


METHODS: dict[str, Callable[[], Method | None]] = {
    "pyopbench, interleaved": lambda: interleaved,
    "pyopbench, runs apart": lambda: apart,
    "asv, steps": lambda: with_asv(None),
    "asv, regressions of 5%": lambda: with_asv(ASV_THRESHOLD),
    "ruptures, PELT, BIC": with_ruptures,
}


@dataclass(frozen=True)
class Row:
    """What a method does with one kind of noise: numbers of series."""

    alarmed: int
    confirmed: int
    located: int
    located_confirmed: int
    series: int


def simulated(method: Method, kind: str, series: int, seed: int = 0) -> Row:
    """Return what a method finds in series without a change and in series with a step.

    Args:
        method: log values, `(n,)` -> the first point after each change.
        kind: of noise, a key of `DRAWN`.
        series: how many of either.
        seed: of everything random.
    """
    rng = np.random.default_rng([seed, list(DRAWN).index(kind)])
    quiet = ERROR * DRAWN[kind](rng, (series, POINTS))
    found = [method(one) for one in quiet]
    confirmed = sum(any(_confirms(rng, 0.0) for _ in places) for places in found)
    steps = rng.integers(FIRST, LAST + 1, series)
    stepped = ERROR * DRAWN[kind](rng, (series, POINTS)) + STEP * (np.arange(POINTS) >= steps[:, None])
    located = [
        any(abs(place - step) <= NEAR for place in method(one)) for one, step in zip(stepped, steps, strict=True)
    ]
    again = sum(_confirms(rng, STEP) for one in located if one)
    return Row(sum(map(bool, found)), confirmed, sum(located), again, series)


def _confirms(rng: np.random.Generator, truth: float) -> bool:
    """Whether a run of both sides in turns shows a change of at least the minimum effect."""
    ratios = rng.normal(truth, RELATIVE, RERUN_LAUNCHES)
    (verdict,) = verdicts_on([Estimate.of(ratios)], MINIMUM_EFFECT, ONE_ANALYSIS)
    return verdict.outcome in ("slower", "faster")


class Kept:
    """What batches came to, in a file where one is named; the batch of a seed is simulated once."""

    def __init__(self, path: Path | None = None, most_seconds: float | None = None) -> None:
        self._path, self._most = path, most_seconds
        self._start = time.monotonic()
        is_there = path is not None and path.exists()
        self._rows: dict[str, dict[str, int]] = json.loads(path.read_text(encoding="utf-8")) if is_there else {}

    def of(self, method: Method, name: str, kind: str, series: int) -> Row:
        """Return the sum of as many batches as there is time for, at least those that are kept."""
        found = Row(0, 0, 0, 0, 0)
        for seed, begin in enumerate(range(0, series, BATCH)):
            count = min(BATCH, series - begin)
            key = f"{kind} / {name} / {count} of seed {seed}"
            if key not in self._rows:
                if self._most is not None and time.monotonic() - self._start > self._most:
                    continue
                self._rows[key] = asdict(simulated(method, kind, count, seed))
                if self._path is not None:
                    write_atomically(self._path, json.dumps(self._rows, indent=1).encode())
            found = Row(*(sum(pair) for pair in zip(asdict(found).values(), self._rows[key].values(), strict=True)))
        return found


def lines(series: int, kept: Kept) -> Iterator[str]:
    """Yield the table."""
    yield f"{series:,} series of {POINTS} points for each row; at most: with 95% confidence"
    yield (
        f"{'noise':28} {'method':24} {'alarms/1000':>11} {'at most':>8} {'confirmed/1000':>14} {'at most':>8} "
        f"{'steps found':>11} {'and confirmed':>13}"
    )
    for kind in DRAWN:
        for name, made in METHODS.items():
            method = made()
            if method is None:
                yield f"{kind:28} {name:24} skipped: it is not installed"
                continue
            row = kept.of(method, name, kind, series)
            if not row.series:
                yield f"{kind:28} {name:24} not simulated yet"
                continue
            alarms, confirmed = (f"{_per_thousand(n, row.series)}" for n in (row.alarmed, row.confirmed))
            found, again = row.located / row.series, row.located_confirmed / max(row.located, 1)
            lacking = "" if row.series == series else f"  of {row.series:,} series"
            yield f"{kind:28} {name:24} {alarms} {confirmed:>23} {found:>11.1%} {again:>13.1%}{lacking}"


def _per_thousand(count: int, of: int) -> str:
    """Return a rate and its upper limit."""
    return f"{1000 * count / of:>11.1f} {1000 * at_most(count, of):>8.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=SERIES)
    parser.add_argument("--kept", type=Path, default=None)
    parser.add_argument("--portion", type=parse_duration, default=None)
    asked = parser.parse_args()
    for line in lines(asked.series, Kept(asked.kept, asked.portion)):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
