"""How the measuring goes on, and what its time went into, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.model import formatting

if TYPE_CHECKING:
    from pyopbench.engine.run import Progress

PLANNING = "planning: starting TensorFlow, compiling kernels, trying ports"
"""What takes a while before anything is measured, and longest the first time."""
PLANNING_VERSIONS = "planning, and installing TensorFlow where it is missing"


def stage_text(step: Progress) -> str:
    """Return what workers are doing, for a line of progress."""
    workers = formatting.count(step.workers, "worker")
    if step.doing == "preparing":
        return f"{workers} preparing"
    return f"sweep {step.sweep + 1} ({workers})"


def sampling_text(sampling_seconds: float, seconds: float) -> str:
    """Return what share of the time was sampling, and not preparing, looking or waiting."""
    share = sampling_seconds / seconds if seconds else 0.0
    return f"{formatting.percent(round(share, 2))} of {formatting.duration(seconds)} of measuring was sampling"


def installing_text(environments: Sequence[str], gigabytes_each: float) -> str:
    """Return which environments are going to be installed, and how much of the disk they take."""
    size = disk_text(len(environments), gigabytes_each)
    return f"installing {formatting.listing(environments)} into the cache: about {size}"


def disk_text(versions: int, gigabytes_each: float) -> str:
    """Return about how much of the disk environments of so many versions take."""
    return f"{gigabytes_each * versions:.1f} GB"


def planned_text(cases: int, skips: int, folder: str) -> str:
    """Return what was planned, and where it goes.

    Args:
        cases: that are tried; of these, some may turn out not to be supported.
        skips: known to be unsupported.
        folder: of the results.
    """
    skipped = f", {skips:,} not supported" if skips else ""
    return f"{cases:,} cases to try{skipped}; results in {folder}"


def planned_together_text(cases: Sequence[int], skips: int, control: int, folder: str) -> str:
    """Return what was planned of several sides and of their control, and where it goes.

    Args:
        cases: of each side.
        skips: what is not supported of any, at the most.
        control: cases that are measured twice of the first.
        folder: of all.
    """
    least, most = min(cases), max(cases)
    each = f"{most:,} cases each" if least == most else f"{least:,} to {most:,} cases"
    sides = formatting.count(len(cases), "side")
    return f"{sides} of {each}, {skips:,} not supported, and a control of {control:,}; results in {folder}"


def budget_text(budget_seconds: float, launches: int, most: int | None) -> str:
    """Return that the budget ended the measuring; `most` is None where nothing else could."""
    limit = "" if most is None else f" of at most {most}"
    return f"the budget of {budget_seconds:g} s is spent after {launches}{limit} launches"
