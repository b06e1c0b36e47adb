"""Caveats about results: warnings about files, and the limitations of other tools' files.

A warning has no full stop, because what prints it may go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from pyopbench.model import formatting
from pyopbench.store.types import GroupLine


@dataclass(frozen=True)
class Caveat:
    """A sentence that a reader needs before the numbers."""

    kind: str  # what it is about, for programs
    sentence: str
    heading: str = ""  # keeps what is grave from being overlooked; "" for what is not

    def text(self) -> str:
        """Return the sentence with its heading."""
        return f"{self.heading}: {self.sentence}" if self.heading else self.sentence


UNDECIDED = "One launch gives no interval, so every answer is undecided."
MEANWHILE = "so every ratio includes how the machine changed in between."
LIMITATIONS = {
    "asv": (
        Caveat(
            "one_launch",
            "asv does not record which process a sample is from, so all samples of a benchmark count as one launch. "
            f"{UNDECIDED}",
        ),
        Caveat("not_interleaved", f"asv times one combination after another, in separate processes, {MEANWHILE}"),
        Caveat("versions_unknown", "Installed versions are known only where asv's matrix names them."),
    ),
    "pytest-benchmark": (
        Caveat("one_launch", f"pytest-benchmark times everything in one process, which is one launch. {UNDECIDED}"),
        Caveat("not_interleaved", f"pytest-benchmark times one benchmark after another, {MEANWHILE}"),
    ),
}
"""Tool -> the limitations of its results."""
NO_SAMPLES = {
    "asv": "Some results have only asv's median and no samples, so the spread of calls is unknown; "
    "`asv run --record-samples` keeps them.",
    "pytest-benchmark": "Some benchmarks have only the median and no samples, so the spread of calls is unknown; "
    "`--benchmark-json` and `--benchmark-save-data` keep them.",
}


def gpu_warnings(groups: Iterable[GroupLine]) -> tuple[Caveat, ...]:
    """Return a warning if a GPU was held back in some group, and one if its clocks were not reported."""
    readings = [line.noise.gpus for line in groups if line.noise is not None and line.noise.gpus is not None]
    held_back = [{reason: None for gpu in gpus for reason in gpu.held_back_by or ()} for gpus in readings]
    slowed = [reasons for reasons in held_back if reasons]
    silent = sum(not gpus for gpus in readings)
    counts = Counter(reason for reasons in slowed for reason in reasons)
    named = formatting.listing([f"{reason} ({count:,})" for reason, count in counts.most_common()])
    every = formatting.count(len(readings), "group")
    warnings = []
    if slowed:
        throttled = f"the GPU was throttled in {len(slowed):,} of {every}: {named}; its times there are too long"
        warnings.append(Caveat("slowed_gpu", throttled))
    if silent:
        warnings.append(Caveat("unknown_clocks", f"the clocks of the GPU are unknown in {silent:,} of {every}"))
    return tuple(warnings)
