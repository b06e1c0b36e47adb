"""How busy the machine was while it measured: its load, and the CPU time that other virtual machines took.

No block is dropped because of how long it took: the median over rounds limits what a disturbed block does, and the mean
over launches includes what launches differ by.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.decision import finite
from pyopbench.model import formatting

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run

LARGE_STEAL = 0.01
"""Other virtual machines took 1% of the CPU time: launches on a quiet machine differ by as much."""


def limits_of(load: float | None, steal: float | None, cores: int) -> tuple[tuple[str, float | None, float], ...]:
    """Return load and stolen time in words, each with its value and the largest at which a machine counts as quiet.

    Args:
        load: tasks that run or wait to run, averaged over a minute; None if it is not known.
        steal: share of the cores' time that other guests of the host used; None if it is not known.
        cores: how many there are.
    """
    return (
        ("" if load is None else f"load {load:.1f} on {formatting.count(cores, 'core')}", load, cores),
        ("" if steal is None else f"{formatting.percent(steal)} of CPU time stolen by other VMs", steal, LARGE_STEAL),
    )


@dataclass(frozen=True)
class MachineState:
    """How busy the machine was.

    Attributes:
        load: median over all measured groups of the load over 1 minute; None if it is not known.
        steal_share: share of the cores' time that other guests of the host used; None if it is not known.
        cores: the number of usable cores.
    """

    load: float | None
    steal_share: float | None
    cores: int

    @property
    def too_large(self) -> tuple[str, ...]:
        """The values that were beyond the limits of a quiet machine, in words."""
        limits = limits_of(self.load, self.steal_share, self.cores)
        return tuple(text for text, value, most in limits if value is not None and value > most)

    @property
    def is_quiet(self) -> bool:
        """Was the machine quiet enough to trust a verdict?"""
        return not self.too_large

    def text(self) -> str:
        """Return load and stolen time in a sentence; "" where neither is known."""
        known = [text for text, *_ in limits_of(self.load, self.steal_share, self.cores) if text]
        return f"Machine: {formatting.listing(known)}." if known else ""

    def warning_text(self, command: Sequence[str] = ()) -> str:
        """Return why the result cannot be trusted, and what to do, in sentences; "" if it can be trusted.

        Args:
            command: that measures it again.
        """
        if self.is_quiet:
            return ""
        stolen = self.steal_share is not None and self.steal_share > LARGE_STEAL
        quieter = "Use a machine without other VMs" if stolen else "Stop other programs"
        again = f": {shlex.join(command)}" if command else ""
        return (
            f"The machine was too busy to trust this result: {formatting.listing(self.too_large)}. Slowdowns can be "
            f"missed. {quieter} and repeat{again}"
        )


def machine_state(runs: Sequence[Run]) -> MachineState | None:
    """Return the state of the machine during runs of one machine; None if nothing was recorded."""
    noise = pd.concat([run.noise for run in runs], ignore_index=True)
    if not len(noise):
        return None
    cores = int(runs[0].environment.get("cores") or 1)
    known = noise[["steal_seconds", "wall_seconds"]].dropna().sum()
    steal = finite(known["steal_seconds"] / (known["wall_seconds"] * cores)) if known["wall_seconds"] else None
    return MachineState(finite(noise["load"].median()), steal, cores)
