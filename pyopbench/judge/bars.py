"""What a variant was seen not to do of what is required, and of what nothing is known; as values.

`report.wording.requirements` has the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

BarStatus: TypeAlias = Literal["fails", "silently wrong", "refused", "falls back"]
"""How a requirement is not met: an error, other numbers without one, no device, or the host in place of the device."""


@dataclass(frozen=True)
class Bar:
    """What a variant cannot do.

    Attributes:
        label: the variant.
        requirement: one of `requirements.NAMES`.
        probe: what saw it: a probe, or `placement`.
        status: in which way.
        told: the words of the error, or the numbers that were seen; empty where the status says all.
    """

    label: str
    requirement: str
    probe: str
    status: BarStatus
    told: str


@dataclass(frozen=True)
class Unknown:
    """A requirement of which nothing is known for some labels."""

    requirement: str
    labels: tuple[str, ...]
