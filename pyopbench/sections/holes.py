"""What has no number, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyopbench import slopes, stats, text
from pyopbench.sections import Block, Bullets, Cell, Paragraph, Section, Table, Tone
from pyopbench.sections._places import parsed

if TYPE_CHECKING:
    from pyopbench.decide import Judgement

Pattern: TypeAlias = tuple[frozenset[str], ...]

UNSUPPORTED = "unsupported"
SEVERITY: dict[str, Tone] = {
    "wrong": "bad",
    "crashed": "bad",
    "raised": "bad",
    "elided": "warn",
    "timeout": "warn",
    UNSUPPORTED: "",
}
"""Every status of a failure, the worst first."""
NOT_REACHED = ("not measured", "planned, and no launch got to it: the run ended first")
NO_SLOPE = "no slope"
"""Status of a case of mode node in which more copies took no longer."""
LONGEST_REASON = 600
SHORT_REASON = 200
MOST_BRIEF = 8
MOST_ROWS = 8
"""A longer table is folded, behind the reasons that most cases have."""
ANY_OP = "\0"
"""Stands for the op in a reason; no reason has it of its own."""
NUMBERED = re.compile(r"(?<=[a-z]_)\d+\b")
"""Functions that TensorFlow traces are numbered, and nothing else tells their reasons apart."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return every case without a number, one row for each reason; of many the most important first, in words."""
    run = judgement.run
    measured = {str(case) for case in judgement.latencies["case"]}
    groups = grouped(judgement, measured)
    if not groups:
        return (Paragraph(f"None: {_all(len(run.cases))} measured."),)
    counts = Counter({key: len(cases) for key, cases in groups.items()})
    statuses = Counter[str]()
    for (status, _), n in counts.items():
        statuses[status] += n
    told = text.listing([f"{n:,} {status}" for status, n in sorted(statuses.items(), key=lambda item: _rank(item[0]))])
    order = sorted(groups, key=lambda key: (_rank(key[0]), -counts[key], key))
    rows = tuple(_row(key, groups[key], measured) for key in order)
    intro = Paragraph(
        f"Cases without a number, or with a failure in some launch: {told}; {text.count(len(measured), 'case')} "
        "measured. A name in the form a/{b,c}/d stands for a/b/d and a/c/d; the parts are op, variant, gradient, "
        "direction, mode, dtype, size and placement."
    )
    table = Table(("status", "cases", "reason", "which"), rows, "Holes, by reason", folded=len(rows) > MOST_ROWS)
    return (intro, *(brief(judgement) if table.folded else ()), table)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the reasons that most cases have, the worst status first; the page has all of them, with their cases."""
    measured = {str(case) for case in judgement.latencies["case"]}
    counts: Counter[tuple[str, str]] = Counter()
    ops: dict[tuple[str, str], dict[str, None]] = {}
    for (status, reason), cases in grouped(judgement, measured).items():
        for case in cases:
            op = case.partition("/")[0]
            key = (status, reason.replace(op, ANY_OP))  # many ops lack the same for the same reason
            counts[key] += 1
            ops.setdefault(key, {})[op] = None
    order = sorted(counts, key=lambda key: (_rank(key[0]), -counts[key], key))
    told = tuple(_brief(key, counts[key], list(ops[key])) for key in order[:MOST_BRIEF])
    more = len(order) - len(told)
    rest = (f"{text.count(more, 'more reason')} in the table of report.html",) if more > 0 else ()
    return (Bullets((*told, *rest)),) if told else ()


def _brief(key: tuple[str, str], count: int, ops: Sequence[str]) -> str:
    status, reason = key
    told = text.shorten(reason.replace(ANY_OP, ops[0] if len(ops) == 1 else "…"), SHORT_REASON)
    return f"{text.count(count, 'case')} {status}, of {text.listing(ops)}: {told}"


def grouped(judgement: Judgement, measured: set[str]) -> dict[tuple[str, str], list[str]]:
    """Return the cases of each (status, reason).

    Planned cases that left no trace are under `NOT_REACHED`, those that had no slope in some launch under `NO_SLOPE`.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for failure in judgement.run.failures:
        groups.setdefault((failure.status, NUMBERED.sub("…", failure.reason)), []).append(failure.case)
    flat = slopes.without_slope(judgement.run.frame, stats.UNIT)
    for case, reason in flat.items():
        groups.setdefault((NO_SLOPE, reason), []).append(case)
    told = {failure.case for failure in judgement.run.failures} | set(flat)
    lost = [case for case in judgement.run.cases if case not in told and case not in measured]
    if lost:
        groups[NOT_REACHED] = lost
    return {key: list(dict.fromkeys(cases)) for key, cases in groups.items()}


def compact(cases: Iterable[str]) -> list[str]:
    """Return patterns with alternatives in braces that together stand for exactly these cases, each once."""
    ids = sorted(set(cases))
    found = [(case, parsed(case)) for case in ids]
    patterns = [tuple(frozenset((str(part),)) for part in case.parts) for _, case in found if case is not None]
    for position in range(8):
        patterns = _merged(patterns, position)
    return [*(_shown(pattern) for pattern in patterns), *(case for case, read in found if read is None)]


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


def _row(key: tuple[str, str], cases: Sequence[str], measured: set[str]) -> tuple[Cell | str, ...]:
    status, reason = key
    kept = sum(case in measured for case in cases)
    note = f" ({kept:,} of these measured in other launches)" if kept else ""
    which = "; ".join(compact(cases))
    return (
        Cell(status, SEVERITY.get(status, "warn")),
        f"{len(cases):,}",
        text.shorten(reason, LONGEST_REASON) + note,
        which,
    )


def _rank(status: str) -> int:
    return list(SEVERITY).index(status) if status in SEVERITY else len(SEVERITY)


def _all(n: int) -> str:
    return "the one planned case was" if n == 1 else f"all {n:,} planned cases were"


SECTION = Section("holes", "What has no number, and why", 40, build, brief)
