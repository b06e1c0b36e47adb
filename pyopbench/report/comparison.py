"""A comparison as Markdown, as JSON and as rows for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyopbench.judge.comparison.bodies import ComparedBody
from pyopbench.judge.comparison.diff import ComparedCase, Comparison, UnmatchedCase, notes_of
from pyopbench.judge.latencies import parse_case
from pyopbench.model import formatting
from pyopbench.model.formatting import printable
from pyopbench.report import columns
from pyopbench.report.markdown import escape, table
from pyopbench.stats.unpaired import RUN_SPREAD
from pyopbench.store.json_file import without_nan

SCHEMA = 4
LONGEST_NAME = 200
"""A longer name is cut in tables; the JSON has it whole."""
COLUMNS = ("case", "A", "B", "B / A (interval)", "verdict")
MOST_REASONS = 20
"""So many unresolved cases are listed with their reason, the worst first; the JSON has all."""


def differences(found: Comparison) -> tuple[tuple[str, str, str], ...]:
    """Return a row of name, A and B for each fact of the environment that differs."""
    return tuple((one.name, one.first, one.second) for one in found.differences)


def rows(found: Comparison) -> tuple[tuple[str, ...], ...]:
    """Return a row of `COLUMNS` for each case, worst first."""
    names = short_names([case.case for case in found.cases])
    return tuple(_row(case, name) for case, name in zip(found.cases, names, strict=True))


def _row(case: ComparedCase, name: str) -> tuple[str, ...]:
    verdict = case.verdict
    ratio = formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    return (
        formatting.shorten(name, LONGEST_NAME),
        formatting.seconds(case.first_seconds),
        formatting.seconds(case.second_seconds),
        ratio,
        verdict.outcome,
    )


def shared_parts(cases: Sequence[str]) -> str:
    """Return the parts that all cases have in common, such as `call float32 cpu`; "" where there is but one."""
    return " ".join(column[0] for column in _columns(cases) if len(set(column)) == 1)


def short_names(cases: Sequence[str]) -> list[str]:
    """Return cases without the parts that all of them have in common; names of other benchmarks stay as they are."""
    varying = [place for place, column in enumerate(_columns(cases)) if len(set(column)) > 1]
    return [" ".join(_parts(case)[place] for place in varying) if varying and _parts(case) else case for case in cases]


def _columns(cases: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the parts of all cases, part by part; nothing for a single one."""
    parts = [_parts(case) for case in cases if _parts(case)]
    return list(zip(*parts, strict=True)) if len(parts) > 1 else []


def _parts(case: str) -> tuple[str, ...]:
    known = parse_case(case)
    return () if known is None else tuple(map(str, known.parts))


def unmatched(found: Comparison) -> tuple[tuple[int, str, str], ...]:
    """Return a row of how many cases, side and reason, with the first of them."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in found.unmatched:
        grouped.setdefault((one.side, one.text()), []).append(one.case)
    return tuple(
        (len(cases), side, f"{reason}; {'' if len(cases) == 1 else 'the first: '}{cases[0]}")
        for (side, reason), cases in grouped.items()
    )


def failing_text(case: UnmatchedCase) -> str:
    """Return a case that fails on one side, and why."""
    return f"{case.case} is {case.text()}"


def markdown(found: Comparison, failed: str) -> str:
    """Return the comparison as Markdown.

    Args:
        found: the comparison.
        failed: what it was to fail on, and whether it did, in words.
    """
    lines = [f"## {escape(found.title())}", "", escape(found.summary()), "", escape(failed), ""]
    lines += [f"- {escape(note.text())}" for note in notes_of(found)]
    if found.differences:
        lines += ["", "What else differs:", "", *table(("environment", "A", "B"), differences(found))]
    shared = shared_parts([case.case for case in found.cases])
    if found.bodies:
        lines += ["", "Bodies, over all cases that run them:", "", *(f"- {escape(one.text())}" for one in found.bodies)]
    lines += ["", escape(f"All are: {shared}") if shared else "", "", *table(COLUMNS, rows(found))]
    if found.unmatched:
        cells = [(f"{cases:,}", side, why) for cases, side, why in unmatched(found)]
        lines += ["", "Measured on one side only:", "", *table(("cases", "only in", "why"), cells)]
    unresolved = _reasons(found)
    if unresolved:
        lines += ["", "Why cases are unresolved, the worst first:", "", *unresolved]
    return printable("\n".join(lines) + "\n")


def _reasons(found: Comparison) -> list[str]:
    open_ = [(case.case, reason) for case in found.cases if (reason := case.verdict.reason) is not None]
    lines = [f"- {escape(case)}: {escape(reason)}" for case, reason in open_[:MOST_REASONS]]
    return lines + ([f"- and {len(open_) - MOST_REASONS:,} more"] if len(open_) > MOST_REASONS else [])


def as_json(found: Comparison, fail_on: float | None, *, failed: bool) -> str:
    """Return the comparison as JSON, of what `as_document` returns."""
    return json.dumps(as_document(found, fail_on, failed=failed), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def as_document(found: Comparison, fail_on: float | None, *, failed: bool) -> Any:
    """Return the comparison as plain data for JSON; a number that does not exist is null.

    Args:
        found: the comparison.
        fail_on: the slowdown that it fails on, as a share; None for none.
        failed: whether it did.
    """
    sides = found.sides
    document = {
        "schema": SCHEMA,
        "tool": sides.first.run.tool,
        "a": {"label": sides.first.label, "run": sides.first.run.name},
        "b": {"label": sides.second.label, "run": sides.second.run.name},
        "interleaved": sides.interleaved,
        "minimum_effect": found.minimum_effect,
        "run_spread": None if sides.interleaved else RUN_SPREAD,
        "smallest_found": found.smallest,
        "fail_on": fail_on,
        "failed": failed,
        "counts": found.counts(),
        "notes": [{"kind": note.kind, "text": note.text()} for note in notes_of(found)],
        "differences": [asdict(one) for one in found.differences],
        "bodies": [_body(body) for body in found.bodies],
        "cases": columns.COMPARED.records(found),
        "unmatched": columns.UNMATCHED.records(found),
    }
    return without_nan(document)


def _body(body: ComparedBody) -> dict[str, Any]:
    verdict = body.verdict
    numbers = {"ratio": verdict.ratio, "low": verdict.low, "high": verdict.high, "launches": verdict.launches}
    return {"body": str(body.key), "cases": list(body.cases), "outcome": verdict.outcome, **numbers}
