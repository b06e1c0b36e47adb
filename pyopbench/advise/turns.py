"""Compares a program before and after a change: how long a step takes, what it prints, its losses and its weights."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from pyopbench.advise.callbacks import Unit
from pyopbench.advise.program import Run
from pyopbench.stats.estimate import Floats

WARM_UP = 0.2
"""Share of the elements of a run that is left out at its start: importing, tracing, filling buffers."""

LEAST_ELEMENTS = 5
"""A program that takes fewer elements from iterators is not timed by steps: its whole run counts as one step."""

CONFIDENCE = 0.95
EARLY_CONFIDENCE = 0.998
"""For ending the runs early: checking several times at `CONFIDENCE` would find differences that are not there."""

LOSS_TOLERANCE = 1e-4
"""Of the first loss, relative to its magnitude: about what float32 leaves of a sum in another order."""
TOLERANCE_PER_LOSS = 1e-4
"""Added for each loss after the first, because differences grow from step to step; up to `MOST_TOLERANCE`."""
MOST_TOLERANCE = 1e-2

SPREAD = 3.0
"""Differences up to this many times those between runs of the same program are ignored."""

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
DURATION = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\s*(?:ms|us|µs|s|sec|seconds?|h|min)(?:/\w+)?\b|\b\d+:\d\d(?::\d\d)?\b")
"""Durations and times of the day, which differ from run to run."""


@dataclass(frozen=True)
class Realised:
    """How a change affects the time that a program takes.

    Attributes:
        before_seconds, after_seconds: of a step, the mean over the runs.
        saved: share of the time that is saved, between `low` and `high`; nan where nothing could be timed.
        runs: of each side.
        start_seconds: how much longer the program takes until its steps are timed, because it imports Numba or traces a
            larger graph; nan if the whole run is the step.
    """

    unit: Unit
    before_seconds: float
    after_seconds: float
    saved: float
    low: float
    high: float
    runs: int
    start_seconds: float = math.nan

    @property
    def is_faster(self) -> bool:
        """Is the program clearly faster?"""
        return self.low > 0

    @property
    def is_slower(self) -> bool:
        """Is it clearly slower?"""
        return self.high < 0


def unit_of(elements: float) -> Unit:
    """Return what is timed of a program that takes so many elements from its input."""
    return "step" if elements >= LEAST_ELEMENTS else "run"


def estimate_saving(before: Sequence[Run], after: Sequence[Run], confidence: float = CONFIDENCE) -> Realised:
    """Return how much time a change saves, from runs before and after it, which are paired in their order.

    Each run gives one number, of which the logs are compared. The interval is Student's over the differences in pairs,
    because a machine that becomes slower or faster over minutes affects both runs of a pair.
    """
    most = min((run.elements for run in (*before, *after)), default=0)
    unit = unit_of(most)
    sides = [np.array([seconds_of(run, most) for run in side], np.float64) for side in (before, after)]
    means = [float(side.mean()) if side.size else math.nan for side in sides]
    runs = min(side.size for side in sides)
    start = math.nan
    if unit == "step" and runs:
        begun = [np.mean([_begin_seconds(run, most) for run in side]) for side in (before, after)]
        start = float(begun[1] - begun[0])
    logs = [np.log(side[:runs]) for side in sides]
    if runs < 2 or not all(np.isfinite(side).all() for side in logs):
        return Realised(unit, means[0], means[1], 1 - means[1] / means[0], -math.inf, 1.0, runs, start)
    difference, (low, high) = logs[1].mean() - logs[0].mean(), _interval(stats.ttest_rel, logs[0], logs[1], confidence)
    saved, least, most_saved = (1 - math.exp(one) for one in (difference, high, low))
    return Realised(unit, means[0], means[1], saved, least, most_saved, runs, start)


def is_clear(before: Sequence[Run], after: Sequence[Run]) -> bool:
    """Return whether one side is so clearly faster that no more runs are needed."""
    found = estimate_saving(before, after, EARLY_CONFIDENCE)
    return found.is_faster or found.is_slower


def _interval(
    test: Callable[..., Any], before: Floats | Sequence[float], after: Floats | Sequence[float], confidence: float
) -> tuple[float, float]:
    """Return Student's interval of the mean difference, by SciPy's test for pairs or for independent runs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # about equal numbers, which are no mistake here
        found = test(after, before).confidence_interval(confidence)
    return float(found.low), float(found.high)


def seconds_of(run: Run, elements: float) -> float:
    """Return the seconds of a step of a run, over the same elements of its input as in all runs."""
    if unit_of(elements) == "run":
        begun = run.samples[0][0] if run.samples else 0.0
        return run.seconds - begun if run.samples else run.seconds
    first = max(1.0, WARM_UP * elements)
    return (_at(run, elements) - _at(run, first)) / (elements - first)


def _begin_seconds(run: Run, elements: float) -> float:
    """Return when timing begins in a run, in seconds since TensorFlow was imported."""
    return _at(run, max(1.0, WARM_UP * elements)) - run.samples[0][0]


def _at(run: Run, elements: float) -> float:
    times = np.array([at for at, _ in run.samples])
    done = np.array([count for _, count in run.samples])
    return float(np.interp(elements, done, times))


def _difference(what: str, place: str, before: object, after: object) -> str:
    where = f" ({place})" if place else ""
    return f"{what}{where}: {before} before, {after} after"


def differences(before: Sequence[Run], after: Sequence[Run], *, is_random: bool = False) -> list[str]:
    """Return what a program computes or prints differently after a change, beyond what differs from run to run.

    There is at least one run of each side; two or more show what differs from run to run. If `is_random`, each run of a
    side has its own seeds. Then single losses differ, and the means over a run of all losses with the same name are
    compared, by a t test; likewise weights and printed numbers.
    """
    if is_random:
        return [*_exits(before, after), *_cut(before, after), *_means(before, after)]
    return [
        *_exits(before, after),
        *_cut(before, after),
        *_numbers("loss", [_losses(run) for run in before], [_losses(run) for run in after]),
        *_numbers("weights", [_weights(run) for run in before], [_weights(run) for run in after]),
        *_output(before, after),
    ]


def _exits(before: Sequence[Run], after: Sequence[Run]) -> Iterator[str]:
    codes = {run.code for run in before}
    for run in after:
        if run.code not in codes:
            last = next((line for line in reversed(run.errors) if line.strip()), "")
            yield _difference("exit code", last.strip()[:200], min(codes, key=abs), run.code)
            return


def _cut(before: Sequence[Run], after: Sequence[Run]) -> Iterator[str]:
    """Yield a difference if the program gets through fewer steps in its time than before."""
    least = min((run.elements for run in before), default=0)
    for run in after:
        if run.ended in ("seconds", "timeout") and run.elements < least:
            yield _difference("steps in the time of a run", "", f"{least:g}", f"{run.elements:g}")
            return


def _losses(run: Run) -> list[tuple[str, float]]:
    return [
        (f"{number} {name}", value) for number, each in enumerate(run.losses, start=1) for name, value in each.items()
    ]


def _weights(run: Run) -> list[tuple[str, float]]:
    # If a program is ended early, its weights depend on when.
    return [] if run.ended else [(f"variable {n}", one[1]) for n, one in enumerate(run.weights, start=1)]


def _paired(
    before: Sequence[Sequence[tuple[str, float]]], after: Sequence[Sequence[tuple[str, float]]]
) -> Iterator[tuple[str, list[float], list[float]]]:
    shortest = min((len(one) for one in (*before, *after)), default=0)
    for place in range(shortest):
        names = {one[place][0] for one in (*before, *after)}
        if len(names) > 1:
            return
        yield names.pop(), [one[place][1] for one in before], [one[place][1] for one in after]


def _numbers(
    what: str, before: Sequence[Sequence[tuple[str, float]]], after: Sequence[Sequence[tuple[str, float]]]
) -> Iterator[str]:
    largest = max((abs(value) for run in before for _, value in run), default=0.0)
    least = SMALL_WEIGHTS * largest if what == "weights" else 0.0
    for place, (name, old, new) in enumerate(_paired(before, after)):
        allowed = min(MOST_TOLERANCE, LOSS_TOLERANCE + TOLERANCE_PER_LOSS * place) if what == "loss" else MOST_TOLERANCE
        if _differ(old, new, allowed, least):
            yield _difference(what, name, f"{np.mean(old):.6g}", f"{np.mean(new):.6g}")
            return


SMALL_WEIGHTS = 0.01
"""A variable smaller than this share of the largest one is compared as if it had this size: rounding alone, over a
thousand steps, changes a bias that is hardly trained by more than a percent."""

SIGNIFICANCE = 1e-3
"""Level of the t test between runs with their own seeds; low, because several means are compared several times."""


def _means(before: Sequence[Run], after: Sequence[Run]) -> Iterator[str]:
    """Yield the first mean over a run that differs by more than other seeds explain."""
    sides = [[_means_by_name(run) for run in side] for side in (before, after)]
    for name in dict.fromkeys(name for run in (*sides[0], *sides[1]) for name in run):
        old, new = ([run[name] for run in side if name in run] for side in sides)
        if len(old) < len(before) or len(new) < len(after):
            yield _difference("output", name, f"in {len(old)} of {len(before)} runs", f"in {len(new)} of {len(after)}")
            return
        if _differ(old, new, MOST_TOLERANCE, is_random=True):
            yield _difference("mean of a run", name, f"{np.mean(old):.6g}", f"{np.mean(new):.6g}")
            return


def _means_by_name(run: Run) -> dict[str, float]:
    """Return the mean of each kind of loss, of the weights, and of each number in printed lines of the same words."""
    found: dict[str, list[float]] = {}
    for name, value in _losses(run):
        found.setdefault(name.partition(" ")[2], []).append(value)
    for _, value in _weights(run):
        found.setdefault("weights", []).append(value)
    for words, numbers in _shown(run):
        for place, value in enumerate(numbers, 1):
            found.setdefault(f"number {place} of {words.strip()[:60]!r}", []).append(value)
    return {name: float(np.mean(values)) for name, values in found.items()}


def _differ(
    old: Sequence[float], new: Sequence[float], allowed: float, least: float = 0.0, *, is_random: bool = False
) -> bool:
    """Does a side differ from the original one by more than runs of that, or other seeds, explain?

    `allowed` is a share of the largest magnitude, or of `least` if that is larger.
    """
    if not np.isfinite((*old, *new)).all():
        return bool(np.isfinite(old).all() != np.isfinite(new).all())
    scale = max(least, *map(abs, (*old, *new)))
    if is_random:
        # The spread is pooled: that of two or three runs alone is too uncertain.
        low, high = _interval(stats.ttest_ind, old, new, 1 - SIGNIFICANCE)
        return abs(float(np.mean(new) - np.mean(old))) > allowed * scale and (low > 0 or high < 0)
    spread = max(old) - min(old)
    # Two runs say little about the spread, so a multiple of it is allowed.
    return any(max(one - max(old), min(old) - one, 0.0) > SPREAD * spread + allowed * scale for one in new)


def _output(before: Sequence[Run], after: Sequence[Run]) -> Iterator[str]:
    old, new = ([_shown(run) for run in side] for side in (before, after))
    is_cut = any(run.ended for run in (*before, *after))
    lengths = {len(one) for one in old}
    if not is_cut and len(lengths) == 1 and any(len(one) not in lengths for one in new):
        yield _difference("output", "lines", min(lengths), len(new[0]))
        return
    for place in range(min((len(one) for one in (*old, *new)), default=0)):
        words = {one[place][0] for one in old}
        if len(words) > 1:
            continue  # it differs from run to run
        if any(one[place][0] not in words for one in new):
            yield _difference("output", f"line {place + 1}", old[0][place][0][:80], new[0][place][0][:80])
            return
        for number, values in enumerate(zip(*(one[place][1] for one in old), strict=True)):
            after_values = [one[place][1][number] for one in new]
            if _differ(values, after_values, MOST_TOLERANCE):
                yield _difference("output", f"line {place + 1}", f"{values[0]:g}", f"{after_values[0]:g}")
                return


def _shown(run: Run) -> list[tuple[str, tuple[float, ...]]]:
    """Return each printed line without its numbers, and the numbers; for a progress bar only its last state."""
    found = []
    for line in run.lines:
        last = re.split("\r|\x08+", line.rstrip("\r"))[-1]
        plain = DURATION.sub("~", re.sub(r"\x1b\[[0-9;]*m", "", last))
        if plain.strip():
            found.append((NUMBER.sub("#", plain), tuple(float(one) for one in NUMBER.findall(plain))))
    return found
