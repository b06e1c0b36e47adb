"""An attempt at the advice for a program: its folder, what is left of the budget, and the runs of the program.

In a folder that has the recording of a program, the command continues with that. The program runs only in copies of its
folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from pyopbench.advise import turns
from pyopbench.advise.answers import Answer, decide, decide_again
from pyopbench.advise.callbacks import Callback, Step
from pyopbench.advise.program import STATE, Asked, Program, Run, run_program
from pyopbench.api.listeners import Listener
from pyopbench.find.record import read_parts
from pyopbench.find.usage import Usage, merge
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.write_file import write_atomically
from pyopbench.store.json_file import corrupt, storable

VERSION = 2
"""Version of the files; raised when a key changes its meaning or is removed."""

RECORDING_FOLDER, RECORDED = "recording", "recorded.json"
CALLBACKS, TURNS = "callbacks", "turns"
COPY = "program"
"""Every copy has the same name: a program that prints its own path prints the same before and after a change."""

BUDGET_SECONDS = 480.0
RUNS_SHARE = 12
"""A run of the program may take the budget divided by this if nothing else is asked for; a longer one is ended."""

MOST_RECORDINGS = 3
"""Recordings of a program at most; several, because run times vary."""
RECORDINGS_SHARE = 8
"""All recordings together may take the budget divided by this; the first one may take longer."""

WRITTEN = 1_000_000_000
"""The modification time of the files of a change in each copy: Numba compiles a file again if its time differs."""

NAMES = {
    "command": "the command",
    "root": "the folder of the program",
    "files": "the sources of the program",
    "steps": "--steps",
    "seconds": "--seconds",
    "minimum_effect": "--min-effect",
}
"""The keys of the stored state, as the user knows them."""


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
    decide_again: Callable[[Callback, Path, Answer, float], Answer] = decide_again
    clock: Callable[[], float] = time.monotonic


class Attempt:
    """One attempt: everything that its stages share.

    Attributes:
        program, options, listener, tools: as for `advise`.
        folder: of all results.
        recorded_steps: after how many steps later runs are ended; None if the recording was not ended by its time.
    """

    def __init__(self, program: Program, folder: Path, options: Options, listener: Listener, tools: Tools) -> None:
        self.program, self.options, self.listener, self.tools = program, options, listener, tools
        self.folder = Path(os.path.abspath(folder))  # the program reports its files with absolute paths
        self.begun = tools.clock()
        self.recorded_steps: int | None = None
        self.has_made_folder = False

    def left_seconds(self) -> float:
        """How much of the budget is left."""
        return self.options.budget_seconds - (self.tools.clock() - self.begun)

    def begin(self) -> None:
        """Create the folder, or continue in a folder with a recording of the same program."""
        state = self.folder / STATE
        mine = {"version": VERSION, "command": list(self.program.command), "root": str(self.program.root)}
        mine |= {"steps": self.options.steps, "seconds": self.options.seconds, "files": self._fingerprint()}
        mine["minimum_effect"] = self.options.minimum_effect
        if state.exists() and not (self.folder / RECORDING_FOLDER / RECORDED).exists():
            self.write(state, mine)  # nothing was measured for the earlier command: its program failed, or was mistyped
        elif state.exists():
            found = read_stored(state)
            changed = [NAMES.get(key, key) for key, value in mine.items() if found.get(key) != value]
            if changed:
                raise BadInput(
                    "the folder has results of another program or with other settings",
                    received=f"{self.folder}, with another value for {formatting.listing(changed)}",
                    hint="choose another --out, or remove the folder",
                )
            self.listener.say(f"continuing with the recording in {self.folder}", whole=True)
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise BadInput(
                "the folder is not empty, and is not one of `pyopbench advise`",
                received=self.folder,
                hint="choose another --out",
            )
        else:
            self.has_made_folder = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            self.write(state, mine)
        for one in (self.copies, self.folder / CALLBACKS, self.folder / TURNS):
            shutil.rmtree(one, ignore_errors=True)

    def _fingerprint(self) -> str:
        """Return a hash of the program's sources: results of other sources do not apply to these."""
        digest = hashlib.sha256()
        for path, is_folder in self.program.files():
            if not is_folder and path.suffix == ".py" and not path.is_symlink():
                digest.update(str(path.relative_to(self.program.root)).encode() + b"\0" + path.read_bytes() + b"\0")
        return digest.hexdigest()

    @property
    def steps(self) -> int | None:
        """Steps after which later runs are ended: as many as the first recording has; None for no limit."""
        return self.options.steps if self.recorded_steps is None else self.recorded_steps

    @property
    def copies(self) -> Path:
        """The folder of the copies; nothing stays in it."""
        return self.folder / "copies"

    @property
    def compiled(self) -> Path:
        """The folder of the code that Numba compiled for ports; each run of a changed program gets a copy."""
        return self.folder / "compiled"

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write a file that a later attempt reads."""
        write_atomically(path, json.dumps(storable(content), indent=1).encode())

    def record(self) -> tuple[Usage, Run, Path]:
        """Run the program with its callbacks recorded."""
        place = self.folder / RECORDING_FOLDER
        if not (place / RECORDED).exists():
            shutil.rmtree(place, ignore_errors=True)
            try:
                with self.listener.busy("recording the program"):
                    self._record(place)
            except BadInput:  # it cannot be started, or has no TensorFlow
                if self.has_made_folder:
                    shutil.rmtree(self.folder)
                raise
        stored = read_stored(place / RECORDED)
        run = msgspec.convert(stored["run"], Run, str_keys=True)
        if run.ended == "seconds" and turns.unit_of(run.elements) == "step":
            self.recorded_steps = int(run.elements)
        usage = merge(read_parts(place / "parts"), run.seconds)
        return usage, run, Path(stored["copy"])

    def record_again(self, first: Run) -> Iterator[tuple[Usage, Run]]:
        """Record the program again while the recordings fit into their share of the budget, and yield each of them.

        Inputs are not kept: the first recording has them.

        Args:
            first: the run that was recorded first.
        """
        spent = first.seconds
        for number in range(2, MOST_RECORDINGS + 1):
            place = self.folder / f"{RECORDING_FOLDER}-{number}"
            if not (place / RECORDED).exists():
                if spent + first.seconds > self.options.budget_seconds / RECORDINGS_SHARE:
                    return
                shutil.rmtree(place, ignore_errors=True)
                with self.listener.busy(f"recording the program, run {number}"):
                    run = self._recorded_again(place)
                self.write(place / RECORDED, {"run": asdict(run)})
            run = msgspec.convert(read_stored(place / RECORDED)["run"], Run, str_keys=True)
            if run.code != first.code or run.ended == "timeout":
                self.listener.warn(f"recording {number} failed or timed out, and is not used")
                return
            spent += run.seconds
            yield merge(read_parts(place / "parts"), run.seconds), run

    def _recorded_again(self, place: Path) -> Run:
        first = read_stored(self.folder / RECORDING_FOLDER / RECORDED)
        asked = Asked(True, self.steps, self.most_seconds, self.timeout_seconds, flights=first["flights"])
        return self.run_copy(place / "parts", asked, {})[0]

    def _record(self, place: Path) -> None:
        run, copy = self._try(place, flights=True)
        flights = True
        if run.code != 0 and not run.ended:  # perhaps it fails because of the ops around its callbacks
            shutil.rmtree(place, ignore_errors=True)
            run, copy = self._try(place, flights=False)
            flights = False
        if run.code != 0 and not run.ended:
            self.program.require_tensorflow()
        if run.code != 0 or run.ended == "timeout":
            last = [line for line in run.errors if line.strip()]
            wrote = f"its error output is in {place / 'parts' / 'stderr'}"
            if run.ended == "timeout":
                raise NothingMeasured(
                    "the program did not end in time",
                    received=f"{' '.join(self.program.command)}, after {formatting.duration(run.seconds)}",
                    hint=f"use fewer --steps, a larger --budget, or --seconds to end it early; {wrote}",
                )
            raise NothingMeasured(
                f"the program failed in a copy of its folder: exit code {run.code}",
                received=last[-1].strip() if last else " ".join(self.program.command),
                hint=f"{wrote}; it has to run from {self.program.folder} and use only files in {self.program.root}",
            )
        self.write(place / RECORDED, {"run": asdict(run), "copy": str(copy), "flights": flights})

    def _try(self, place: Path, *, flights: bool) -> tuple[Run, Path]:
        asked = Asked(True, self.options.steps, self.most_seconds, self.timeout_seconds, keeps=True, flights=flights)
        return self.run_copy(place / "parts", asked, {})

    def run_copy(self, parts: Path, asked: Asked, change: Mapping[str, bytes]) -> tuple[Run, Path]:
        """Run the program in a copy of its folder.

        Args:
            parts: folder for what the run writes.
            asked: how it is run.
            change: files that are changed or added in the copy, by their paths in it.

        Returns:
            The run, and the path of the copy: the program reports its files with it.
        """
        copy = self.copies / COPY
        shutil.rmtree(copy, ignore_errors=True)
        self.program.copy_to(copy)
        for path, content in change.items():
            place = copy / path
            place.unlink(missing_ok=True)
            write_atomically(place, content)
            os.utime(place, (WRITTEN, WRITTEN))
        _copy_compiled(self.compiled, copy, change)
        run = self.tools.run(self.program, copy, parts, asked)
        _copy_compiled(copy, self.compiled, change)
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


def _copy_compiled(source: Path, target: Path, change: Iterable[str]) -> None:
    """Copy the code that Numba compiled for the files of a change, which it caches next to them."""
    for path in map(Path, change):
        place = path.parent / "__pycache__"
        for one in sorted((source / place).glob(f"{path.stem}.*.nb[ic]")):
            (target / place).mkdir(parents=True, exist_ok=True)
            shutil.copy2(one, target / place / one.name)


def read_stored(path: Path) -> dict[str, Any]:
    """Return what an earlier attempt stored.

    Raises:
        BadInput: it is not JSON.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except ValueError as error:
        raise corrupt(str(path), f"{error}; remove the file to record the program again") from error
    return found
