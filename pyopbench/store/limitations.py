"""What results of another tool cannot support, as values; `wording.limitations` has the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

ForeignTool: TypeAlias = Literal["asv", "pytest-benchmark"]


@dataclass(frozen=True)
class OnlyOneLaunch:
    """Which process a sample is from is not stored, so all samples of a benchmark count as one launch."""

    tool: ForeignTool
    kind: Literal["one_launch"] = "one_launch"


@dataclass(frozen=True)
class NotInterleaved:
    """One benchmark is timed after another, so what the machine did in between is part of every ratio."""

    tool: ForeignTool
    kind: Literal["not_interleaved"] = "not_interleaved"


@dataclass(frozen=True)
class VersionsUnknown:
    """Which versions were installed is known only as far as asv's matrix names them."""

    tool: ForeignTool = "asv"
    kind: Literal["versions_unknown"] = "versions_unknown"


@dataclass(frozen=True)
class SamplesNotKept:
    """Of `bare` out of `results` benchmarks there is one number and no sample, so how calls scattered is not known."""

    tool: ForeignTool
    bare: int
    results: int
    kind: Literal["samples_not_kept"] = "samples_not_kept"


Limitation: TypeAlias = OnlyOneLaunch | NotInterleaved | VersionsUnknown | SamplesNotKept
"""Something that results of another tool cannot support."""


def samples_not_kept(tool: ForeignTool, samples: Sequence[int]) -> tuple[SamplesNotKept, ...]:
    """Return the limitation that some benchmarks have one number only, if any has.

    Args:
        tool: whose results they are.
        samples: how many each benchmark has.
    """
    bare = sum(many == 1 for many in samples)
    return (SamplesNotKept(tool, bare, len(samples)),) if bare else ()
