"""From a program to a faster program: the path of `pyopbench advise`, stage by stage; each keeps its result.

A folder that has the results of a stage goes on with the next one, so a command that was interrupted, even by kill -9,
continues where it was. The program runs only in copies of its folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from pyopbench.advise import turns
from pyopbench.advise.answers import OUTPUTS, Answer, decide, decide_again, leave, output_dtypes, variant_text
from pyopbench.advise.callbacks import Callback, Shown, Step, assess, callbacks_of, read_kept
from pyopbench.advise.notebook import Cells, edited, is_notebook, locate
from pyopbench.advise.patch import CannotPlace, Parallel, Placement, patch_text, replaced
from pyopbench.advise.program import STATE, Asked, Program, Run, run_program
from pyopbench.advise.turns import Difference, Realised, Share
from pyopbench.engine.measure import Listener
from pyopbench.find.notebook import SUFFIX
from pyopbench.find.record import read_parts
from pyopbench.find.usage import Usage, merge
from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE, read_key
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.write_file import write_atomically
from pyopbench.store.integrity import require_whole, sealed
from pyopbench.store.open_file import ADVICE_REPORT, RECORDING, SOURCE, read_bytes
from pyopbench.store.strict_json import parse, problem, storable

VERSION = 1
"""Of the files; raised when a key changes its meaning or goes."""

RECORDING_FOLDER, RECORDED, PATCH = "recording", "recorded.json", "change.patch"
WITHDRAWN, SPENT = "withdrawn.patch", "spent.json"
COPY = "program"
"""Every copy has the same name: a program that prints its own path prints the same before and after a change."""

BUDGET_SECONDS = 480.0
RUNS_SHARE = 12
"""A run of the program may take the budget divided by this if nothing else is asked for; a longer one is ended."""

LONGER = 3
"""A run before or after a change may take this many times as long as the recording, for the same steps."""

NAMES = {
    "command": "the command",
    "root": "the folder of the program",
    "files": "the sources of the program",
    "steps": "--steps",
    "seconds": "--seconds",
    "minimum_effect": "--min-effect",
}
"""Of what an advice is for, as the user knows it."""

LEAST_TURNS, MOST_TURNS = 3, 6
LEAST_BUDGET, MOST_BUDGET = 20.0, 60.0
"""Seconds for sampling one callback."""


@dataclass(frozen=True)
class Options:
    """What is asked for.

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
        promised: share of a step that it was predicted to save.
        realised: what it saved where it was the only change; None where that was not timed.
    """

    name: str
    variant: str
    why: str
    promised: Share | None = None
    realised: Realised | None = None


@dataclass
class Advice:
    """What to do about the callbacks of a program.

    Attributes:
        program: which.
        folder: where everything is.
        usage: of the recording.
        step: of the recording.
        rows: one for each callback, the costliest first.
        realised: what all applied changes save together; None if none was applied.
        gains: what each of several applied changes saves, by the names of the callbacks; empty if not measured.
        withdrawn: changes that were tried and are not made, in that order.
        loss_difference: the largest relative difference of losses; nan where there are none.
        patch: the file that `git apply` takes; None without a change.
        tried: names of the callbacks that `realised` is of.
        ended: `steps` or `seconds` where the recording was ended before the program was done.
    """

    program: Program
    folder: Path
    usage: Usage
    step: Step
    rows: list[Row]
    realised: Realised | None = None
    gains: dict[str, Share] = field(default_factory=dict)
    withdrawn: list[Withdrawn] = field(default_factory=list)
    loss_difference: float = math.nan
    patch: Path | None = None
    tried: tuple[str, ...] = ()
    ended: str = ""

    @property
    def promised(self) -> Share | None:
        """The share of a step that all applied changes are predicted to save together."""
        shares = [row.answer.promised for row in self.rows if row.callback.name in self.tried and row.answer.promised]
        if not shares:
            return None
        low, high = sum(one.low for one in shares), min(1.0, sum(one.high for one in shares))
        return Share(min(1.0, sum(one.value for one in shares)), min(low, 1.0), high)


@dataclass(frozen=True)
class Tools:
    """How the program is run and a callback is decided on; tests replace these."""

    run: Callable[[Program, Path, Path, Asked], Run] = run_program
    decide: Callable[[Callback, Step, Path, float, float], Answer] = decide
    decide_again: Callable[[Callback, Path, Answer, float], Answer] = decide_again
    clock: Callable[[], float] = time.monotonic


def advise(program: Program, folder: Path, options: Options, listener: Listener, tools: Tools | None = None) -> Advice:
    """Decide what to do about the callbacks of a program, and try it on a copy.

    Args:
        program: the program.
        folder: for all results; if it has some of the same program, the command continues from them.
        options: what is asked for.
        listener: receives what happens.
        tools: for tests.

    Raises:
        BadInput: the folder has other content, or the program cannot be run.
        NothingMeasured: the program fails.
    """
    made = _Advising(program, folder, options, listener, tools or Tools())
    made.begin()
    recorded = made.record()
    advice = made.name(recorded)
    made.answer(advice)
    made.apply(advice)
    return advice


@dataclass(frozen=True)
class Change:
    """A callback that a stored report did not have, or that had been ported.

    Attributes:
        place: file, line and function.
        most: share of a step that it can save at the most.
        kind: `new`, or `back` for one that was ported.
    """

    place: str
    most: float
    kind: Literal["new", "back"]

    def text(self) -> str:
        """Return the change in words."""
        what = "is new" if self.kind == "new" else "was ported and is a callback again"
        return f"{self.place} {what}: it takes up to {formatting.percent(self.most)} of a step"


class StoredCallback(msgspec.Struct):
    """What a check reads of a callback in a stored report."""

    file: str
    function: str
    kind: str
    action: str
    port: str | None = None

    @property
    def is_replaced(self) -> bool:
        """Was the callback replaced by the call of a port?"""
        return self.action != "leave" and self.port is not None


class StoredReport(msgspec.Struct):
    """What a check reads of a stored report."""

    callbacks: list[StoredCallback]


def check(  # noqa: PLR0913 - as `advise`, with what is compared
    program: Program, folder: Path, options: Options, stored: Path, listener: Listener, tools: Tools | None = None
) -> list[Change]:
    """Record a program, and return the callbacks that a stored report does not have, or that had been ported.

    A callback is recognised by its file, its function and its kind, because lines move. Callbacks that take less of a
    step than the minimum effect are ignored.

    Args:
        program: the program.
        folder: for the recording.
        options: what is asked for.
        stored: the `report.json` to compare with.
        listener: receives what happens.
        tools: for tests.

    Raises:
        BadInput: `stored` is no such report.
        NothingMeasured: the program fails.
    """
    found = msgspec.convert(_read_report(stored), StoredReport)
    known = {(one.file, one.function, one.kind): one for one in found.callbacks}
    ports = {one.port for one in found.callbacks if one.port}  # some call the body, or a compiled one
    made = _Advising(program, folder, options, listener, tools or Tools())
    made.begin()
    changes = []
    for row in made.name(made.record()).rows:
        callback = row.callback
        before = known.get((callback.file, callback.body, callback.kind))
        is_news = before is None or before.is_replaced
        if row.shown.most >= options.minimum_effect and is_news and callback.file not in ports:
            kind: Literal["new", "back"] = "new" if before is None else "back"
            changes.append(Change(callback.title, row.shown.most, kind))
    return changes


class _Advising:
    """The stages, which share a folder and a budget."""

    def __init__(self, program: Program, folder: Path, options: Options, listener: Listener, tools: Tools) -> None:
        self.program, self.options, self.listener, self.tools = program, options, listener, tools
        self.folder = Path(os.path.abspath(folder))  # a program names its files by absolute paths
        self.begun = tools.clock()
        self.recorded_steps: int | None = None
        self.earlier: list[Run] = []
        """Runs before the change that alternated with those of changes that were withdrawn."""
        self.run_seconds = 0.0
        self.spent_before = 0.0
        self.has_made_folder = False

    def left_seconds(self) -> float:
        """How much of the budget is left after this attempt and earlier ones."""
        return self.options.budget_seconds - self.spent_before - (self.tools.clock() - self.begun)

    # Stage 0: the folder.

    def begin(self) -> None:
        """Create the folder, or continue in one of the same program."""
        state = self.folder / STATE
        mine = {"version": VERSION, "command": list(self.program.command), "root": str(self.program.root)}
        mine |= {"steps": self.options.steps, "seconds": self.options.seconds, "files": self._fingerprint()}
        mine["minimum_effect"] = self.options.minimum_effect
        if state.exists() and not (self.folder / RECORDING_FOLDER / RECORDED).exists():
            self._write(state, mine)  # nothing was measured of anything else: the program failed, or was mistyped
        elif state.exists():
            found = _read(state)
            changed = [NAMES.get(key, key) for key, value in mine.items() if found.get(key) != value]
            if changed:
                raise BadInput(
                    "the folder has results of another program or of other settings",
                    received=f"{self.folder}, which differs in {formatting.listing(changed)}",
                    hint="choose another --out, or remove the folder",
                )
            self.listener.say(f"continuing {self.folder}", whole=True)
            if (self.folder / SPENT).exists():
                self.spent_before = float(_read(self.folder / SPENT)["seconds"])
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise BadInput(
                "the folder is not empty, and is not one of `pyopbench advise`",
                received=self.folder,
                hint="choose another --out",
            )
        else:
            self.has_made_folder = not self.folder.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(state, mine)
        shutil.rmtree(self._copies, ignore_errors=True)

    def _fingerprint(self) -> str:
        """Return a hash of the program's sources: results of other sources do not apply to these."""
        digest = hashlib.sha256()
        for path, is_folder in self.program.files():
            if not is_folder and path.suffix in (".py", SUFFIX) and not path.is_symlink():
                digest.update(
                    str(path.relative_to(self.program.root)).encode() + b"\0" + read_bytes(path, SOURCE) + b"\0"
                )
        return digest.hexdigest()

    @property
    def _copies(self) -> Path:
        return self.folder / "copies"

    def _write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write the result of a stage, and how much of the budget is spent."""
        write_atomically(path, sealed(json.dumps(storable(content), indent=1)))
        spent = {"seconds": self.options.budget_seconds - self.left_seconds()}
        write_atomically(self.folder / SPENT, sealed(json.dumps(spent, indent=1)))

    # Stage 1: record.

    def record(self) -> tuple[Usage, Run, Path]:
        """Run the program with its callbacks recorded."""
        place = self.folder / RECORDING_FOLDER
        if not (place / RECORDED).exists():
            shutil.rmtree(place, ignore_errors=True)
            try:
                with self.listener.busy("recording the program"):
                    self._record(place)
            except BadInput:  # it cannot be started
                if self.has_made_folder:
                    shutil.rmtree(self.folder)
                raise
        stored = _read(place / RECORDED)
        run = msgspec.convert(stored["run"], Run, str_keys=True)
        usage = merge(read_parts(place / "parts"), run.seconds)
        return usage, run, Path(stored["copy"])

    def _record(self, place: Path) -> None:
        run, copy = self._try(place, flights=True)
        if run.code != 0 and not run.ended:  # perhaps it fails because of the ops around its callbacks
            shutil.rmtree(place, ignore_errors=True)
            run, copy = self._try(place, flights=False)
        if run.code != 0 or run.ended == "timeout":
            last = [line for line in run.errors if line.strip()]
            wrote = f"what it wrote is in {place / 'parts' / 'stderr'}"
            if run.ended == "timeout":
                raise NothingMeasured(
                    "the program does not end in time",
                    received=f"{' '.join(self.program.command)}, after {formatting.duration(run.seconds)}",
                    hint=f"give fewer --steps or more --budget, or end it by --seconds; {wrote}",
                )
            raise NothingMeasured(
                f"the program failed in a copy of its folder: exit code {run.code}",
                received=last[-1].strip() if last else " ".join(self.program.command),
                hint=f"{wrote}; it has to run from {self.program.folder} and use only files in {self.program.root}",
            )
        self._write(place / RECORDED, {"run": asdict(run), "copy": str(copy)})

    def _try(self, place: Path, *, flights: bool) -> tuple[Run, Path]:
        copy = self._copies / COPY
        shutil.rmtree(copy, ignore_errors=True)
        self.program.copy_to(copy)
        asked = Asked(True, self.options.steps, self._most_seconds, self._timeout, flights=flights)
        run = self.tools.run(self.program, copy, place / "parts", asked)
        shutil.rmtree(copy, ignore_errors=True)
        return run, copy

    @property
    def _most_seconds(self) -> float | None:
        """After how long a run is ended; None where a number of steps was asked for, and they may take their time."""
        if self.options.seconds is None and self.options.steps is not None:
            return None
        return self.options.seconds or self.options.budget_seconds / RUNS_SHARE

    @property
    def _timeout(self) -> float:
        return 60 + (self.options.budget_seconds if self._most_seconds is None else 3 * self._most_seconds)

    # Stage 2: find the callbacks that are worth an answer.

    def name(self, recorded: tuple[Usage, Run, Path]) -> Advice:
        """Return the callbacks, with the most that each can save."""
        usage, run, copy = recorded
        if run.ended == "seconds" and run.elements >= turns.LEAST_ELEMENTS:
            self.recorded_steps = int(run.elements)
        kept = read_kept(self.folder / RECORDING_FOLDER / "parts")
        cells = None
        if self.program.notebook:
            cells = Cells.of(read_bytes(self.program.folder / self.program.notebook, SOURCE))
            locate(cells, self.program.notebook, usage, kept)
        files = {site.file for site in usage.sites} | {one.call.stage.file for one in kept if one.call.stage}
        original = {file: path for file in files if (path := self.program.original(file, copy))}
        steps = run.elements if run.elements >= turns.LEAST_ELEMENTS else 1.0
        waited = usage.input_share.waited if usage.input_share is not None else 0.0
        step = Step(turns.seconds_of(run, run.elements), steps, waited)
        rows = []
        for callback in callbacks_of(usage, kept, original):
            if cells is not None and is_notebook(callback.file):
                callback = replace(callback, cell=cells.place(callback.line))  # noqa: PLW2901
            shown = assess(callback, step, self.options.minimum_effect)
            rows.append(Row(callback, shown, leave(shown)))
        self._say_named(rows, ended=run.ended)
        return Advice(self.program, self.folder, usage, step, rows, ended=run.ended)

    def _say_named(self, rows: Sequence[Row], *, ended: str) -> None:
        if not rows and ended:
            self.listener.warn("the program called no callback before it was ended")
        elif not rows:
            self.listener.say("the program called no callback")
        for row in rows:
            share = f"can save at most {formatting.percent(row.shown.most)} of a step"
            why = f"; left alone: {row.shown.why_not}" if row.shown.why_not else ""
            self.listener.say(f"{row.callback.title} in {row.callback.where}: {share}{why}")

    # Stage 3: an answer for each.

    def answer(self, advice: Advice) -> None:
        """Measure each callback that is worth it, unless an earlier attempt has its answer."""
        waiting = [number for number, row in enumerate(advice.rows) if not row.shown.why_not]
        for done, number in enumerate(waiting):
            row = advice.rows[number]
            place = self.folder / "callbacks" / row.callback.name
            stored = place / "answer.json"
            if stored.exists():
                answer = Answer.from_plain(_read(stored))
            else:
                share = self.left_seconds() * 0.5 / (len(waiting) - done)
                budget = min(MOST_BUDGET, max(LEAST_BUDGET, share))
                self.listener.say(
                    f"{row.callback.title}: measuring for {formatting.duration(budget)}; "
                    f"{formatting.duration(max(self.left_seconds(), 0))} of the budget left"
                )
                answer = self.tools.decide(row.callback, advice.step, place, budget, self.options.minimum_effect)
                self._write(stored, answer.as_plain())
            self.listener.say(f"{row.callback.title}: {answer.text}")
            advice.rows[number] = replace(row, answer=answer)

    # Stage 4: apply the changes to a copy, and run the original and the changed program alternately.

    def apply(self, advice: Advice) -> None:
        """Try the changes in the program, withdraw those that do not work out, and write the patch."""
        result = self.folder / "applied.json"
        changed = [number for number, row in enumerate(advice.rows) if row.answer.is_change]
        if not changed:
            return
        if result.exists():
            self._read_applied(advice, _read(result))
            return
        self._try_changes(advice, self._placeable(advice, changed))
        self._write(result, self._as_stored(advice))

    def _try_changes(self, advice: Advice, numbers: list[int]) -> None:
        before: list[Run] = []
        while numbers:
            change = self._change(advice, numbers)
            before, after = self._take_turns(before, change)
            found = turns.differences([*self.earlier, *before], after)
            if found:  # nothing was timed, so the runs before the change can be used again
                numbers = self._without_differing(advice, numbers, before, found)
                continue
            realised = turns.realised(before, after)
            self._note_tried(advice, numbers, realised, turns.largest_difference(before, after))
            if realised.is_faster:
                self._accept(advice, numbers, before, after)
                return
            write_atomically(self.folder / WITHDRAWN, self._patch(change))
            is_slower = realised.is_slower
            why = "the program is slower with it" if is_slower else "the runs do not show that the program is faster"
            least = min(numbers, key=lambda number: _promise(advice.rows[number].answer))
            why += "" if len(numbers) == 1 else " with all changes, of which this one promises the least"
            self._withdraw(advice, least, why, realised if len(numbers) == 1 else None)
            self.earlier += before
            before = []
            numbers = self._placeable(advice, [one for one in numbers if advice.rows[one].answer.is_change])
            if self.left_seconds() < self._turns_seconds:
                for number in numbers:
                    self._withdraw(advice, number, "no time was left to try it without the others")
                return

    def _note_tried(self, advice: Advice, numbers: Sequence[int], realised: Realised, loss: float) -> None:
        advice.realised, advice.loss_difference = realised, loss
        advice.tried = tuple(advice.rows[number].callback.name for number in numbers)

    def _placeable(self, advice: Advice, numbers: Sequence[int]) -> list[int]:
        """Return those whose changes can be made; the others get their next best answer."""
        left = []
        for number in numbers:
            while advice.rows[number].answer.is_change:
                reason = self._why_not_placed(advice, number)
                if not reason:
                    left.append(number)
                    break
                self._withdraw(advice, number, reason)
        return left

    def _why_not_placed(self, advice: Advice, number: int) -> str:
        try:
            self._change(advice, [number])
        except CannotPlace as error:
            return error.message
        return ""

    def _withdraw(self, advice: Advice, number: int, why: str, realised: Realised | None = None) -> None:
        """Withdraw the change of a callback, and give it the next best answer if there is one and time is left."""
        row = advice.rows[number]
        callback, answer = row.callback, row.answer
        advice.withdrawn.append(Withdrawn(callback.name, answer.variant, why, answer.promised, realised))
        self.listener.warn(f"{callback.title}: {answer.text}: withdrawn: {why}")
        left = Answer("leave", f"{answer.text}: withdrawn: {why}", answer.candidates, seconds=answer.seconds)
        if answer.rest and self.left_seconds() < self._turns_seconds:
            others = formatting.listing([variant_text(one.variant) for one in answer.rest])
            left = replace(left, why=f"{left.why}. No time was left to try {others}")
        elif answer.rest:
            left = self._decided_again(advice, number, left)
        advice.rows[number] = replace(row, answer=left)

    def _decided_again(self, advice: Advice, number: int, left: Answer) -> Answer:
        callback, answer = advice.rows[number].callback, advice.rows[number].answer
        place = self.folder / "callbacks" / callback.name
        stored = place / f"answer-after-{answer.folder}.json"
        if stored.exists():
            again = Answer.from_plain(_read(stored))
        else:
            with self.listener.busy(f"{callback.title}: writing the next best change"):
                again = self.tools.decide_again(callback, place, answer, self.options.minimum_effect)
            self._write(stored, again.as_plain())
        if not again.is_change:
            return replace(left, why=f"{left.why}. {again.why[:1].upper()}{again.why[1:]}")
        self.listener.say(f"{callback.title}: {again.text}")
        return again

    @property
    def _turns_seconds(self) -> float:
        """About how long the fewest runs before and after a change take."""
        return 2 * LEAST_TURNS * self.run_seconds

    def _change(self, advice: Advice, numbers: Sequence[int]) -> dict[str, bytes]:
        """Return the files that some changes change or add, by path from the root."""
        files: dict[str, bytes] = {}
        by_file: dict[str, tuple[list[Placement], list[Parallel]]] = {}
        for number in numbers:
            row = advice.rows[number]
            callback, answer = row.callback, row.answer
            assert callback.kept is not None
            folder = Path(callback.file).parent
            for name in filter(None, (answer.port, answer.test)):
                path = folder / name
                if os.path.lexists(self.program.root / path):
                    raise CannotPlace(f"the file {path.as_posix()} already exists")
                written = self.folder / "callbacks" / callback.name / answer.folder / name
                files[path.as_posix()] = read_bytes(written, SOURCE)
            if answer.port:
                by_file.setdefault(callback.file, ([], []))[0].append(_placement(callback, answer))
            parallel = _parallel(callback, answer)
            if parallel is not None:
                by_file.setdefault(parallel.stage.file, ([], []))[1].append(parallel)
        for file, (placements, maps) in by_file.items():
            content, edit = read_bytes(self.program.root / file, SOURCE), partial(_replaced, placements, maps)
            files[file] = edited(content, edit) if is_notebook(file) else edit(content)
        return files

    def _take_turns(self, before: list[Run], change: Mapping[str, bytes]) -> tuple[list[Run], list[Run]]:
        """Run the original and the changed program alternately, until one is clearly faster or no time is left."""
        after: list[Run] = []
        mark, first = _mark(change), len(self.earlier)
        begun = self.tools.clock()
        while len(after) < MOST_TURNS:
            if len(after) >= LEAST_TURNS:
                each = (self.tools.clock() - begun) / len(after)
                if turns.is_clear(before, after) or each > self.left_seconds():
                    break
            number = len(after)
            # The side that goes first changes, so that neither has a colder machine.
            for side in ("before", "after") if number % 2 == 0 else ("after", "before"):
                if side == "after":
                    after.append(
                        self._turn(f"after-{number + 1}-{mark}", f"after the change, run {number + 1}", change)
                    )
                elif len(before) <= number:
                    place = first + number + 1
                    before.append(self._turn(f"before-{place}", f"before the change, run {place}", {}))
            if turns.differences([*self.earlier, *before], after) and len(before) >= 2:
                break
        return before, after

    def _turn(self, name: str, said: str, change: Mapping[str, bytes]) -> Run:
        stored = self.folder / "turns" / f"{name}.json"
        if stored.exists():
            run = msgspec.convert(_read(stored), Run, str_keys=True)
            self.run_seconds = max(self.run_seconds, run.seconds)
            return run
        begun = self.tools.clock()
        copy, parts = self._copies / COPY, self.folder / "turns" / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(parts, ignore_errors=True)
        with self.listener.busy(f"running the program {said}"):
            self.program.copy_to(copy)
            for path, content in change.items():
                place = copy / path
                place.unlink(missing_ok=True)
                write_atomically(place, content)
            # As many steps as were recorded, and more time, because a port may take long to compile.
            steps = self.options.steps if self.recorded_steps is None else self.recorded_steps
            most = None if self._most_seconds is None else LONGER * self._most_seconds
            asked = Asked(False, steps, most, LONGER * self._timeout)
            run = self.tools.run(self.program, copy, parts, asked)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(parts, ignore_errors=True)
        self._write(stored, asdict(run))
        self.run_seconds = max(self.run_seconds, run.seconds, self.tools.clock() - begun)
        self.listener.say(f"{said}: {formatting.seconds(run.seconds)}, exit code {run.code}")
        return run

    def _without_differing(
        self, advice: Advice, numbers: Sequence[int], before: list[Run], found: Sequence[Difference]
    ) -> list[int]:
        """Withdraw the changes that change what the program computes, and return the others and what follows them."""
        differing = {numbers[0]: found[0]} if len(numbers) == 1 else {}
        for number in numbers if len(numbers) > 1 else ():
            change = self._change(advice, [number])
            alone = self._turn(f"alone-{_mark(change)}", f"callback {number + 1} changed alone", change)
            mine = turns.differences([*self.earlier, *before], [alone])
            differing |= {number: mine[0]} if mine else {}
        for number in numbers:
            if number in differing:
                self._withdraw(advice, number, differing[number].text())
            elif not differing:  # none alone does, all together do
                self._withdraw(advice, number, f"together with the other changes: {found[0].text()}")
        return self._placeable(advice, [one for one in numbers if advice.rows[one].answer.is_change])

    def _accept(self, advice: Advice, numbers: list[int], before: list[Run], after: list[Run]) -> None:
        """Measure what each of several changes saves, drop those that cost time, and write the patch."""
        while len(numbers) > 1 and self._has_time_for_each(numbers):
            complete, without = self._take_turns_without(advice, numbers)
            gains = {number: turns.gained(before, without[number], complete) for number in numbers}
            worst = min(numbers, key=lambda number: gains[number].value)
            advice.gains = {advice.rows[number].callback.name: gain for number, gain in gains.items()}
            if not gains[worst].high < 0:
                break
            advice.gains = {}
            row, why = advice.rows[worst], "the program is faster without this change"
            advice.withdrawn.append(Withdrawn(row.callback.name, row.answer.variant, why, row.answer.promised))
            advice.rows[worst] = replace(row, answer=Answer("leave", why, row.answer.candidates))
            numbers = [number for number in numbers if number != worst]
            after = without[worst]
            self._note_tried(advice, numbers, turns.realised(before, after), turns.largest_difference(before, after))
        advice.patch = self.folder / PATCH
        write_atomically(advice.patch, self._patch(self._change(advice, numbers)))

    def _has_time_for_each(self, numbers: Sequence[int]) -> bool:
        return (len(numbers) + 1) * LEAST_TURNS * self.run_seconds <= self.left_seconds()

    def _take_turns_without(self, advice: Advice, numbers: Sequence[int]) -> tuple[list[Run], dict[int, list[Run]]]:
        """Run the program with all changes and without each of them, alternately."""
        complete: list[Run] = []
        without: dict[int, list[Run]] = {number: [] for number in numbers}
        order: list[int | None] = [None, *numbers]
        for turn in range(LEAST_TURNS):
            for number in order[turn % len(order) :] + order[: turn % len(order)]:
                change = self._change(advice, [one for one in numbers if one != number])
                said = "with all changes" if number is None else f"without the change of callback {number + 1}"
                run = self._turn(f"each-{turn + 1}-{_mark(change)}", f"{said}, run {turn + 1}", change)
                (complete if number is None else without[number]).append(run)
        return complete, without

    def _patch(self, change: Mapping[str, bytes]) -> bytes:
        root = self.program.root
        old = {name: read_bytes(root / name, SOURCE) for name in change if os.path.lexists(root / name)}
        return patch_text(old, change).encode("utf-8", "surrogateescape")

    def _as_stored(self, advice: Advice) -> dict[str, Any]:
        return {
            "version": VERSION,
            "answers": {row.callback.name: row.answer.as_plain() for row in advice.rows},
            "gains": {name: asdict(gain) for name, gain in advice.gains.items()},
            "withdrawn": [asdict(one) for one in advice.withdrawn],
            "realised": None if advice.realised is None else asdict(advice.realised),
            "loss_difference": advice.loss_difference,
            "patch": advice.patch is not None,
            "tried": list(advice.tried),
        }

    def _read_applied(self, advice: Advice, stored: Mapping[str, Any]) -> None:
        answers = {name: Answer.from_plain(one) for name, one in stored["answers"].items()}
        advice.rows = [replace(row, answer=answers.get(row.callback.name, row.answer)) for row in advice.rows]
        advice.gains = msgspec.convert(stored["gains"], dict[str, Share])
        advice.withdrawn = msgspec.convert(stored["withdrawn"], list[Withdrawn])
        if stored["realised"] is not None:
            advice.realised = msgspec.convert(stored["realised"], Realised)
        difference = stored["loss_difference"]
        advice.loss_difference = math.nan if difference is None else float(difference)
        advice.patch = self.folder / PATCH if stored["patch"] else None
        advice.tried = tuple(stored["tried"])


def _read_report(path: Path) -> Any:
    """Return what a report of an advice has in it.

    Raises:
        BadInput: it is none.
    """
    hint = "name report.json in the folder of an advice: pyopbench advise -- python train.py writes one"
    try:
        content = read_bytes(path, ADVICE_REPORT)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput("no such file", received=f"--check {path}", hint=hint) from error
    try:
        found = parse(content, allow_nan=True)
        wrong = problem(found, StoredReport)
    except (ValueError, RecursionError) as error:
        wrong = str(error)
    if wrong is not None:
        raise BadInput("not the report of an advice", received=f"--check {path}: {wrong}", hint=hint)
    require_whole(path, content, hint)
    return found


def _read(path: Path) -> dict[str, Any]:
    """Return the stored result of a stage.

    Raises:
        BadInput: the file was changed or cut off.
    """
    content = read_bytes(path, RECORDING)
    require_whole(path, content, "remove the file to repeat the stage")
    try:
        found: dict[str, Any] = parse(content, allow_nan=True)
    except ValueError as error:
        raise BadInput(
            "not a file of `pyopbench advise`", received=f"{path}: {error}", hint="remove the file to repeat the stage"
        ) from error
    return found


def _placement(callback: Callback, answer: Answer) -> Placement:
    kept = callback.kept
    assert kept is not None
    graph_without_gradient = callback.kind != "py_function" and not callback.in_input
    return Placement(
        line=callback.line,
        kind=callback.kind,
        body=callback.body.rpartition(".")[2],
        module=answer.port.removesuffix(".py"),
        function=answer.function,
        package=kept.call.package,
        are_tensors=tuple(kept.call.are_tensors),
        is_list=kept.call.is_list,
        dtypes=tuple(kept.call.dtypes),
        port_dtypes=tuple(output_dtypes(callback)),
        stops_gradient=graph_without_gradient and answer.variant != "njit",
        takes_list=answer.function == OUTPUTS,
    )


def _parallel(callback: Callback, answer: Answer) -> Parallel | None:
    """Return how a change affects `num_parallel_calls`; None where it stays."""
    key, stage = read_key(answer.variant), callback.stage
    if key is None or stage is None:
        return None
    if key.form == "processes":
        assert callback.kept is not None
        if Path(stage.file).parent != Path(callback.file).parent:
            raise CannotPlace("the call of `Dataset.map` is in another folder than the callback")
        return Parallel(stage, 0, answer.port.removesuffix(".py"), callback.kept.call.package)
    # Ports and other callbacks are measured with AUTOTUNE in a pipeline.
    calls = key.parallel if key.form == "map" else AUTOTUNE
    return None if calls == stage.parallel else Parallel(stage, calls)


def _replaced(placements: Sequence[Placement], maps: Sequence[Parallel], code: bytes) -> bytes:
    return replaced(code, placements, maps)


def _promise(answer: Answer) -> float:
    return answer.promised.value if answer.promised is not None else 0.0


def _mark(change: Mapping[str, bytes]) -> str:
    """Return what names a change among those that are tried."""
    digest = hashlib.sha256()
    for path, content in sorted(change.items()):
        digest.update(path.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:12]
