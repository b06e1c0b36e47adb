"""The table of all tools, for people and as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from peers.figures import MOVES, NEAR, Row
from tally import installed_versions

NOTHING = "–"

GOAL_RESOLVED = 0.95
GOAL_TIME = 0.40
"""Of the time of one run of asv."""
GOAL_MOVE = 0.05
"""No pair of identical code may be further apart."""
GOAL_CASES = 12
"""Fewer cases show little: one of six is 17%."""
OWN_TOOL = "pyopbench: A/A controls"


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


@dataclass(frozen=True)
class Goal:
    """What pyopbench promises of pairs of identical code in one session, and what came out.

    Attributes:
        cases: how many were measured.
        resolved: share of the pairs that were shown to differ by less than `NEAR`.
        share_of_asv: a session's time over that of one run of asv.
        moved: share of the pairs whose estimates lie further apart than `GOAL_MOVE`.
        different: pairs that were called different.
    """

    cases: int
    resolved: float
    share_of_asv: float
    moved: float
    different: int

    @property
    def missed(self) -> tuple[str, ...]:
        """The names of the attributes that are not as promised."""
        kept = {
            "cases": self.cases >= GOAL_CASES,
            "resolved": self.resolved >= GOAL_RESOLVED,
            "share_of_asv": self.share_of_asv <= GOAL_TIME,
            "moved": self.moved == 0,
            "different": self.different == 0,
        }
        return tuple(name for name, is_kept in kept.items() if not is_kept)

    def text(self) -> str:
        """Return it in a sentence or two."""
        return (
            f"Promised of {GOAL_CASES} cases or more: at least {GOAL_RESOLVED:.0%} resolved in at most {GOAL_TIME:.0%} "
            f"of one run of asv, none moved by more than {GOAL_MOVE:.0%} or called different. Found: "
            f"{self.resolved:.1%} of {self.cases} cases in {self.share_of_asv:.0%} of it, {self.moved:.0%} moved, "
            f"{self.different} called different."
        )


def goal_of(content: Mapping[str, Any]) -> Goal | None:
    """Return what came out, from `document` or from the file that it was written to; None without asv or intervals."""
    by_tool = {row["tool"]: row for row in content["rows"]}
    own, asv = by_tool.get(OWN_TOOL), by_tool.get("asv")
    if own is None or asv is None or own["resolved"] is None:
        return None
    return Goal(
        cases=len(content["cases"]),
        resolved=own["resolved"],
        share_of_asv=own["run_seconds"] / asv["run_seconds"],
        moved=own["moved"][f"{GOAL_MOVE:.0%}"],
        different=own["called_different"],
    )


def document(rows: Sequence[Row], failures: Mapping[str, str], cases: Sequence[str]) -> dict[str, Any]:
    """Return everything as plain data for JSON."""
    return {
        "versions": installed_versions(),
        "cases": list(cases),
        "rows": [row.content() for row in rows],
        "failures": dict(failures),
    }
