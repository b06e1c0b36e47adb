"""The result of a run on several sides: Markdown for a pull request, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from pyopbench.judge.comparison import gate as wording
from pyopbench.judge.comparison.diff import Comparison, badness
from pyopbench.judge.comparison.gate import Gate
from pyopbench.model import formatting
from pyopbench.model.case import EXPECTED
from pyopbench.model.files import write_atomically
from pyopbench.model.formatting import printable
from pyopbench.report import comparison
from pyopbench.report.markdown import escape, table
from pyopbench.store.types import Side

SCHEMA = 2
COMMENT, DOCUMENT = "comment.md", "gate.json"
MOST_LINES = 30
"""Of the comment: what a reviewer reads without scrolling."""
MOST_FOUND = 6
"""Lines of each kind of finding; all are in the JSON."""
COLUMNS = ("side", "case", "before", "after", "ratio (interval)", "verdict")


def write(gate: Gate, folder: Path) -> None:
    """Write the comment and the JSON into a folder."""
    write_atomically(folder / COMMENT, comment(gate).encode())
    write_atomically(folder / DOCUMENT, as_json(gate).encode())


def comment(gate: Gate) -> str:
    """Return Markdown for a comment: the answer first, at most `MOST_LINES` lines, the worst cases folded."""
    others = formatting.listing([one.label for one in gate.others])
    lines = [
        f"### pyopbench: {escape(gate.answer_text())}",
        "",
        escape(f"{others} against {gate.first.label}"),
        "",
    ]
    warning = gate.warning_text()
    lines += [f"- {escape(line)}" for line in (*((warning,) if warning else ()), *findings(gate))]
    known = [gate.values_text(), gate.reach_text(), gate.control_text(), gate.machine.text()]
    lines += [f"- {escape(one)}" for one in known]
    return printable("\n".join(_with_table(gate, lines)) + "\n")


def findings(gate: Gate) -> list[str]:
    """Return what there is to say of single inputs, revisions and cases, the gravest kind first."""
    several = len(gate.others) > 1
    kinds = (
        [wording.difference_text(label, one) for label, one in gate.differences],
        [gate.broken_text(one) for one in gate.unmeasured],
        [f"{label}: {comparison.failing_text(case)}" for label, case in gate.failing]
        + [
            f"{label}: {one.case} {one.status}: {one.reason}" for label, one in gate.holes if one.status not in EXPECTED
        ],
        [
            f"{label}: {body.text()}" if several else body.text()
            for label, found in gate.comparisons.items()
            for body in found.bodies
            if body.verdict.outcome != "equivalent"
        ],
        [f"{label}: {case.text()}" if several else case.text() for label, case in gate.slower],
    )
    room = MOST_FOUND if sum(map(len, kinds)) > 2 * MOST_FOUND else 2 * MOST_FOUND
    return [line for found in kinds for line in _shortened(found, room // 2 if room == MOST_FOUND else room)]


def _shortened(found: Sequence[str], most: int) -> list[str]:
    rest = len(found) - most
    return [*found[:most], *([f"and {rest:,} more, in {DOCUMENT}"] if rest > 0 else [])]


def _with_table(gate: Gate, lines: list[str]) -> list[str]:
    rows = list(_rows(gate))
    if not rows:
        return lines
    head = ["", f"<details><summary>{formatting.count(len(rows), 'case')}</summary>", ""]
    tail = ["", "</details>"]
    room = MOST_LINES - len(lines) - len(head) - len(table(COLUMNS, ())) - len(tail)
    if room < min(len(rows), 3):  # a row, and how many more there are
        return lines
    shown = rows if len(rows) <= room else rows[: room - 2]
    if len(shown) < len(rows):
        tail = ["", f"and {len(rows) - len(shown):,} more, in {DOCUMENT}", *tail]
    return [*lines, *head, *table(COLUMNS, shown), *tail]


def _rows(gate: Gate) -> Iterator[tuple[str, ...]]:
    """Yield a row of `COLUMNS` for each case of each side, the worst first."""
    rows = [
        (case, (label, *row))
        for label, one in gate.comparisons.items()
        for case, row in zip(one.cases, comparison.rows(one), strict=True)
    ]
    yield from (row for _, row in sorted(rows, key=lambda item: badness(item[0])))


def cases_table(gate: Gate, most: int) -> tuple[str, tuple[str, ...], list[tuple[str, ...]], int]:
    """Return the cases of all sides, the worst first: all that are slower, and others up to so many in all.

    Returns:
        What all cases have in common, the columns (without the side if there is one), the rows, how many are left out.
    """
    rows = list(_rows(gate))
    shown = rows[: max(most, sum(row[-1] == "slower" for row in rows))]
    keys = [case.case for one in gate.comparisons.values() for case in one.cases]
    first = 0 if len(gate.comparisons) > 1 else 1
    return comparison.shared_parts(keys), COLUMNS[first:], [row[first:] for row in shown], len(rows) - len(shown)


def as_json(gate: Gate) -> str:
    """Return all of it as JSON."""
    document = {
        "schema": SCHEMA,
        "outcome": gate.outcome,
        "answer": gate.answer_text(),
        "fail_on": gate.fail_on,
        "smallest_found": gate.smallest,
        "first": _revision(gate.first),
        "others": [_revision(one) for one in gate.others],
        "slower": [{"side": label, "case": case.case} for label, case in gate.slower],
        "slower_bodies": [{"side": label, "body": str(body.key)} for label, body in gate.slower_bodies],
        "failing": [{"side": label, "case": case.case, "reason": case.text()} for label, case in gate.failing],
        "holes": [{"side": label, **asdict(one)} for label, one in gate.holes],
        "comparisons": {label: _comparison(one, gate) for label, one in gate.comparisons.items()},
        "unmatched": {label: error.in_a_line for label, error in gate.unmatched.items()},
        "control": None if gate.control is None else _comparison(gate.control, gate),
        "machine": {**asdict(gate.machine), "is_quiet": gate.machine.is_quiet},
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _revision(version: Side) -> dict[str, Any]:
    environment = {"tf": version.tf, "with": list(version.packages), "python": version.python}
    revision = {} if version.revision is None else msgspec.to_builtins(version.revision)
    outcome = {"problem": version.problem, "values": msgspec.to_builtins(version.values)}
    return {
        "label": version.label,
        **{key: value for key, value in environment.items() if value},
        **revision,
        **outcome,
    }


def _comparison(found: Comparison, gate: Gate) -> Any:
    by = gate.fail_on
    failed = by is not None and bool(found.slower_by(by) or found.bodies_slower_by(by))
    return comparison.as_document(found, gate.fail_on, failed=failed)
