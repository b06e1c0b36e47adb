"""The user's program: how often it calls an op at each size, and what a port is worth in one of its steps.

The rest of the step is taken to stay as it is (Amdahl, Validity of the single processor approach to achieving large
scale computing capabilities, AFIPS 1967). The share is of calls that were measured with nothing else in the process:
where calls of the program wait for the GIL they take more, and a port saves more, so that the share is no upper bound.

That holds for calls one after another. Calls that take more than the step does overlap, in a parallel `map` for
example, and then how long the step takes does not follow from how long its calls take: it may hang on them, or on
something else. All that can be said is what the calls take together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.stats.estimate import Floats
from pyopbench.store.mix_file import Calls

if TYPE_CHECKING:
    from pyopbench.judge.candidates import SettingComparison
    from pyopbench.judge.choice import Choice, Gain


MOST_SHOWN = 8
"""So many sizes that were not measured are named in a message."""

MILLION = 1_000_000
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, eq=False)
class Mix:
    """Shares of the current time by size, and how to read off a size that lies between two measured ones.

    Attributes:
        sizes: the sizes of the mix, ascending (points).
        shares: `(points,)` float64, share of the baseline's time that is spent at each; sums to 1.
        measured: sizes at which the baseline was measured, ascending.
        weights: `(points, measured)` float64, rows sum to 1: linear interpolation over the log of the size.
    """

    sizes: tuple[int, ...]
    shares: Floats
    measured: tuple[int, ...]
    weights: Floats

    @cached_property
    def needed(self) -> tuple[int, ...]:
        """The measured sizes that the mix draws on."""
        return tuple(size for size, column in zip(self.measured, self.weights.T, strict=True) if np.any(column))

    @cached_property
    def pull(self) -> Floats:
        """What the share of the current time at each size of `needed` counts for, `(needed,)`; sums to 1."""
        columns = [self.measured.index(size) for size in self.needed]
        return np.asarray(self.shares @ self.weights[:, columns], dtype=np.float64)

    def at_points(self, shares: npt.ArrayLike) -> Floats:
        """Return at the sizes of the mix what is known at those of `needed`.

        Args:
            shares: `(..., needed)` float64, seconds over the baseline's seconds.

        Returns:
            `(..., points)` float64: between two measured sizes straight over the log of the size.
        """
        columns = [self.measured.index(size) for size in self.needed]
        return np.asarray(np.asarray(shares, dtype=np.float64) @ self.weights[:, columns].T, dtype=np.float64)

    def cost(self, shares: npt.ArrayLike) -> Floats:
        """Return the time afterwards over the time today, `(...)` for shares `(..., needed)`.

        A share of the current time times seconds-afterwards over seconds-today is time afterwards, so shares of *time*
        (not of calls) are the weights under which these may be averaged.
        """
        return np.asarray(np.asarray(shares, dtype=np.float64) @ self.pull, dtype=np.float64)


def even_mix(measured: Sequence[int]) -> Mix:
    """Return the mix of someone who has given none: the current time is spread evenly over the log of the size.

    The share of a size is its weight in the trapezoid rule over log(size); all of it for one size alone.
    """
    logs = np.log(np.asarray(measured, dtype=np.float64))
    gaps = np.diff(logs)
    widths = np.append(gaps, 0) + np.insert(gaps, 0, 0) if gaps.size else np.ones(1)
    return Mix(tuple(measured), widths / widths.sum(), tuple(measured), np.eye(len(measured)))


def calls_mix(calls: Mapping[int, float], seconds: Mapping[int, float], what: str) -> Mix:
    """Return the mix in which a size is called in proportion to `calls[size]`.

    Args:
        calls: size -> weight, any positive numbers.
        seconds: measured size -> seconds per call of the baseline, at least one.
        what: whose seconds these are, for the message of the error.

    Returns:
        The mix; the baseline's seconds between two measured sizes are interpolated with both axes in logs.

    Raises:
        BadInput: a size lies outside the measured range.
    """
    sizes, measured = sorted(calls), sorted(seconds)
    outside = [size for size in sizes if not measured[0] <= size <= measured[-1]]
    if outside:
        raise BadInput(
            f"the mix has sizes outside the measured range of {what}",
            received=", ".join(map(str, outside[:MOST_SHOWN])) + (", ..." if len(outside) > MOST_SHOWN else ""),
            legal=f"sizes from {measured[0]} to {measured[-1]}",
            hint="measure these sizes too (--axis size=...), or remove them from the mix",
        )
    places = np.log(np.asarray(measured, dtype=np.float64))
    rows = [np.interp(np.log(sizes), places, column) for column in np.eye(len(measured))]
    weights = np.stack(rows, axis=1)
    at = np.exp(weights @ np.log([seconds[size] for size in measured]))
    shares = np.array([calls[size] for size in sizes]) * at
    return Mix(tuple(sizes), shares / shares.sum(), tuple(measured), weights)


def calls_in(calls: Calls, dtype: str) -> dict[int, float]:
    """Return how often each size is called in a dtype; without dtypes in the mix, in any."""
    pairs = [(key if isinstance(key, tuple) else (dtype, key), weight) for key, weight in calls.items()]
    return {size: weight for (name, size), weight in pairs if name == dtype}


def _call_text(worth: Worth) -> str:
    """Return what a call takes now, one after another and, where that is more, with other ops between them."""
    usual, apart = formatting.seconds(worth.call_seconds), formatting.seconds(worth.apart_seconds)
    if apart == usual or not worth.apart_seconds > worth.call_seconds:
        return f"{usual} per call"
    return f"{usual} per call (up to {apart} if other ops run between the calls)"


def _overlapping(worth: Worth, name: str) -> str:
    """Return that calls of an op are under way at the same time, and what that leaves open."""
    return (
        f"{name}: {_call_text(worth)}. All calls together take {formatting.number(worth.share)} times as long as the "
        f"step, so at least {worth.at_once} overlap (or your step was timed on another machine), and how much of the "
        "step a port saves is unknown."
    )


def _of_calls(worth: Worth) -> str:
    """Return what is known of the gain of a step whose calls overlap: that of the calls."""
    surest = best(worth.ports)
    if surest is None:
        return "No port is certain to save time."
    saved = f"at least {formatting.percent(surest.saved_low)}"
    return f"{surest.label} saves {saved} of the time of the calls; time a step with it to see what the step gains."


@dataclass(frozen=True)
class Step:
    """A step of the user's program: how often it calls the op, and how long it takes in all, in seconds."""

    calls: float
    seconds: float

    def text(self) -> str:
        """Return what was given, and what follows from it for every port."""
        calls = f"{formatting.number(self.calls)} {'call' if self.calls == 1 else 'calls'}"
        return (
            f"For your step of {formatting.seconds(self.seconds)} with {calls} of the op. The op's share is the "
            "measured time of its calls, one after another. If calls in your program wait for the GIL, it is larger, "
            "and a port can save more."
        )


@dataclass(frozen=True)
class Port:
    """What one candidate leaves and saves; `low` is at the lower end of what it saves, nan where it has no interval.

    `saved` is the share that it saves of the op's own time, below 0 for what is slower than today. The others are of
    the step, and nan where calls overlap: `share` is what is left of it to the op, of the step as it is today; `hours`
    are saved of a million steps; `speed_up` is the step of today over the step afterwards.
    """

    label: str
    saved: float
    saved_low: float
    share: float
    share_low: float
    hours: float
    hours_low: float
    speed_up: float
    speed_up_low: float


@dataclass(frozen=True)
class Worth:
    """What an op takes of a step, for one use in one setting.

    Attributes:
        op, use, mode, dtype, placement: as in `decision.Decision`.
        baseline: label of the current callback.
        call_seconds: mean seconds per call today, over the mix; in mode node of the calls of one step, the first of
            which costs a callback more than those after it.
        apart_seconds: the same where each of them costs what the first does, because other ops stand between them.
        share: of the step that these calls take today; above 1 they overlap.
        ports: every candidate that has numbers over the whole mix, what saves most at the lower end first.
    """

    op: str
    use: Literal["inference", "training"]
    mode: str
    dtype: str
    placement: str
    baseline: str
    call_seconds: float
    apart_seconds: float
    share: float
    ports: tuple[Port, ...]

    @property
    def overlaps(self) -> bool:
        """Do the calls take longer than the step, so that some of them are made at the same time?"""
        return self.share > 1

    @property
    def at_once(self) -> int:
        """How many calls are under way at the same time, on average and rounded up, at the least."""
        return math.ceil(self.share)

    @property
    def ceiling(self) -> float:
        """How many times as fast the step would be if calls as measured cost nothing; infinite from a share of 1."""
        return 1 / (1 - self.share) if self.share < 1 else math.inf

    def text(self, name: str) -> str:
        """Return which share of the step an op has, what the step would be without it, and what the surest port saves.

        Args:
            name: of that op and use, and of where it holds.
        """
        takes = f"{name}: {_call_text(self)}, {formatting.percent(self.share)} of the step"
        if self.overlaps:
            return f"{_overlapping(self, name)} {_of_calls(self)}"
        ceiling = f"without it the step would be about {formatting.ratio(self.ceiling)} as fast"
        surest = best(self.ports)
        if surest is None:
            return f"{takes}; {ceiling}. No port is certain to save time."
        saved = f"{surest.label} saves at least {formatting.number(surest.hours_low)} hours per million steps"
        return f"{takes}; {ceiling}. {saved}."


def worth_of(comparison: SettingComparison, choice: Choice, mix: Mix, step: Step) -> Worth:
    """Return what an op takes of a step, and what each candidate saves.

    Args:
        comparison: of the op in one setting.
        choice: made over the mix.
        mix: of the sizes that it is called with.
        step: of the user's program.
    """
    setting, each = comparison.setting, comparison.seconds_of(step.calls)
    seconds = mean_seconds(mix, each)
    share = step.calls * seconds / step.seconds
    # Candidates were compared at what the first callback of a step costs, which weighs less in a step of several.
    compared = share * mean_seconds(mix, comparison.seconds) / seconds
    ports = sorted((_port(gain, share, compared, step) for gain in choice.gains), key=_rank)
    place = (setting.op, setting.use, setting.mode, setting.dtype, setting.placement)
    apart = mean_seconds(mix, comparison.seconds_of(1.0))
    return Worth(*place, comparison.baseline, seconds, apart, share, tuple(ports))


def mean_seconds(mix: Mix, seconds: Mapping[int, float]) -> float:
    """Return the mean seconds of a call over a mix.

    Shares are of time, and calls are time over seconds per call, so it is the harmonic mean under the shares.

    Args:
        mix: of sizes.
        seconds: measured size -> seconds per call; between sizes it is interpolated as the mix says.
    """
    at = np.exp(mix.weights @ np.log([seconds[size] for size in mix.measured]))
    return float(1 / np.sum(mix.shares / at))


def _port(gain: Gain, share: float, compared: float, step: Step) -> Port:
    # Noise may make a port cost less than nothing, but no more than the op's own time can be saved.
    saved, saved_low = (min(1 - compared * (1 - one) / share, 1.0) for one in (gain.saved, gain.saved_low))
    (left, hours, speed_up), (left_low, hours_low, speed_up_low) = (
        _after(one, share, step) for one in (saved, saved_low)
    )
    return Port(gain.label, saved, saved_low, left, left_low, hours, hours_low, speed_up, speed_up_low)


def _after(saved: float, share: float, step: Step) -> tuple[float, float, float]:
    """Return the share that is left, hours saved per million steps, and the speed-up of the step."""
    if share > 1:
        return math.nan, math.nan, math.nan
    gone = share * saved
    return share - gone, gone * step.seconds * MILLION / SECONDS_PER_HOUR, 1 / (1 - gone) if gone < 1 else math.inf


def _rank(port: Port) -> tuple[float, str]:
    known = port.saved_low if not math.isnan(port.saved_low) else -math.inf
    return -known, port.label


def best(ports: Sequence[Port]) -> Port | None:
    """Return the candidate that saves most for sure; None if none saves anything."""
    return ports[0] if ports and ports[0].saved_low > 0 else None
