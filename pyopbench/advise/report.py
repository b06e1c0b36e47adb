"""The report of `pyopbench advise`: one table of callbacks, in the terminal, as Markdown, HTML and JSON."""

from __future__ import annotations

import math
import os
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyopbench.advise.advice import WITHDRAWN_PATCH, Advice, Row, Withdrawn
from pyopbench.advise.answers import Obstacle
from pyopbench.advise.candidates import variant_text
from pyopbench.advise.turns import Realised
from pyopbench.model import formatting
from pyopbench.model.printable import printable
from pyopbench.model.write_file import write_atomically
from pyopbench.report import page
from pyopbench.report.markdown import escape, fence, table
from pyopbench.report.sections import Code, Paragraph, Table
from pyopbench.store.json_file import encode_in_lines

MARKDOWN, HTML, DATA = "report.md", "report.html", "report.json"
COLUMNS = ("callback", "where", "at most", "answer", "saves alone", "realised")
ALL_CHANGES = "all changes"
NONE, MINUS = "–", "−"

NOTICEABLE_SECONDS = 1.0
"""The smallest delay of the start that is reported."""

OBSTACLES: Mapping[Obstacle, str] = {
    "no_port": (
        "`advise` found no change for {}{}. Rewriting the body so that it returns the same values may save some of "
        "that: the reasons say why there is no port. Do not change the options of a function just to get one, because "
        "the results would change."
    ),
    "not_measured": "{} could not be measured: mend what the reasons name, and run advise again.",
    "withdrawn": "For {}, changes were tried and withdrawn, because the program was not shown to be faster{}.",
    "differs": "For {}, changes were withdrawn, because the program failed or gave other results: see the reasons.",
    "no_gain": "For {}, no change that advise can make is worth it.",
}
"""Obstacle -> what to do about callbacks that are left alone because of it; the reasons have the details. The second
gap of `no_port` is for what is at stake, that of `withdrawn` for what would help."""


def table_title(advice: Advice) -> str:
    """Return the title of the table, which says what the shares are of."""
    if advice.step.unit == "run":
        return "Callbacks, as shares of the run after the import of TensorFlow"
    return "Callbacks, as shares of a step of the program"


def rows(advice: Advice) -> list[tuple[str, ...]]:
    """Return a row for each callback and each change that was withdrawn, and one for all changes if several stay."""
    found = []
    for row in advice.rows:
        found.append(_cells(advice, row))
        for one in advice.withdrawn:
            if one.name == row.callback.name:
                shares = _alone_text(one.saved), withdrawn_text(one)
                found.append(("withdrawn:", "", "", variant_text(one.variant), *shares))
    if advice.patch is not None and len(advice.tried) > 1:
        found.append((ALL_CHANGES, "", "", "", NONE, realised_text(advice.realised)))
    return found


def _cells(advice: Advice, row: Row) -> tuple[str, ...]:
    shown = NONE
    if row.answer.is_change and advice.tried == (row.callback.name,):
        shown = realised_text(advice.realised)
    return (
        row.callback.title,
        row.callback.where,
        formatting.percent(row.shown.most),
        row.answer.text,
        _alone_text(row.answer.chosen.saved) if row.answer.is_change else NONE,
        shown,
    )


def _alone_text(saved: float | None) -> str:
    return NONE if saved is None else formatting.points(saved)


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


def withdrawn_text(one: Withdrawn) -> str:
    """Return what a change saved that was withdrawn, if need be with others: `1% (−2% to 3%), together`."""
    return f"{realised_text(one.together)}, together" if one.together is not None else realised_text(one.realised)


def headline(advice: Advice) -> str:
    """Return what to do, in a sentence."""
    if not advice.rows and advice.ended:
        more = "--steps" if advice.ended == "steps" else "--seconds, or a larger --budget"
        return f"The program called no callback before it was ended: use more {more}."
    if not advice.rows:
        return "The program called no callback: there is nothing to do."
    if advice.patch is None or advice.realised is None:
        is_left = all(row.answer.obstacle != "no_port" for row in advice.rows)
        return " ".join([*(["Leave the callbacks as they are."] if is_left else []), *_obstacles(advice)])
    found = advice.realised
    before, after = formatting.seconds(found.before_seconds), formatting.seconds(found.after_seconds)
    changed = formatting.count(sum(row.answer.is_change for row in advice.rows), "callback")
    start = f" {text}." if (text := start_text(found)) else ""
    whole = ""
    if found.unit == "step" and math.isfinite(found.after_run_seconds):
        runs = (formatting.seconds(one) for one in (found.after_run_seconds, found.before_run_seconds))
        whole = f" A whole run takes {' instead of '.join(runs)}."
    return (
        f"Change {changed}: a {found.unit} takes {after} instead of {before}, {realised_text(found)} less, in "
        f"{found.runs} runs each.{whole}{start}"
    )


def start_text(found: Realised) -> str:
    """Return how much longer the changed program takes to start, and when it breaks even; empty if hardly longer."""
    if not found.start_seconds > NOTICEABLE_SECONDS:
        return ""
    text = f"It takes {formatting.seconds(found.start_seconds)} longer to start"
    if found.pays_after is None:
        return text
    return f"{text}, so a run is faster only if it has more than {formatting.count(found.pays_after, 'step')}"


def _obstacles(advice: Advice) -> list[str]:
    """Return why callbacks are left alone and what to do next, with a sentence for each obstacle that occurs."""
    found = Counter(row.answer.obstacle for row in advice.rows)
    stake = f", although up to {formatting.percent(at_stake(advice))} of a {advice.step.unit} could be saved"
    more = {"no_port": stake, "withdrawn": _remedy(advice)}
    return [
        text.format(formatting.count(found[key], "callback"), more.get(key, ""))
        for key, text in OBSTACLES.items()
        if found[key]
    ]


def _remedy(advice: Advice) -> str:
    """Return what would help to show that the program is faster; empty if the runs show that it is not."""
    if advice.lacked_time:
        return ". No time was left for more runs: run advise again with a larger --budget and another --out"
    timed = [found for one in advice.withdrawn if (found := one.realised or one.together) is not None]
    if not any(one.saved > 0 for one in timed):
        return ""
    longer = "" if advice.step.unit == "run" else ", or in runs of more steps"
    more = f"On an idle machine{longer}, smaller savings can be shown"
    return f". {more}: run advise again with another --out"


def at_stake(advice: Advice) -> float:
    """Return the share of a step that would be saved at most if callbacks that have no port took no time."""
    return min(sum(row.shown.most for row in advice.rows if row.answer.obstacle == "no_port"), 1.0)


def reasons(advice: Advice) -> list[str]:
    """Return why each callback is left alone or changed, and how far the losses of the program differ."""
    found = [f"{row.callback.title}: {row.answer.text}. {formatting.capital(row.answer.why)}" for row in advice.rows]
    failures: dict[str, list[str]] = {}
    for row in advice.rows:
        for one in row.answer.failures:
            failures.setdefault(one, []).append(row.callback.title)
    found += [f"{formatting.listing(titles)}: not measured: {one}" for one, titles in failures.items()]
    found += [text for row in advice.rows if (text := constants_text(advice, row))]
    if any(row.answer.is_change and row.answer.variant.endswith("numba_op") for row in advice.rows):
        found.append("numba_op needs Numba wherever the program runs")
    for title, saved, most in savings_beyond_bound(advice):
        found.append(
            f"{title}: {formatting.points(saved)} was saved, more than the {formatting.percent(most)} that the "
            "recording shows as the most, for example because a callback also delayed other work, or because "
            "something else kept the machine busy in some of the runs"
        )
    title_of = {row.callback.name: row.callback.title for row in advice.rows}
    for withdrawn in advice.withdrawn:
        if withdrawn.realised is not None and withdrawn.realised.start_seconds > NOTICEABLE_SECONDS:
            longer = formatting.seconds(withdrawn.realised.start_seconds)
            text = f"{variant_text(withdrawn.variant)}: withdrawn. The program took {longer} longer to start with it"
            found.append(f"{title_of[withdrawn.name]}: {text}")
    found += withdrawn_patch_texts(advice)
    if not math.isnan(advice.loss_difference):
        is_random = any(row.answer.is_change and row.callback.seed_with for row in advice.rows)
        why = " (the random numbers differ, too)" if is_random else ""
        found.append(f"largest relative difference between losses before and after: {advice.loss_difference:.2g}{why}")
    return found


def savings_beyond_bound(advice: Advice) -> list[tuple[str, float, float]]:
    """Return the changes that saved more of a step than the recording shows as the most: title, share saved, most."""
    if advice.patch is None or advice.realised is None:
        return []
    tried = [row for row in advice.rows if row.callback.name in advice.tried]
    title = tried[0].callback.title if len(tried) == 1 else ALL_CHANGES
    most = sum(row.shown.most for row in tried)
    return [(title, advice.realised.saved, most)] if advice.realised.saved > most else []


def withdrawn_patch_texts(advice: Advice) -> list[str]:
    """Return where the patch of the change is that was last withdrawn for its time, and which constants it contains."""
    if advice.withdrawn_patch is None:
        return []
    rows_in_it = [row for row in advice.rows if row.callback.name in advice.withdrawn_constants]
    named = [(row.callback.title, advice.withdrawn_variants.get(row.callback.name)) for row in rows_in_it]
    titles = formatting.listing([f"{title}: {variant_text(one)}" if one else title for title, one in named])
    what = f"the patch of the last change that gave the same results{f' ({titles})' if titles else ''}"
    found = [f"`{advice.withdrawn_patch}` is {what} and was not shown to make the program faster"]
    for row in rows_in_it:
        copied = _copied_text(advice.withdrawn_constants[row.callback.name])
        found += [f"{row.callback.title}: `{WITHDRAWN_PATCH}` contains {copied}"] if copied else []
    return found


def constants_text(advice: Advice, row: Row) -> str:
    """Return which constants of a port were copied from the program; empty if there are none."""
    copied = _copied_text(advice.constants.get(row.callback.name, {}))
    return f"{row.callback.title}: {row.answer.port} contains {copied}" if row.answer.is_change and copied else ""


def _copied_text(found: Mapping[str, bool]) -> str:
    """Return copied constants, those first that the patched program checks; empty if there are none."""
    checked, unchecked = ([f"`{text}`" for text, one in found.items() if one is state] for state in (True, False))
    parts = []
    if checked:
        parts.append(f"{formatting.listing(checked)} (checked: the patched program raises an error if one differs)")
    if unchecked:
        parts.append(f"{formatting.listing(unchecked)} (not checked: if one changes, run advise again)")
    return f"the current values of {' and of '.join(parts)}" if parts else ""


def commands(advice: Advice) -> list[str]:
    """Return the command that applies the change, if there is one."""
    if advice.patch is None:
        return []
    # git looks for the patch from the folder that -C names.
    return [f"git -C {shlex.quote(str(advice.program.root))} apply {shlex.quote(os.path.abspath(advice.patch))}"]


def explanation() -> str:
    """Return what the columns mean."""
    return (
        "At most: the share that would be saved if the callback took no time. In a graph, its time runs from ready "
        "inputs to ready outputs, plus an allowance for threads. Saves alone: the share of the callback's own time "
        "that the change saves outside the program. Realised: measured in the program, with and without the changes "
        "alternately, with a 95% interval. Together: only measured with other changes."
    )


def write(advice: Advice) -> Path:
    """Write all formats into the output folder, and return the path of the HTML."""
    patch = "" if advice.patch is None else advice.patch.read_bytes().decode(errors="replace")
    lines = [
        "# What should we do about our Python callbacks?",
        "",
        f"**{escape(headline(advice))}**",
        "",
        f"{table_title(advice)}:",
        "",
        *table(COLUMNS, rows(advice)),
        "",
        escape(explanation()),
        "",
        *(f"- {escape(one)}" for one in reasons(advice)),
        "",
        *(line for one in commands(advice) for line in (str(fence(one)), "")),
    ]
    write_atomically(advice.folder / MARKDOWN, printable("\n".join(lines)).encode())
    blocks = [
        Paragraph(explanation()),
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
        "callbacks": [
            {
                "name": row.callback.name,
                "file": row.callback.file,
                "line": row.callback.line,
                "function": row.callback.body,
                "kind": row.callback.kind,
                "where": row.callback.where,
                "share": row.shown.share,
                "most": row.shown.most,
                "action": row.answer.action,
                "variant": row.answer.variant or None,
                "port": _port_of(row),
                "why": row.answer.why,
                "obstacle": row.answer.obstacle or None,
                "failures": list(row.answer.failures),
                "saves_alone": row.answer.chosen.saved if row.answer.is_change else None,
                "withdrawn": [
                    {
                        "variant": one.variant,
                        "why": one.why,
                        "saves_alone": one.saved,
                        "realised": _realised(one.realised),
                        "together": _realised(one.together),
                    }
                    for one in advice.withdrawn
                    if one.name == row.callback.name
                ],
            }
            for row in advice.rows
        ],
        "realised": _realised(advice.realised),
        "loss_difference": advice.loss_difference,
        "patch": None if advice.patch is None else str(advice.patch),
        "withdrawn_patch": None if advice.withdrawn_patch is None else str(advice.withdrawn_patch),
    }


def _port_of(row: Row) -> str | None:
    """Return the path of the port's file from the root; None if the callback stays."""
    if not row.answer.is_change or not row.answer.port:
        return None
    return (Path(row.callback.file).parent / row.answer.port).as_posix()


def _realised(found: Realised | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "unit": found.unit,
        "runs": found.runs,
        "start_seconds": found.start_seconds,
        "pays_after": found.pays_after,
        "before_seconds": found.before_seconds,
        "after_seconds": found.after_seconds,
        "value": found.saved,
        "low": found.low,
        "high": found.high,
    }
