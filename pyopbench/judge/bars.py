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
        op: the op that it was seen with; None for x**3 of four numbers, and for what `placement` saw.
    """

    label: str
    requirement: str
    probe: str
    status: BarStatus
    told: str
    op: str | None = None

    @property
    def was_seen(self) -> bool:
        """Was the variant seen not to do it, and not only never seen to do it?"""
        return self.status != "does not apply"


@dataclass(frozen=True)
class Substituted:
    """A requirement that cannot be tried with the op: that the label meets it was seen with x**3 of four numbers.

    Attributes:
        label: the variant.
        requirement: one of `requirements.PROBES`.
        told: why there is nothing to try with the op.
    """

    label: str
    requirement: str
    told: str


@dataclass(frozen=True)
class Unknown:
    """A requirement that some labels were not tried for with the op: they are no candidates until they have been."""

    requirement: str
    labels: tuple[str, ...]
