"""What a reader should know about the files of a run, as values: a kind, its numbers and its words.

That is what could not be read, and what held GPUs back.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.model import formatting
from pyopbench.store.types import Gpu, GroupLine

SLOWING = (
    "power cap",
    "hardware slowdown",
    "thermal slowdown by software",
    "thermal slowdown by hardware",
    "power brake",
)
"""Of what a reading may say, what makes the same work slower than it was; the rest is set by somebody, or idleness."""


def _each(names: tuple[Counted, ...]) -> str:
    return formatting.listing([f"{one.name} ({one.count:,})" for one in names])


@dataclass(frozen=True)
class Counted:
    """A name, and how often it was seen."""

    name: str
    count: int


@dataclass(frozen=True)
class UnfinishedLine:
    """The last line of a file was cut off by a crash; it was dropped."""

    path: str
    kind: Literal["unfinished_line"] = "unfinished_line"

    def text(self) -> str:
        """Return a warning in a sentence, without a full stop."""
        return f"{self.path}: the unfinished last line is ignored"


@dataclass(frozen=True)
class NoTimes:
    """Benchmarks of asv that do not measure time, and so are left out of a file, or of several `files` in a folder."""

    path: str
    benchmarks: tuple[str, ...]
    files: int = 1
    kind: Literal["no_times"] = "no_times"

    def text(self) -> str:
        """Return a warning in a sentence, without a full stop."""
        where = self.path if self.files == 1 else f"{self.path} ({formatting.count(self.files, 'file')})"
        return f"{where}: ignored, because they do not measure time: {formatting.listing(self.benchmarks)}"


@dataclass(frozen=True)
class UnknownGradients:
    """Backward benchmarks of variants that are not known here, nor is their gradient; they are left out."""

    path: str
    variants: tuple[Counted, ...]
    kind: Literal["unknown_gradients"] = "unknown_gradients"

    def text(self) -> str:
        """Return a warning in a sentence, without a full stop."""
        return f"{self.path}: ignored, because these variants or gradients are unknown: {_each(self.variants)}"


@dataclass(frozen=True)
class SlowedGpu:
    """A GPU was held back in `groups` of the `of` groups that have readings; for each reason, in how many."""

    groups: int
    of: int
    reasons: tuple[Counted, ...]
    kind: Literal["slowed_gpu"] = "slowed_gpu"

    def text(self) -> str:
        """Return a warning in a sentence, without a full stop."""
        share = f"{self.groups:,} of {formatting.count(self.of, 'group')}"
        return f"the GPU was throttled in {share}: {_each(self.reasons)}; its times there are too long"


@dataclass(frozen=True)
class UnknownClocks:
    """The GPU did not report its clocks in `groups` of `of` groups."""

    groups: int
    of: int
    kind: Literal["unknown_clocks"] = "unknown_clocks"

    def text(self) -> str:
        """Return a warning in a sentence, without a full stop."""
        return f"the clocks of the GPU are unknown in {self.groups:,} of {formatting.count(self.of, 'group')}"


RunWarning: TypeAlias = UnfinishedLine | NoTimes | UnknownGradients | SlowedGpu | UnknownClocks


def gpu_warnings(groups: Iterable[GroupLine]) -> tuple[SlowedGpu | UnknownClocks, ...]:
    """Return a warning if a GPU was held back in some group, and one if its clocks were not reported.

    Args:
        groups: those without readings of a GPU too.
    """
    readings = [line.noise.gpus for line in groups if line.noise is not None and line.noise.gpus is not None]
    slowed = [reasons for gpus in readings if (reasons := _slowing(gpus))]
    silent = sum(not gpus for gpus in readings)
    counts = Counter(reason for reasons in slowed for reason in reasons)
    return (
        *((SlowedGpu(len(slowed), len(readings), _counted(counts)),) if slowed else ()),
        *((UnknownClocks(silent, len(readings)),) if silent else ()),
    )


def _counted(counts: Counter[str]) -> tuple[Counted, ...]:
    return tuple(Counted(name, count) for name, count in counts.most_common())


def _slowing(gpus: Iterable[Gpu]) -> list[str]:
    """Return each reason that holds a GPU back, once."""
    reasons = dict.fromkeys(reason for gpu in gpus for reason in gpu.held_back_by or ())
    return [reason for reason in reasons if reason in SLOWING]


def merge_warnings(warnings: Iterable[RunWarning]) -> tuple[RunWarning, ...]:
    """Return the warnings of many files, each once, with a single one about benchmarks that do not measure time."""
    each = list(dict.fromkeys(warnings))
    untimed = [one for one in each if isinstance(one, NoTimes)]
    if len(untimed) < 2:
        return tuple(each)
    folder = os.path.commonpath([one.path for one in untimed])
    names = sorted({name for one in untimed for name in one.benchmarks})
    first = NoTimes(folder, tuple(names), sum(one.files for one in untimed))
    return (first, *(one for one in each if not isinstance(one, NoTimes)))
