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
from pathlib import Path
from typing import Any, Literal

import msgspec

from pyopbench.advise import turns
from pyopbench.advise.answers import Answer, Share, decide, leave, output_dtypes
from pyopbench.advise.callbacks import Callback, Shown, Step, assess, callbacks_of, read_kept
from pyopbench.advise.patch import CannotPlace, Placement, patch_text, replaced
from pyopbench.advise.program import STATE, Asked, Program, Run, run_program
from pyopbench.advise.turns import Difference, Realised
from pyopbench.engine.measure import Listener
from pyopbench.find.record import read_parts
from pyopbench.find.usage import Usage, merge
from pyopbench.model import formatting
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


@dataclass
class Advice:
    """What to do about the callbacks of a program.

    Attributes:
        program: which.
        folder: where everything is.
        usage: of the recording.
        step: of the recording.
        rows: one for each callback, the costliest first.
        realised: what all applied ports save together; None if none was applied.
        withdrawn: names of the callbacks whose ports were withdrawn, and why.
        loss_difference: the largest relative difference of losses; nan where there are none.
        patch: the file that `git apply` takes; None without a change.
        tried: names of the callbacks whose ports `realised` is of.
        ended: `steps` or `seconds` where the recording was ended before the program was done.
    """

    program: Program
    folder: Path
    usage: Usage
    step: Step
    rows: list[Row]
    realised: Realised | None = None
    withdrawn: dict[str, str] = field(default_factory=dict)
    loss_difference: float = math.nan
    patch: Path | None = None
    tried: tuple[str, ...] = ()
    ended: str = ""

    @property
    def promised(self) -> Share | None:
        """The share of a step that all applied ports are predicted to save together."""
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
    found = _read_report(stored)
    known = {(one.file, one.function, one.kind): one for one in msgspec.convert(found, StoredReport).callbacks}
    made = _Advising(program, folder, options, listener, tools or Tools())
    made.begin()
    changes = []
    for row in made.name(made.record()).rows:
        callback = row.callback
        before = known.get((callback.file, callback.body, callback.kind))
        if row.shown.most >= options.minimum_effect and (before is None or before.action == "port"):
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
            if not is_folder and path.suffix == ".py" and not path.is_symlink():
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
        files = {site.file for site in usage.sites}
        original = {file: path for file in files if (path := self.program.original(file, copy))}
        kept = read_kept(self.folder / RECORDING_FOLDER / "parts")
        steps = run.elements if run.elements >= turns.LEAST_ELEMENTS else 1.0
        waited = usage.input_share.waited if usage.input_share is not None else 0.0
        step = Step(turns.seconds_of(run, run.elements), steps, waited)
        rows = []
        for callback in callbacks_of(usage, kept, original):
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

    # Stage 4: apply the ports to a copy, and run the original and the changed program alternately.

    def apply(self, advice: Advice) -> None:
        """Try the ports in the program, withdraw those that change it or do not make it faster, and write the patch."""
        result = self.folder / "applied.json"
        ports = [number for number, row in enumerate(advice.rows) if row.answer.action == "port"]
        if not ports:
            return
        if result.exists():
            self._read_applied(advice, _read(result))
            return
        ports = self._placeable(advice, ports)
        before: list[Run] = []
        while ports:
            change = self._change(advice, ports)
            before, after = self._take_turns(before, change, ports)
            found = turns.differences(before, after)
            if found:
                ports = self._without_differing(advice, ports, before, found)
                continue
            self._judge(advice, ports, before, after, change)
            break
        self._write(result, self._as_stored(advice))

    def _placeable(self, advice: Advice, ports: Sequence[int]) -> list[int]:
        why = {number: self._why_not_placed(advice, number) for number in ports}
        for number, reason in why.items():
            if reason:
                self._withdraw(advice, number, reason)
        return [number for number, reason in why.items() if not reason]

    def _why_not_placed(self, advice: Advice, number: int) -> str:
        try:
            self._change(advice, [number])
        except CannotPlace as error:
            return error.message
        return ""

    def _withdraw(self, advice: Advice, number: int, why: str) -> None:
        row = advice.rows[number]
        advice.withdrawn[row.callback.name] = why
        advice.rows[number] = replace(row, answer=replace(row.answer, action="leave", why=f"port withdrawn: {why}"))
        self.listener.warn(f"{row.callback.title}: port withdrawn: {why}")

    def _change(self, advice: Advice, ports: Sequence[int]) -> dict[str, bytes]:
        """Return the files that ports change or add, by path from the root."""
        files: dict[str, bytes] = {}
        by_file: dict[str, list[Placement]] = {}
        for number in ports:
            row = advice.rows[number]
            callback, answer = row.callback, row.answer
            assert callback.kept is not None
            folder = Path(callback.file).parent
            port, test = folder / answer.port, folder / answer.test
            for path, name in ((port, answer.port), (test, answer.test)):
                if os.path.lexists(self.program.root / path):
                    raise CannotPlace(f"the file {path.as_posix()} already exists")
                files[path.as_posix()] = read_bytes(self._port_folder(callback) / name, SOURCE)
            by_file.setdefault(callback.file, []).append(_placement(callback, answer))
        for file, placements in by_file.items():
            files[file] = replaced(read_bytes(self.program.root / file, SOURCE), placements)
        return files

    def _port_folder(self, callback: Callback) -> Path:
        return self.folder / "callbacks" / callback.name / "port"

    def _take_turns(
        self, before: list[Run], change: Mapping[str, bytes], ports: Sequence[int]
    ) -> tuple[list[Run], list[Run]]:
        """Run the original and the changed program alternately, until one is clearly faster or no time is left."""
        after: list[Run] = []
        begun = self.tools.clock()
        while len(after) < MOST_TURNS:
            if len(after) >= LEAST_TURNS:
                each = (self.tools.clock() - begun) / len(after)
                if turns.is_clear(before, after) or each > self.left_seconds():
                    break
            number = len(after)
            # The side that goes first changes, so that neither has a colder machine.
            sides = ("before", "after") if number % 2 == 0 else ("after", "before")
            for side in sides:
                if side == "before" and len(before) > number:
                    continue
                mark = "-".join(map(str, ports)) if side == "after" else ""
                name = f"{side}-{number + 1}{mark and f'-{mark}'}"
                run = self._turn(name, change if side == "after" else {})
                (before if side == "before" else after).append(run)
            if after and before and turns.differences(before, after) and len(before) >= 2:
                break
        return before, after

    def _turn(self, name: str, change: Mapping[str, bytes]) -> Run:
        stored = self.folder / "turns" / f"{name}.json"
        if stored.exists():
            return msgspec.convert(_read(stored), Run, str_keys=True)
        copy, parts = self._copies / COPY, self.folder / "turns" / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(parts, ignore_errors=True)
        side, number, *_ = name.split("-")
        said = f"callback {int(number) + 1} ported alone" if side == "alone" else f"{side} the change, run {number}"
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
        self.listener.say(f"{said}: {formatting.seconds(run.seconds)}, exit code {run.code}")
        return run

    def _without_differing(
        self, advice: Advice, ports: Sequence[int], before: list[Run], found: Sequence[Difference]
    ) -> list[int]:
        """Withdraw the ports that change what the program computes, and return the others."""
        if len(ports) == 1:
            self._withdraw(advice, ports[0], found[0].text())
            return []
        left = []
        for number in ports:
            alone = self._turn(f"alone-{number}", self._change(advice, [number]))
            differing = turns.differences(before, [alone])
            if differing:
                self._withdraw(advice, number, differing[0].text())
            else:
                left.append(number)
        if len(left) == len(ports):  # none alone does, all together do
            for number in ports:
                self._withdraw(advice, number, f"together with the other ports: {found[0].text()}")
            return []
        return left

    def _judge(
        self, advice: Advice, ports: Sequence[int], before: list[Run], after: list[Run], change: Mapping[str, bytes]
    ) -> None:
        advice.realised = turns.realised(before, after)
        advice.loss_difference = turns.largest_difference(before, after)
        advice.tried = tuple(advice.rows[number].callback.name for number in ports)
        root = self.program.root
        old = {name: read_bytes(root / name, SOURCE) for name in change if os.path.lexists(root / name)}
        patch = patch_text(old, change).encode("utf-8", "surrogateescape")
        if advice.realised.is_faster:
            advice.patch = self.folder / PATCH
            write_atomically(advice.patch, patch)
            return
        why = (
            "the program is slower with it"
            if advice.realised.is_slower
            else "the runs do not show that the program is faster with it"
        )
        write_atomically(self.folder / WITHDRAWN, patch)
        for number in ports:
            self._withdraw(advice, number, why)

    def _as_stored(self, advice: Advice) -> dict[str, Any]:
        return {
            "version": VERSION,
            "answers": {row.callback.name: row.answer.as_plain() for row in advice.rows},
            "withdrawn": advice.withdrawn,
            "realised": None if advice.realised is None else asdict(advice.realised),
            "loss_difference": advice.loss_difference,
            "patch": advice.patch is not None,
            "tried": list(advice.tried),
        }

    def _read_applied(self, advice: Advice, stored: Mapping[str, Any]) -> None:
        answers = {name: Answer.from_plain(one) for name, one in stored["answers"].items()}
        advice.rows = [replace(row, answer=answers.get(row.callback.name, row.answer)) for row in advice.rows]
        advice.withdrawn = dict(stored["withdrawn"])
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
    )
