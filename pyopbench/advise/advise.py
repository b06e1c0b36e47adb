"""The two paths of `pyopbench advise`: from a program to a faster one, and `--check` against a stored report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from pyopbench.advise import turns
from pyopbench.advise.advice import Advice, Row
from pyopbench.advise.answers import leave
from pyopbench.advise.attempt import CALLBACKS, RECORDING_FOLDER, Attempt, Options, Tools
from pyopbench.advise.callbacks import Callback, KeptSite, Step, assess, callbacks_of, read_kept
from pyopbench.advise.program import Program, Run
from pyopbench.advise.trial import Trial
from pyopbench.api.listeners import Listener
from pyopbench.find.usage import Usage
from pyopbench.model import formatting
from pyopbench.store import json_file

LEAST_BUDGET, MOST_BUDGET = 20.0, 60.0
"""Seconds for sampling one callback."""


def advise(program: Program, folder: Path, options: Options, listener: Listener, tools: Tools | None = None) -> Advice:
    """Decide what to do about the callbacks of a program, and try it on a copy.

    Args:
        program: the program.
        folder: for all results; if it has a recording of the same program, that is used.
        options: what is asked for.
        listener: receives what happens.
        tools: for tests.

    Raises:
        BadInput: the folder has other content, or the program cannot be run.
        NothingMeasured: the program fails.
    """
    attempt = Attempt(program, folder, options, listener, tools or Tools())
    attempt.begin()
    recorded = attempt.record()
    advice = _name(attempt, recorded)
    if any(not row.shown.why_not for row in advice.rows):
        _record_again(attempt, advice, recorded)
    _say_named(attempt.listener, advice.rows, ended=advice.ended)
    _answer(attempt, advice)
    Trial(attempt, advice).apply()
    return advice


@dataclass(frozen=True)
class Change:
    """A callback that is missing from a stored report, or that had been ported.

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
    """What a check reads about a callback in a stored report."""

    file: str
    function: str
    kind: str
    action: str
    port: str | None = None

    @property
    def is_replaced(self) -> bool:
        """Was the callback replaced by a call of a port?"""
        return self.action != "leave" and self.port is not None


class StoredReport(msgspec.Struct):
    """What a check reads of a stored report."""

    callbacks: list[StoredCallback]


def check(  # noqa: PLR0913 - as `advise`, with what is compared
    program: Program, folder: Path, options: Options, stored: Path, listener: Listener, tools: Tools | None = None
) -> list[Change]:
    """Record a program, and return the callbacks that are missing from a stored report, or that had been ported.

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
    found = json_file.read(stored, StoredReport)
    known = {(one.file, one.function, one.kind): one for one in found.callbacks}
    ports = {one.port for one in found.callbacks if one.port}  # some call the body, or a compiled one
    attempt = Attempt(program, folder, options, listener, tools or Tools())
    attempt.begin()
    advice = _name(attempt, attempt.record())
    _say_named(listener, advice.rows, ended=advice.ended)
    changes = []
    for row in advice.rows:
        callback = row.callback
        before = known.get((callback.file, callback.body, callback.kind))
        is_news = before is None or before.is_replaced
        if row.shown.most >= options.minimum_effect and is_news and callback.file not in ports:
            kind: Literal["new", "back"] = "new" if before is None else "back"
            changes.append(Change(callback.title, row.shown.most, kind))
    return changes


def _name(attempt: Attempt, recorded: tuple[Usage, Run, Path]) -> Advice:
    """Return the callbacks, with the most that each can save."""
    usage, run, copy = recorded
    kept = read_kept(attempt.folder / RECORDING_FOLDER / "parts")
    step, rows = _step(usage, run), []
    for callback in _callbacks(attempt, usage, kept, copy):
        callback = replace(callback, was_ended=bool(run.ended))  # noqa: PLW2901
        shown = assess(callback, step, attempt.options.minimum_effect)
        rows.append(Row(callback, shown, leave(shown)))
    return Advice(attempt.program, attempt.folder, step, rows, ended=run.ended)


def _record_again(attempt: Attempt, advice: Advice, recorded: tuple[Usage, Run, Path]) -> None:
    """Add to each callback what further recordings show: a single run may be unusually fast or slow."""
    _, first, copy = recorded
    parts = attempt.folder / RECORDING_FOLDER / "parts"
    for usage, run in attempt.record_again(first):
        step = _step(usage, run)
        found = {_key(one): one for one in _callbacks(attempt, usage, read_kept(parts), copy)}
        for number, row in enumerate(advice.rows):
            absent = replace(row.callback, calls=0, gradient_calls=0, seconds=0.0, flight_seconds=0.0)
            callback = row.callback.add_recording(found.get(_key(row.callback), absent), step)
            shown = assess(callback, advice.step, attempt.options.minimum_effect)
            advice.rows[number] = Row(callback, shown, leave(shown))
    advice.rows.sort(key=lambda row: -row.shown.most)


def _key(callback: Callback) -> tuple[str, int, str, str]:
    return callback.file, callback.line, callback.kind, callback.mode


def _callbacks(attempt: Attempt, usage: Usage, kept: list[KeptSite], copy: Path) -> list[Callback]:
    files = {site.file for site in usage.sites} | {one.call.stage.file for one in kept if one.call.stage}
    files |= {place[0] for one in kept for place in one.source.places if place}
    original = {file: path for file in files if (path := attempt.program.original(file, copy))}
    return callbacks_of(usage, kept, original)


def _step(usage: Usage, run: Run) -> Step:
    unit = turns.unit_of(run.elements)
    waited = usage.input_share.waited if usage.input_share is not None else 0.0
    return Step(turns.seconds_of(run, run.elements), run.elements if unit == "step" else 1.0, waited, unit)


def _say_named(listener: Listener, rows: Sequence[Row], *, ended: str) -> None:
    if not rows and ended:
        listener.warn("the program called no callback before it was ended")
    elif not rows:
        listener.say("the program called no callback")
    for row in rows:
        share = f"can save at most {formatting.percent(row.shown.most)} of the time"
        why = f"; left alone: {row.shown.why_not}" if row.shown.why_not else ""
        listener.say(f"{row.callback.title} in {row.callback.where}: {share}{why}")


def _answer(attempt: Attempt, advice: Advice) -> None:
    """Measure each callback that is worth it."""
    waiting = [number for number, row in enumerate(advice.rows) if not row.shown.why_not]
    for done, number in enumerate(waiting):
        row = advice.rows[number]
        place = attempt.folder / CALLBACKS / row.callback.name
        share = attempt.left_seconds() * 0.5 / (len(waiting) - done)
        budget = min(MOST_BUDGET, max(LEAST_BUDGET, share))
        attempt.listener.say(
            f"{row.callback.title}: measuring for at most {formatting.duration(budget)}; "
            f"{formatting.duration(max(attempt.left_seconds(), 0))} of the budget left"
        )
        answer = attempt.tools.decide(row.callback, advice.step, place, budget, attempt.options.minimum_effect)
        attempt.listener.say(f"{row.callback.title}: {answer.text}")
        advice.rows[number] = replace(row, answer=answer)
