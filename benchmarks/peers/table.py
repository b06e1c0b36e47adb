"""The table of all tools, for people and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

import stored_document
from peers.figures import MOVES, NEAR, Row

PACKAGES = ("pyopbench", "asv", "pytest-benchmark", "pyperf", "tensorflow-cpu", "tensorflow", "numpy")
NOTHING = "–"

GOAL_RESOLVED = 0.95
GOAL_TIME = 1 / 3
"""Of the time of one run of asv."""


def table_of(rows: Sequence[Row]) -> Table:
    """Return a table with a line for each row."""
    table = Table(title="Identical code, measured twice", title_justify="left")
    table.add_column("tool", no_wrap=True)
    moves = (f"moved\n>{move:.0%}" for move in MOVES)
    for name in ("one\nrun", "to\ncompare", *moves, f"resolved\n±{NEAR:.0%}", "misses\nthe truth", "called\ndifferent"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: Row) -> tuple[str, ...]:
    called = row.called_different
    return (
        row.tool,
        duration(row.run_seconds),
        duration(row.compare_seconds),
        *(percent(row.share_moved(move)) for move in MOVES),
        percent(row.resolved),
        percent(row.missed),
        NOTHING if called is None else f"{called} of {len(row.pairs)}",
    )


def percent(share: float | None) -> str:
    """Return a share in percent, or a dash for none."""
    return NOTHING if share is None else f"{share:.0%}"


def duration(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def notes_of(rows: Sequence[Row]) -> list[str]:
    """Return the notes of all rows, each once."""
    return list(dict.fromkeys(row.note for row in rows))


def goal(rows: Sequence[Row]) -> str:
    """Return whether pyopbench resolves as many cases as it should in as little time, in words; empty without both."""
    by_tool = {row.tool: row for row in rows}
    own, asv = by_tool.get("pyopbench: twins"), by_tool.get("asv")
    if own is None or asv is None or own.resolved is None:
        return ""
    share = own.run_seconds / asv.run_seconds
    met = own.resolved >= GOAL_RESOLVED and share <= GOAL_TIME
    return (
        f"The goal, at least {GOAL_RESOLVED:.0%} resolved in at most a third of one run of asv, is "
        f"{'met' if met else 'missed'}: {own.resolved:.1%} in {share:.0%} of it."
    )


def document(rows: Sequence[Row], failures: Mapping[str, str], cases: Sequence[str]) -> dict[str, Any]:
    """Return everything as plain data for JSON."""
    return {
        "environment": stored_document.environment(PACKAGES),
        "cases": list(cases),
        "rows": [row.content() for row in rows],
        "failures": dict(failures),
        "goal": goal(rows),
    }
