"""What `pyopbench advise` finds: the callbacks of a program, an answer for each, and what the changes save."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from pyopbench.advise.answers import Answer
from pyopbench.advise.callbacks import Callback, Shown, Step
from pyopbench.advise.program import Program
from pyopbench.advise.turns import Realised

PATCH = "change.patch"
WITHDRAWN_PATCH = "withdrawn.patch"
"""The last change that gave the same results and was not shown to make the program faster."""


@dataclass(frozen=True)
class Row:
    """A callback and its answer."""

    callback: Callback
    shown: Shown
    answer: Answer


@dataclass(frozen=True)
class Withdrawn:
    """A change that was tried and is not made.

    Attributes:
        name: of the callback.
        variant: the change.
        why: it is not made.
        saved: the share of the callback's own time that it saves, measured alone.
        realised: what it saved, if it was the only change; None if that was not timed.
        together: what it saved with changes of other callbacks, if it was timed only with these.
    """

    name: str
    variant: str
    why: str
    saved: float | None = None
    realised: Realised | None = None
    together: Realised | None = None


@dataclass
class Advice:
    """What to do about the callbacks of a program.

    Attributes:
        program: which.
        folder: the folder of all results.
        step: of the recording.
        rows: one for each callback, the costliest first.
        realised: what all applied changes save together; None if none was applied.
        withdrawn: changes that were tried and are not made, in that order.
        loss_difference: the largest relative difference of losses; nan if there are none.
        patch: the file that `git apply` takes; None without a change.
        constants: for each callback that is changed, the values of the program that its port contains, by their
            expressions, and whether the patched program checks each.
        withdrawn_constants: likewise for each callback that `withdrawn.patch` changes.
        withdrawn_variants: the changes that are in that patch.
        lacked_time: did the budget end the runs of changes, or leave some untried?
        tried: names of the callbacks whose changes `realised` is about.
        ended: `steps` or `seconds` if the recording was ended before the program was done.
    """

    program: Program
    folder: Path
    step: Step
    rows: list[Row]
    realised: Realised | None = None
    withdrawn: list[Withdrawn] = field(default_factory=list)
    loss_difference: float = math.nan
    patch: Path | None = None
    constants: dict[str, dict[str, bool]] = field(default_factory=dict)
    withdrawn_constants: dict[str, dict[str, bool]] = field(default_factory=dict)
    withdrawn_variants: dict[str, str] = field(default_factory=dict)
    lacked_time: bool = False
    tried: tuple[str, ...] = ()
    ended: str = ""

    @property
    def withdrawn_patch(self) -> Path | None:
        """The patch of the last change that was withdrawn after it was timed; None if there is none."""
        path = self.folder / WITHDRAWN_PATCH
        return path if self.withdrawn and path.exists() else None
