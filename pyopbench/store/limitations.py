"""What results of another tool cannot support, as values with their sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.model import formatting

ONE_LAUNCH = {
    "asv": (
        "asv does not record which process a sample is from, so all samples of a benchmark count as one launch. One "
        "launch gives no interval, so there are no verdicts and no decisions."
    ),
    "pytest-benchmark": (
        "pytest-benchmark times everything in one process, which is one launch. One launch gives no interval, so there "
        "are no verdicts and no decisions."
    ),
}
NOT_INTERLEAVED = {
    "asv": (
        "asv times one combination after another, in separate processes, so every ratio includes how the machine "
        "changed in between."
    ),
    "pytest-benchmark": (
        "pytest-benchmark times one benchmark after another, so every ratio includes how the machine changed in "
        "between."
    ),
}
SAMPLES = {
    "asv": ("result", "have only asv's median and no samples", "`asv run --record-samples` keeps them"),
    "pytest-benchmark": (
        "benchmark",
        "have only the median and no samples",
        "`--benchmark-json` and `--benchmark-save-data` keep them",
    ),
}
"""What one of the tool's numbers is called, what is missing, and what keeps it."""

ForeignTool: TypeAlias = Literal["asv", "pytest-benchmark"]


@dataclass(frozen=True)
class OnlyOneLaunch:
    """Which process a sample is from is not stored, so all samples of a benchmark count as one launch."""

    tool: ForeignTool
    kind: Literal["one_launch"] = "one_launch"

    def text(self) -> str:
        """Return what cannot be supported, in a sentence or two."""
        return ONE_LAUNCH[self.tool]


@dataclass(frozen=True)
class NotInterleaved:
    """One benchmark is timed after another, so what the machine did in between is part of every ratio."""

    tool: ForeignTool
    kind: Literal["not_interleaved"] = "not_interleaved"

    def text(self) -> str:
        """Return what cannot be supported, in a sentence or two."""
        return NOT_INTERLEAVED[self.tool]


@dataclass(frozen=True)
class VersionsUnknown:
    """Which versions were installed is known only as far as asv's matrix names them."""

    tool: ForeignTool = "asv"
    kind: Literal["versions_unknown"] = "versions_unknown"

    def text(self) -> str:
        """Return what cannot be supported, in a sentence or two."""
        return f"Installed versions are known only where {self.tool}'s matrix names them."


@dataclass(frozen=True)
class SamplesNotKept:
    """Of `bare` out of `results` benchmarks there is one number and no sample, so how calls scattered is not known."""

    tool: ForeignTool
    bare: int
    results: int
    kind: Literal["samples_not_kept"] = "samples_not_kept"

    def text(self) -> str:
        """Return what cannot be supported, in a sentence or two."""
        noun, missing, remedy = SAMPLES[self.tool]
        share = f"{self.bare:,} of {formatting.count(self.results, noun)}"
        return f"{share} {missing}, so the spread of calls is unknown; {remedy}."


Limitation: TypeAlias = OnlyOneLaunch | NotInterleaved | VersionsUnknown | SamplesNotKept
"""Something that results of another tool cannot support."""


def samples_not_kept(tool: ForeignTool, kept: Sequence[bool]) -> tuple[SamplesNotKept, ...]:
    """Return the limitation that some benchmarks have one number only, if any has.

    Args:
        tool: whose results they are.
        kept: for each benchmark, whether its samples were kept.
    """
    bare = len(kept) - sum(kept)
    return (SamplesNotKept(tool, bare, len(kept)),) if bare else ()
