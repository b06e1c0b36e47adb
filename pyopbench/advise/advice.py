"""What `pyopbench advise` finds: the callbacks of a program, an answer for each, and what the changes save."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from pyopbench.advise.answers import Answer
from pyopbench.advise.callbacks import Callback, Step
from pyopbench.advise.program import Program
from pyopbench.advise.turns import Realised

PATCH = "change.patch"


@dataclass(frozen=True)
class CallbackAdvice:
    """A callback, the largest share of a step that it could save, and its answer."""

    callback: Callback
    most: float
    answer: Answer


@dataclass(frozen=True)
class Withdrawn:
    """A change of the callback of a name that was tried and withdrawn.

    Attributes:
        saved: the share of the callback's own time that it saves, measured alone; None if that was not measured.
        realised: what the program saved with it, and with the changes of other callbacks that were tried at the same
            time; None if that was not timed in pairs of runs.
    """

    name: str
    variant: str
    why: str
    saved: float | None = None
    realised: Realised | None = None


@dataclass
class Advice:
    """What to do about the callbacks of a program.

    Attributes:
        rows: one for each callback, the costliest first.
        recorded: what the recording covers, in words.
        realised: what all applied changes save together; None if none was applied.
        loss_difference: the largest relative difference of losses; nan if there are none.
        patch: the file that `git apply` takes; None without a change.
        constants: for each callback that is changed, the expressions of the program whose values its port contains.
        untried: changes for which no time was left, as `train.py:3 f: port to traced`.
        lacked_time: did the budget leave changes untried, or end the runs that compare them?
        ended: `steps` or `seconds` if the recording was ended before the program was done.
    """

    program: Program
    folder: Path
    step: Step
    rows: list[CallbackAdvice]
    recorded: str = ""
    budget_seconds: float = 0.0
    realised: Realised | None = None
    withdrawn: list[Withdrawn] = field(default_factory=list)
    loss_difference: float = math.nan
    patch: Path | None = None
    constants: dict[str, list[str]] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    lacked_time: bool = False
    ended: str = ""

    @property
    def changed(self) -> list[CallbackAdvice]:
        """The callbacks that the patch changes."""
        return [row for row in self.rows if row.answer.is_change]
