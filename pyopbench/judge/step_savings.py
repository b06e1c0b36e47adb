"""What a port is worth: which share of a step the op has now, what each candidate leaves of it, and hours saved.

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
from typing import TYPE_CHECKING, Literal

import numpy as np

from pyopbench.judge.mix import Mix

if TYPE_CHECKING:
    from pyopbench.judge.candidates import Comparison
    from pyopbench.judge.choice import Choice, Gain

MILLION = 1_000_000
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Step:
    """A step of the user's program: how often it calls the op, and how long it takes in all, in seconds."""

    calls: float
    seconds: float


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


def worth_of(comparison: Comparison, choice: Choice, mix: Mix, step: Step) -> Worth:
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
