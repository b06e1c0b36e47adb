"""An attempt at the advice for a program: its folder, its budget, runs in copies of its folder, and what is found."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyopbench.advise import turns
from pyopbench.advise.answers import Answer, Candidate, decide, write_candidate
from pyopbench.advise.callbacks import Callback, Step
from pyopbench.advise.program import Asked, Program, Run, run_program
from pyopbench.advise.turns import Realised
from pyopbench.api.listeners import Listener
from pyopbench.find.record import read_parts
from pyopbench.find.scan import ADVICE_FILE
from pyopbench.find.usage import Usage, merge
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.files import real_path, write_atomically

RECORDING_FOLDER, CALLBACKS, TURNS, PATCH = "recording", "callbacks", "turns", "change.patch"
COPIES = "copies"
COPY = "program"
"""Every copy has the same name: a program that prints its own path prints the same before and after a change."""
MEASURED = "measured"
"""The copy in which callbacks are measured."""

BUDGET_SECONDS = 240.0
RUNS_SHARE = 20
"""A run of the program may take the budget divided by this if nothing else is asked for; a longer one is ended."""

WRITTEN = 1_000_000_000
"""The modification time of the files of a change in each copy: Numba compiles a file again if its time differs."""


@dataclass(frozen=True)
class Options:
    """What the user asked for.

    Attributes:
        steps, seconds: after which each run of the program is ended; None for no limit.
        budget_seconds: for everything.
        minimum_effect: a share of a step that is worth a change.
    """

    steps: int | None = None
    seconds: float | None = None
    budget_seconds: float = BUDGET_SECONDS
    minimum_effect: float = MINIMUM_EFFECT


@dataclass(frozen=True)
class Tools:
    """How the program is run and a callback is decided on; tests replace these."""

    run: Callable[[Program, Path, Path, Asked], Run] = run_program
    decide: Callable[[Callback, Step, Path, float, float], Answer] = decide
    write: Callable[[Callback, Path, Answer, Candidate], Answer | str] = write_candidate
    clock: Callable[[], float] = time.monotonic


class Attempt:
    """One attempt: everything that its stages share.

    `recorded_steps` is the number of steps after which later runs are ended; None if the recording was not cut short
    by its time.
    """

    def __init__(self, program: Program, folder: Path, options: Options, listener: Listener, tools: Tools) -> None:
        self.program, self.options, self.listener, self.tools = program, options, listener, tools
        self.folder = real_path(folder)  # the program reports its files so
        self.begun = tools.clock()
        self.recorded_steps: int | None = None

    def left_seconds(self) -> float:
        """How much of the budget is left."""
        return self.options.budget_seconds - (self.tools.clock() - self.begun)

    def begin(self) -> None:
        """Create the folder; raises `BadInput` if it has content."""
        self.has_made_folder = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise BadInput("the folder is not empty", received=self.folder, hint="choose another --out")
        write_atomically(self.folder / ADVICE_FILE, b"{}\n")

    @property
    def steps(self) -> int | None:
        """Steps after which later runs are ended: as many as the recording has; None for no limit."""
        return self.options.steps if self.recorded_steps is None else self.recorded_steps

    def record(self) -> tuple[Usage, Run, Path]:
        """Run the program with its callbacks recorded; return also the copy by whose paths it reports files."""
        place = self.folder / RECORDING_FOLDER
        try:
            run, copy = self._try(place, flights=True)
            if run.code != 0 and not run.ended:  # perhaps it fails because of the ops around its callbacks
                shutil.rmtree(place, ignore_errors=True)
                run, copy = self._try(place, flights=False)
        except BadInput:  # it cannot be started
            for path in self.folder.iterdir():
                path.unlink() if path.is_file() else shutil.rmtree(path)
            if self.has_made_folder:
                self.folder.rmdir()
            raise
        if run.code != 0 or run.ended == "timeout":
            last = [line.strip() for line in run.errors if line.strip()]
            failed = f"failed in a copy of its folder: exit code {run.code}"
            fix = f"it has to run from {self.program.folder} and use only files in {self.program.root}"
            if run.ended == "timeout":
                failed = f"did not end after {formatting.duration(run.seconds)}"
                fix = "use fewer --steps, a larger --budget, or --seconds to end it early"
            raise NothingMeasured(
                f"the program {failed}",
                received=last[-1] if last else " ".join(self.program.command),
                hint=f"its error output is in {place / 'parts' / 'stderr'}; {fix}",
            )
        if run.ended == "seconds" and turns.unit_of(run.elements) == "step":
            self.recorded_steps = int(run.elements)
        return merge(read_parts(place / "parts"), run.seconds), run, copy

    def _try(self, place: Path, *, flights: bool) -> tuple[Run, Path]:
        asked = Asked(True, self.options.steps, self.most_seconds, self.timeout_seconds, keeps=True, flights=flights)
        ends = "to its end" if self.most_seconds is None else f"for at most {formatting.duration(self.most_seconds)}"
        doing = f"recording the program {ends}, after its start"
        return self.run_copy(place / "parts", asked, {}, doing)

    def run_copy(self, parts: Path, asked: Asked, change: Mapping[str, bytes], doing: str) -> tuple[Run, Path]:
        """Run the program in a copy of its folder; return also the copy's path, by which the program reports its files.

        `change` has the files that are changed or added in the copy, by their paths in it; `parts` is the folder for
        what the run writes, and `doing` is shown meanwhile.
        """
        copy = self.folder / COPIES / COPY
        shutil.rmtree(copy, ignore_errors=True)
        self.program.copy_to(copy)
        for path, content in change.items():
            place = copy / path
            place.unlink(missing_ok=True)
            write_atomically(place, content)
            os.utime(place, (WRITTEN, WRITTEN))
        with self.listener.busy(doing, is_long=True):
            run = self.tools.run(self.program, copy, parts, asked)
        shutil.rmtree(copy, ignore_errors=True)
        return run, copy

    @property
    def most_seconds(self) -> float | None:
        """Seconds after which a run is ended; None if a number of steps was requested, however long they take."""
        if self.options.seconds is None and self.options.steps is not None:
            return None
        return self.options.seconds or self.options.budget_seconds / RUNS_SHARE

    @property
    def timeout_seconds(self) -> float:
        """Seconds after which a run that does not end is killed."""
        return 60 + (self.options.budget_seconds if self.most_seconds is None else 3 * self.most_seconds)


@dataclass(eq=False)
class CallbackAdvice:
    """A callback, the largest share of a step that it could save, and its answer, which changes while it is tried."""

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
    options: Options = Options()
    realised: Realised | None = None
    withdrawn: list[Withdrawn] = field(default_factory=list)
    patch: Path | None = None
    constants: dict[str, list[str]] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    lacked_time: bool = False
    ended: str = ""

    @property
    def changed(self) -> list[CallbackAdvice]:
        """The callbacks that the patch changes."""
        return [row for row in self.rows if row.answer.is_change]
