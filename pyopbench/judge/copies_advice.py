"""What counted copies add to a decision, as values; `report.wording.gpu_advice` has the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Copied:
    """What one call copies between host and device at least, and where the op is pinned for that.

    Attributes:
        copies: how many, both ways.
        moved_bytes: of all of them.
        size: of the call.
        pinned: one of `places.PINS`.
    """

    copies: int
    moved_bytes: int
    size: int
    pinned: str


@dataclass(frozen=True)
class NotCounted:
    """Why there are no counts of a label on the device.

    Attributes:
        why: the simulated device cannot run it, the device `refused` it, or it was `left_out`.
        message: how it was refused; else empty.
    """

    label: str
    why: Literal["simulated", "refused", "left_out"]
    message: str = ""


@dataclass(frozen=True)
class DataOnDevice:
    """What a decision means with inputs and results on the device.

    Attributes:
        baseline: the current callback.
        today: what it copies.
        choice: where the decision goes to; None for keep and undecided.
        afterwards: what that copies, or why that is not known; None without a choice.
        free: variants that copy nothing, where the choice is not one and the baseline copies something.
    """

    baseline: str
    today: Copied
    choice: str | None
    afterwards: Copied | NotCounted | None
    free: tuple[str, ...]
    kind: Literal["data_on_device"] = "data_on_device"


@dataclass(frozen=True)
class PinToHost:
    """With inputs and results on the host a variant goes by the device, unless it is pinned to the host.

    `pinned` is what it copies then.
    """

    variant: str
    pinned: Copied
    kind: Literal["pin_to_host"] = "pin_to_host"


CopiesAdvice: TypeAlias = DataOnDevice | PinToHost
