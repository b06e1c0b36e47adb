"""The two paths of `pyopbench advise`: from a program to a faster one, and `--check` against a stored report."""

from __future__ import annotations

import os
import shlex
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from pyopbench.advise import turns
from pyopbench.advise.answers import GRAPH_BODY, answer_by_recording, variant_text
from pyopbench.advise.attempt import (
    CALLBACKS,
    COPIES,
    MEASURED,
    RECORDING_FOLDER,
    TURNS,
    Advice,
    Attempt,
    CallbackAdvice,
    Options,
    Tools,
)
from pyopbench.advise.callbacks import Step, callbacks_of, read_kept
from pyopbench.advise.program import Program, Run
from pyopbench.advise.trial import LEAST_TURNS, try_changes
from pyopbench.api.listeners import Listener
from pyopbench.find.usage import Usage
from pyopbench.model import formatting
from pyopbench.model.errors import NothingMeasured
from pyopbench.store import json_file

LEAST_BUDGET, MOST_BUDGET = 5.0, 30.0
"""Seconds for sampling one callback; the program itself decides between changes that may save time."""

PREPARING_SECONDS = 30.0
"""About how long it takes to start TensorFlow, write and check ports before a callback is sampled."""


def advise(program: Program, folder: Path, options: Options, listener: Listener, tools: Tools | None = None) -> Advice:
    """Decide what to do about the callbacks of a program, and try it on a copy; `folder` is for all results.

    Raises:
        BadInput: the folder has other content, or the program cannot be run.
        NothingMeasured: the program fails.
    """
    with _begun(Attempt(program, folder, options, listener, tools or Tools())) as attempt:
        advice, recording = _record(attempt)
        with _in_a_copy(attempt):
            _measure_callbacks(attempt, advice, recording)
            try_changes(attempt, advice, recording)
    return advice


@contextmanager
def _begun(attempt: Attempt) -> Iterator[Attempt]:
    """Create the folder of an attempt, and remove the copies of the program from it, however the attempt ends."""
    attempt.begin()
    try:
        yield attempt
    finally:
        for name in (COPIES, TURNS):
            shutil.rmtree(attempt.folder / name, ignore_errors=True)


@contextmanager
def _in_a_copy(attempt: Attempt) -> Iterator[None]:
    """Work in a copy of the program's folder: a body that is measured may write files by relative paths."""
    program, here, copy = attempt.program, Path.cwd(), attempt.folder / COPIES / MEASURED
    try:
        program.copy_to(copy)
        os.chdir(copy / program.folder.relative_to(program.root))
        yield
    finally:
        os.chdir(here)


class StoredCallback(msgspec.Struct):
    """What a check reads about a callback in a stored report."""

    file: str
    function: str
    kind: str
    action: str
    port: str | None = None


class StoredReport(msgspec.Struct):
    """What a check reads of a stored report."""

    callbacks: list[StoredCallback]


def check(  # noqa: PLR0913 - as `advise`, with what is compared
    program: Program, folder: Path, options: Options, stored: Path, listener: Listener, tools: Tools | None = None
) -> list[str]:
    """Record a program, and name the callbacks that are missing from a stored report, or that had been ported.

    A callback is recognised by its file, its function and its kind, because lines move. Callbacks that take less of a
    step than the minimum effect are ignored. `stored` is the `report.json` to compare with.

    Raises:
        BadInput: `stored` is no such report.
        NothingMeasured: the program fails.
    """
    report = json_file.read(stored, StoredReport)
    known = defaultdict[tuple[str, str, str], list[StoredCallback]](list)
    for one in sorted(report.callbacks, key=lambda one: one.action != "leave"):  # those that are still there come first
        known[one.file, one.function, one.kind].append(one)
    ports = {one.port for one in report.callbacks if one.port}  # some call the body, or a compiled one
    with _begun(Attempt(program, folder, options, listener, tools or Tools())) as attempt:
        advice, _ = _record(attempt)
    found = []
    for row in advice.rows:
        callback = row.callback
        alike = known[callback.file, callback.body, callback.kind]
        before = alike.pop(0) if alike else None
        is_news = before is None or (before.action != "leave" and before.port is not None)
        if row.most >= options.minimum_effect and is_news and callback.file not in ports:
            what = "is new" if before is None else "was ported and is a callback again"
            found.append(f"{callback.title} {what}: it takes up to {formatting.percent(row.most)} of a step")
    return found


def _record(attempt: Attempt) -> tuple[Advice, Run]:
    """Record a program, and say which callbacks it has, with the most that each can save."""
    program, options, listener = attempt.program, attempt.options, attempt.listener
    usage, run, copy = attempt.record()
    if not run.samples:
        raise NothingMeasured(
            "no process of the program was observed",
            received=shlex.join(program.command),
            hint="it has to import TensorFlow, in a Python that reads PYTHONPATH (no -E, -I or -S)",
        )
    for trouble in usage.troubles:
        listener.warn(f"not everything could be recorded: {trouble}")
    kept = read_kept(attempt.folder / RECORDING_FOLDER / "parts")
    files = {site.file for site in usage.sites} | {one.call.stage.file for one in kept if one.call.stage}
    files |= {place[0] for one in kept for place in (*one.source.places, one.source.place) if place}
    original = {file: path for file in files if (path := program.original(file, copy))}
    step, rows = _step(usage, run), []
    for callback in callbacks_of(usage, kept, original):
        callback = replace(callback, was_ended=bool(run.ended))  # noqa: PLW2901
        most = callback.most_saved(step)
        rows.append(CallbackAdvice(callback, most, answer_by_recording(callback, most, options.minimum_effect)))
    advice = Advice(program, attempt.folder, step, rows, _coverage(step, run), options, ended=run.ended)
    _say_recorded(listener, advice)
    return advice, run


def _step(usage: Usage, run: Run) -> Step:
    unit = turns.unit_of(run.elements)
    waited = usage.input_share.waited if usage.input_share is not None else 0.0
    return Step(turns.seconds_of(run, run.elements), run.elements if unit == "step" else 1.0, waited, unit)


def _coverage(step: Step, run: Run) -> str:
    """Return what a recording covers, in words."""
    steps = formatting.count(int(step.steps), "step") if step.unit == "step" else "the whole run"
    ended = {"steps": ", ended by --steps", "seconds": ", ended by its time: later callbacks are not known"}
    return f"recorded {steps} in {formatting.duration(run.seconds)}{ended.get(run.ended, '')}"


def _say_recorded(listener: Listener, advice: Advice) -> None:
    listener.say(f"{advice.recorded}; {formatting.count(len(advice.rows), 'callback')}")
    for row in advice.rows:
        share = f"can save at most {formatting.percent(row.most)} of the time"
        why = f"; left alone: {row.answer.why}" if row.answer.obstacle else ""
        listener.say(f"{row.callback.title} in {row.callback.where}: {share}{why}")


def _measure_callbacks(attempt: Attempt, advice: Advice, recording: Run) -> None:
    """Measure each callback that is worth it, and leave time to try changes in the program."""
    waiting = [row for row in advice.rows if not row.answer.obstacle]
    for done, row in enumerate(waiting):
        place = attempt.folder / CALLBACKS / row.callback.name
        left, runs = attempt.left_seconds(), (2 * LEAST_TURNS + 1) * recording.seconds
        # Where the runs would leave no time to measure, what a change saves alone is worth more than nothing.
        if left - runs >= (len(waiting) - done) * (PREPARING_SECONDS + LEAST_BUDGET):
            left -= runs
        budget = min(MOST_BUDGET, left / (len(waiting) - done) - PREPARING_SECONDS)
        budget = budget if budget >= LEAST_BUDGET else 0.0
        doing = f"measuring for {formatting.duration(budget)} after preparing" if budget else "no time to measure it"
        attempt.listener.say(
            f"{row.callback.title}: {doing}; {formatting.duration(max(attempt.left_seconds(), 0))} of the budget left"
        )
        row.answer = answer = attempt.tools.decide(
            row.callback, advice.step, place, budget, attempt.options.minimum_effect
        )
        to_try = formatting.listing([variant_text(one.variant) for one in answer.candidates])
        attempt.listener.say(f"{row.callback.title}: {f'to try: {to_try}' if to_try else f'leave it: {answer.why}'}")
        # A body that can be called in the graph is not measured, however much time there is.
        advice.lacked_time |= not budget and all(one.replaced_by != GRAPH_BODY for one in answer.candidates)
