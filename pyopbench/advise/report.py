"""The report of `pyopbench advise`: what to do, and a table of callbacks, as text, HTML and JSON."""

from __future__ import annotations

import math
import os
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyopbench.advise.answers import Obstacle, variant_text
from pyopbench.advise.attempt import Advice, CallbackAdvice
from pyopbench.advise.turns import Realised
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.files import write_atomically
from pyopbench.report import page
from pyopbench.report.sections import Code, Paragraph, Table
from pyopbench.store.json_file import encode_in_lines

HTML, DATA = "report.html", "report.json"
COLUMNS = ("callback", "at most", "answer", "realised")
LONGEST_NAME = 25
"""Characters of callbacks and answers in a terminal, where each callback has one line of at most 80 columns."""
NONE, MINUS = "–", "−"

NOTICEABLE_SECONDS = 1.0
"""The smallest delay of the start that is reported."""

MORE_BUDGET = 2.0
"""How many times the budget is suggested if it was too short."""

OBSTACLES: Mapping[Obstacle, str] = {
    "no_port": "advise can write nothing that replaces {}; the reasons name the obstacles",
    "not_measured": "{} could not be measured: fix what the reasons name, and run advise again",
    "withdrawn": "for {}, changes were tried, and the program was not shown to be faster",
    "differs": "for {}, changes were tried, and the program failed or gave other results",
    "no_gain": "for {}, no change is worth it",
}
"""Obstacle -> why callbacks are left alone because of it; the reasons have the details."""

EXPLANATION = (
    "At most: the share that would be saved if the callback took no time. In a graph, its time runs from ready inputs "
    "to ready outputs, plus an allowance for threads. Realised: the share that all changes together save in the "
    "program, which ran alternately with and without them, with a 95% interval; for a callback that is left alone, "
    "the share that the withdrawn change saved."
)


def table_title(advice: Advice) -> str:
    """Return the title of the table, which says what the shares are of."""
    of = "the run after the import of TensorFlow" if advice.step.unit == "run" else "a step of the program"
    return f"Callbacks, as shares of {of}"


def rows(advice: Advice, longest: int | None = None) -> list[tuple[str, ...]]:
    """Return a row of `COLUMNS` for each callback, whose names and answers have at most so many characters."""
    tried = {one.name: one.realised for one in advice.withdrawn if one.realised is not None}
    found = list[tuple[str, ...]]()
    for row in advice.rows:
        names = row.callback.title, row.answer.text
        title, answer = names if longest is None else [formatting.shorten(name, longest) for name in names]
        realised = advice.realised if row.answer.is_change else tried.get(row.callback.name)
        found.append((title, formatting.percent(row.most), answer, realised_text(realised)))
    return found


def realised_text(found: Realised | None) -> str:
    """Return what was saved in the program, with its interval: `24% (10–36%)`, `3% (−2% to 7.5%)`."""
    if found is None or math.isnan(found.saved):
        return NONE
    if not math.isfinite(found.low):
        return formatting.points(found.saved)
    if found.low < -formatting.LARGEST_SHARE:
        return formatting.TOO_NOISY
    low, high = formatting.points(found.low), formatting.points(found.high)
    span = f"{low} to {high}" if low.startswith(MINUS) else f"{low.removesuffix('%')}–{high}"
    return f"{formatting.points(found.saved)} ({span})"


def headline(advice: Advice) -> str:
    """Return what to do, in a sentence or two."""
    if not advice.rows and advice.ended:
        more = "--steps" if advice.ended == "steps" else "--seconds, or a larger --budget"
        return f"The program called no callback before it was ended: use more {more}."
    if not advice.rows:
        return "The program called no callback: there is nothing to do."
    found = advice.realised
    if advice.patch is not None and found is not None:
        before, after = formatting.seconds(found.before_seconds), formatting.seconds(found.after_seconds)
        changed = formatting.count(len(advice.changed), "callback")
        what = f"a {found.unit} takes {after} instead of {before}, {realised_text(found)} less"
        start = f" {text}." if (text := start_text(found)) else ""
        return f"Apply {advice.patch.name}, which changes {changed}: {what}, in {found.runs} runs each.{start}"
    counts = Counter(row.answer.obstacle for row in advice.rows)
    reasons = [text.format(formatting.count(counts[key], "callback")) for key, text in OBSTACLES.items() if counts[key]]
    stake = at_stake(advice)
    if stake:
        reasons[0] = f"{reasons[0]}, although up to {formatting.percent(stake)} of a {advice.step.unit} is at stake"
    why = ". ".join(formatting.capital(one) for one in reasons)
    if advice.lacked_time:
        return f"Run advise again with a larger --budget: there was no time to try or to compare all changes. {why}."
    return f"Leave the program as it is. {why}."


def at_stake(advice: Advice) -> float:
    """Return the share of a step that would be saved at most if callbacks that have no port took no time."""
    return min(sum(row.most for row in advice.rows if row.answer.obstacle == "no_port"), 1.0)


def start_text(found: Realised) -> str:
    """Return how much longer the changed program takes to start, and when it breaks even; empty if hardly longer."""
    if not found.start_seconds > NOTICEABLE_SECONDS:
        return ""
    text = f"It takes {formatting.seconds(found.start_seconds)} longer to start"
    each = found.before_seconds - found.after_seconds
    if not each > 0:
        return text
    steps = formatting.count(math.ceil(found.start_seconds / each), "step")
    return f"{text}, so a run is faster only if it has more than {steps}"


def reasons(advice: Advice) -> list[str]:
    """Return why each callback is left alone or changed."""
    found = [f"{row.callback.title}: {row.answer.text}. {formatting.capital(row.answer.why)}" for row in advice.rows]
    for row in advice.changed:
        earlier = [one for one in advice.withdrawn if one.name == row.callback.name]
        found += [f"{row.callback.title}: {variant_text(one.variant)}: withdrawn: {one.why}" for one in earlier]
    failures: dict[str, list[str]] = {}
    for row in advice.rows:
        for one in row.answer.failures:
            failures.setdefault(one, []).append(row.callback.title)
    found += [f"{formatting.listing(titles)}: not possible: {one}" for one, titles in failures.items()]
    if advice.recorded:
        found.append(advice.recorded)
    if advice.untried:
        found.append(f"no time was left to try {formatting.listing(advice.untried)}")
    for row in advice.changed:
        copied = formatting.listing([f"`{one}`" for one in advice.constants.get(row.callback.name, ())])
        if copied:
            text = f"{row.answer.port} contains the current values of {copied}: if one changes, run advise again"
            found.append(f"{row.callback.title}: {text}")
        if "numba_op" in row.answer.variant:
            found.append(f"{row.callback.title}: numba_op needs Numba wherever the program runs")
    most = sum(row.most for row in advice.changed)
    if advice.patch is not None and advice.realised is not None and advice.realised.low > most:
        found.append(
            f"{formatting.points(advice.realised.saved)} was saved, more than the {formatting.percent(most)} that the "
            "recording gave as an upper bound: a callback also delayed other work, or the machine was busy"
        )
    return found


def commands(advice: Advice) -> list[str]:
    """Return the command that applies the change, or the one that tries what there was no time for."""
    if advice.patch is not None:
        # git looks for the patch from the folder that -C names.
        return [f"git -C {shlex.quote(str(advice.program.root))} apply {shlex.quote(os.path.abspath(advice.patch))}"]
    if advice.lacked_time:
        asked = advice.options
        words = ["--budget", f"{math.ceil(MORE_BUDGET * asked.budget_seconds)}s"]
        words += [] if asked.steps is None else ["--steps", str(asked.steps)]
        words += [] if asked.seconds is None else ["--seconds", f"{asked.seconds:g}s"]
        words += [] if asked.minimum_effect == MINIMUM_EFFECT else ["--min-effect", f"{100 * asked.minimum_effect:g}%"]
        return [shlex.join(["pyopbench", "advise", *words, "--", *advice.program.command])]
    return []


def write(advice: Advice) -> Path:
    """Write the report into the output folder, and return the path of the HTML."""
    patch = "" if advice.patch is None else advice.patch.read_bytes().decode(errors="replace")
    blocks = [
        Paragraph(EXPLANATION),
        *(Paragraph(one) for one in reasons(advice)),
        *(Code(one) for one in commands(advice)),
        *([Code(patch, "The change")] if patch else []),
    ]
    html = page.rendered(
        "advice.html.j2",
        program=shlex.join(advice.program.command),
        answer=headline(advice),
        table=Table(COLUMNS, tuple(rows(advice)), f"{table_title(advice)}; the costliest first"),
        blocks=blocks,
    )
    write_atomically(advice.folder / HTML, html.encode())
    write_atomically(advice.folder / DATA, encode_in_lines(as_data(advice)))
    return advice.folder / HTML


def as_data(advice: Advice) -> dict[str, Any]:
    """Return the advice as plain data."""
    return {
        "version": 1,
        "command": list(advice.program.command),
        "recorded": advice.recorded,
        "callbacks": [_callback_data(advice, row) for row in advice.rows],
        "realised": advice.realised and asdict(advice.realised),
        "untried": advice.untried,
        "patch": None if advice.patch is None else str(advice.patch),
    }


def _callback_data(advice: Advice, row: CallbackAdvice) -> dict[str, Any]:
    callback, answer = row.callback, row.answer
    return {
        "name": callback.name,
        "file": callback.file,
        "line": callback.line,
        "function": callback.body,
        "kind": callback.kind,
        "where": callback.where,
        "most": row.most,
        "action": answer.action,
        "variant": answer.variant or None,
        "port": (Path(callback.file).parent / answer.port).as_posix() if answer.is_change and answer.port else None,
        "why": answer.why,
        "obstacle": answer.obstacle or None,
        "failures": list(answer.failures),
        "saved": answer.saved if answer.is_change else None,
        "withdrawn": [asdict(one) for one in advice.withdrawn if one.name == callback.name],
    }
