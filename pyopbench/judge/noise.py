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


@dataclass(frozen=True)
class MachineState:
    """How busy the machine was."""

    load: float | None  # median over all measured groups of the load over 1 minute; None if it is not known
    steal_share: float | None  # share of the cores' time that other guests of the host used; None if it is not known
    cores: int  # the number of usable cores

    @property
    def _values(self) -> list[tuple[str, bool]]:
        """Load and stolen time in words, as far as known, and whether each is too large for a quiet machine."""
        values = []
        if self.load is not None:
            text = f"load {self.load:.1f} on {formatting.count(self.cores, 'core')}"
            values.append((text, self.load > self.cores))
        if self.steal_share is not None:
            text = f"{formatting.percent(self.steal_share)} of CPU time stolen by other VMs"
            values.append((text, self.steal_share > LARGE_STEAL))
        return values

    @property
    def is_quiet(self) -> bool:
        """Was the machine quiet enough to trust a verdict?"""
        return not any(is_large for _, is_large in self._values)

    def text(self) -> str:
        """Return load and stolen time in a sentence."""
        known = [text for text, _ in self._values]
        return f"Machine: {formatting.listing(known)}." if known else "The state of the machine was not recorded."

    def warning_text(self, command: Sequence[str] = ()) -> str:
        """Return why the result cannot be trusted, and what to do, in sentences; "" if it can be trusted."""
        large = [text for text, is_large in self._values if is_large]
        if not large:
            return ""
        stolen = self.steal_share is not None and self.steal_share > LARGE_STEAL
        quieter = "Use a machine without other VMs" if stolen else "Stop other programs"
        again = f": {shlex.join(command)}" if command else ""
        return (
            f"The machine was too busy to trust this result: {formatting.listing(large)}. Slowdowns can be "
            f"missed. {quieter} and repeat{again}"
        )


UNKNOWN_STATE = MachineState(None, None, 1)


def machine_state(runs: Sequence[Run]) -> MachineState:
    """Return the state of the machine during runs of one machine."""
    noise = pd.concat([run.noise for run in runs], ignore_index=True)
    cores = int(runs[0].environment.get("cores") or 1)
    known = noise[["steal_seconds", "wall_seconds"]].dropna().sum()
    steal = finite(known["steal_seconds"] / (known["wall_seconds"] * cores)) if known["wall_seconds"] else None
    return MachineState(finite(noise["load"].median()), steal, cores)
