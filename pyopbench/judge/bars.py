"""What a variant was not seen to do of what is required, and of what nothing is known; as values.

`report.wording.requirements` has the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

BarStatus: TypeAlias = Literal["fails", "silently wrong", "refused", "falls back", "does not apply"]
"""Why a requirement is not met: an error, other numbers without one, no device, the host in place of the device, or
there is nothing to try the variant with, so that nobody has seen it do what is required."""


@dataclass(frozen=True)
class Bar:
    """What a variant cannot do.

    Attributes:
        label: the variant.
        requirement: one of `requirements.NAMES`.
        probe: what saw it: a probe, or `placement`.
        status: in which way.
        told: the words of the error, the numbers that were seen, or why there is nothing to try; empty where the
            status says all.
    """

    label: str
    requirement: str
    probe: str
    status: BarStatus
    told: str

    @property
    def was_seen(self) -> bool:
        """Was the variant seen not to do it, and not only never seen to do it?"""
        return self.status != "does not apply"


@dataclass(frozen=True)
class Unknown:
    """A requirement of which nothing is known for some labels, which are no candidates until they have been tried."""

    requirement: str
    labels: tuple[str, ...]
