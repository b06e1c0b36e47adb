"""What a port is worth: which share of a step the op has now, what each candidate leaves of it, and hours saved.

The rest of the step is taken to stay as it is (Amdahl, Validity of the single processor approach to achieving large
scale computing capabilities, AFIPS 1967): however fast a port is, it saves no more than the op's share.
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
    """What one candidate leaves and saves; `low` is at the lower end of its gain, nan where it has no interval.

    `share` is of the step as it is today; `hours` are of a million steps, below 0 for what is slower than today;
    `speed_up` is the step of today over the step afterwards.
    """

    label: str
    gain: float
    gain_low: float
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
        baseline: label of the callback of today.
        call_seconds: mean seconds per call today, over the mix.
        share: of the step that these calls take today; above 1 they cannot be one after another in such a step.
        ports: every candidate that has numbers over the whole mix, the most hours at the lower end first.
    """

    op: str
    use: Literal["inference", "training"]
    mode: str
    dtype: str
    placement: str
    baseline: str
    call_seconds: float
    share: float
    ports: tuple[Port, ...]

    @property
    def ceiling(self) -> float:
        """Of how many times as fast the step would be if the op cost nothing; infinite from a share of 1."""
        return 1 / (1 - self.share) if self.share < 1 else math.inf


def worth_of(comparison: Comparison, choice: Choice, mix: Mix, step: Step) -> Worth:
    """Return what an op takes of a step, and what each candidate saves.

    Args:
        comparison: of the op in one setting.
        choice: made over the mix.
        mix: of the sizes that it is called with.
        step: of the user's program.
    """
    seconds, setting = mean_seconds(mix, comparison.seconds), comparison.setting
    share = step.calls * seconds / step.seconds
    ports = sorted((_port(gain, share, step) for gain in choice.gains), key=_rank)
    place = (setting.op, setting.use, setting.mode, setting.dtype, setting.placement)
    return Worth(*place, comparison.baseline, seconds, share, tuple(ports))


def mean_seconds(mix: Mix, seconds: Mapping[int, float]) -> float:
    """Return the mean seconds of a call over a mix.

    Shares are of time, and calls are time over seconds per call, so it is the harmonic mean under the shares.

    Args:
        mix: of sizes.
        seconds: measured size -> seconds per call; between sizes it is interpolated as the mix says.
    """
    at = np.exp(mix.weights @ np.log([seconds[size] for size in mix.measured]))
    return float(1 / np.sum(mix.shares / at))


def _port(gain: Gain, share: float, step: Step) -> Port:
    (left, hours, speed_up), (left_low, hours_low, speed_up_low) = (
        _after(value, share, step) for value in (gain.value, gain.low)
    )
    return Port(gain.label, gain.value, gain.low, left, left_low, hours, hours_low, speed_up, speed_up_low)


def _after(gain: float, share: float, step: Step) -> tuple[float, float, float]:
    """Return the share that is left, hours saved per million steps, and the speed-up of the step."""
    left = share / gain
    rest = 1 - share + left
    hours = (share - left) * step.seconds * MILLION / SECONDS_PER_HOUR
    return left, hours, 1 / rest if rest > 0 else math.inf


def _rank(port: Port) -> tuple[float, str]:
    known = port.hours_low if not math.isnan(port.hours_low) else -math.inf
    return -known, port.label


def best(ports: Sequence[Port]) -> Port | None:
    """Return the candidate that saves the most hours for sure; None if none saves any."""
    return ports[0] if ports and ports[0].hours_low > 0 else None
