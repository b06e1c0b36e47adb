"""The cases without a number, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge.latencies import Hole, WhyNone, holes_of
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Table, Tone

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

Pattern: TypeAlias = tuple[frozenset[str], ...]

UNSUPPORTED = "unsupported"
TONES: dict[str, Tone] = {"wrong": "bad", "crashed": "bad", "raised": "bad", UNSUPPORTED: ""}
"""Of a status; of any other it is a warning."""
LONGEST_REASON = 600
MOST_BRIEF = 8


def build(judgement: Judgement) -> Sequence[Block]:
    """Return every case without a number, one row for each reason, the gravest first."""
    if judgement.run.pipeline is not None:  # its own section has the reasons
        return ()
    cases = len(judgement.run.cases)
    measured = set(judgement.latencies["case"])
    holes = holes_of(judgement.run, measured)
    if not holes:
        every = "the one planned case was" if cases == 1 else f"all {cases:,} planned cases were"
        return (Paragraph(f"None: {every} measured."),)
    statuses = Counter[WhyNone]()
    for hole in holes:
        statuses[hole.status] += len(hole.cases)
    counts = formatting.listing([f"{n:,} {status}" for status, n in statuses.items()])
    rows = tuple(_row(hole, measured) for hole in holes)
    intro = Paragraph(
        f"{formatting.count(len(measured), 'case')} measured; without a number, or with a failure in some launch: "
        f"{counts}. Names are op/variant/gradient/direction/mode/dtype/size/placement; a/{{b,c}} means a/b and a/c."
    )
    return (intro, Table(("status", "cases", "reason", "which"), rows, "Cases without a number, by reason"))


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the reasons that most cases have, the worst status first; the page has all of them, with their cases."""
    found = holes_of(judgement.run, set(judgement.latencies["case"]))
    more = len(found) - MOST_BRIEF
    rest = (f"{formatting.count(more, 'more reason')} in the table of report.html",) if more > 0 else ()
    return (Bullets((*(hole.text() for hole in found[:MOST_BRIEF]), *rest)),) if found else ()


def compact(cases: Iterable[str]) -> list[str]:
    """Return patterns with alternatives in braces that together stand for exactly these cases, each once."""
    patterns: list[Pattern] = [
        tuple(frozenset((str(part),)) for part in Case.from_id(case).parts) for case in sorted(set(cases))
    ]
    for position in range(8):
        patterns = _merged(patterns, position)
    return [_shown(pattern) for pattern in patterns]


def _merged(patterns: Sequence[Pattern], position: int) -> list[Pattern]:
    """Join patterns that differ in one position only."""
    joined: dict[Pattern, frozenset[str]] = {}
    for pattern in patterns:
        rest = pattern[:position] + pattern[position + 1 :]
        joined[rest] = joined.get(rest, frozenset()) | pattern[position]
    return [(*rest[:position], values, *rest[position:]) for rest, values in joined.items()]


def _shown(pattern: Pattern) -> str:
    parts = [sorted(values, key=lambda value: (len(value) if value.isdigit() else 0, value)) for values in pattern]
    return "/".join(values[0] if len(values) == 1 else "{" + ",".join(values) + "}" for values in parts)


def _row(hole: Hole, measured: set[str]) -> tuple[Cell | str, ...]:
    kept = sum(case in measured for case in hole.cases)
    note = f" ({kept:,} of these measured in other launches)" if kept else ""
    return (
        Cell(hole.status, TONES.get(hole.status, "warn")),
        f"{len(hole.cases):,}",
        formatting.shorten(hole.reason, LONGEST_REASON) + note,
        "; ".join(compact(hole.cases)),
    )
