"""A comparison as Markdown, as JSON and as rows for a terminal.

The keys of the JSON are in results/README.md. A number that does not exist (an interval from one launch) is null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyopbench import text
from pyopbench.contrast import Contrast, Line
from pyopbench.markdown import escape
from pyopbench.sides import Side

SCHEMA = 1
LONGEST_NAME = 200
"""A longer name is cut in tables; the JSON has it whole."""
COLUMNS = ("case", "A", "B", "B / A (95%)", "verdict")
CASE = re.compile(r"\w+(/\w+/\w+)?/(forward|backward|forward_backward)/\w+/\w+/[0-9]+/\w+( in .*)?")
"""The id of a case, with or without variant and gradient, and the environment where there are several."""
PAIRED = {
    "round": "Both were timed in the same rounds of the same processes: ratios are paired by round.",
    "block": "Launches of both came in blocks, one of each in random order: ratios are paired by block.",
}


def title(found: Contrast) -> str:
    """Return what was compared with what, in one line."""
    sides = found.sides
    return f"{sides.second.label} (B) against {sides.first.label} (A), by {sides.axis}, measured by {sides.tool}"


def summary(found: Contrast) -> str:
    """Return how many cases have which verdict."""
    counts = [f"{count:,} {outcome}" for outcome, count in found.counts().items() if count]
    return f"{text.count(len(found.lines), 'case')} compared: {text.listing(counts)}."


def notes(found: Contrast) -> tuple[str, ...]:
    """Return what a reader has to know before the table, each as a sentence or two."""
    sides = (found.sides.first, found.sides.second)
    # The first says that one launch has no interval; what is made of that here is said above.
    cannot = dict.fromkeys(sentence for side in sides for run in side.runs for sentence in run.cannot[1:])
    return (
        *(_loud(found)),
        PAIRED.get(found.sides.paired) or _unpaired(found),
        reach(found),
        *cannot,
    )


def _loud(found: Contrast) -> tuple[str, ...]:
    return tuple(
        f"DIFFERENT PROCESSORS: {one.first} in A, {one.second} in B. These ratios compare machines, not code."
        for one in found.differences
        if one.loud
    )


def _unpaired(found: Contrast) -> str:
    return (
        "UNPAIRED: A and B were not measured interleaved. Each interval is widened by what runs differ by: at least "
        f"{text.percent(found.run_spread)} (one standard deviation), more where the other cases of this pair moved by "
        f"more. All cases together are at {text.ratio(found.common)}; what they have in common counts as the machine's."
    )


def reach(found: Contrast) -> str:
    """Return which slowdown would have been found, in a sentence."""
    if found.smallest is None:
        return f"No case has an interval, so nothing is told apart: {found.lines[0].verdict.reason}."
    if found.smallest > text.LARGEST_SHARE:
        return "In a usual case the launches are too few to rule any slowdown out."
    return f"In a usual case a slowdown to {text.ratio(1 + found.smallest)} or more would be found here."


def differences(found: Contrast) -> tuple[tuple[str, str, str], ...]:
    """Return a row of name, A and B for each fact of the environment that differs."""
    return tuple((one.name, one.first, one.second) for one in found.differences)


def rows(found: Contrast) -> tuple[tuple[str, ...], ...]:
    """Return a row of `COLUMNS` for each case, worst first."""
    names = short_names([line.case for line in found.lines])
    return tuple(_row(line, name) for line, name in zip(found.lines, names, strict=True))


def _row(line: Line, name: str) -> tuple[str, ...]:
    verdict = line.verdict
    ratio = text.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    return (
        text.shorten(name, LONGEST_NAME),
        text.seconds(line.first_seconds),
        text.seconds(line.second_seconds),
        ratio,
        verdict.outcome,
    )


def shared_parts(keys: Sequence[str]) -> str:
    """Return the parts that all cases have in common, such as `call float32 cpu`; "" where there is but one."""
    columns = _columns(keys)
    return " ".join(column[0] for column in columns if len(set(column)) == 1)


def short_names(keys: Sequence[str]) -> list[str]:
    """Return cases without the parts that all of them have in common; names of other benchmarks stay as they are."""
    varying = [place for place, column in enumerate(_columns(keys)) if len(set(column)) > 1]
    return [" ".join(_parts(key)[place] for place in varying) if varying and _is_case(key) else key for key in keys]


def _columns(keys: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the parts of all cases, part by part; nothing for a single one, or for cases with parts left out."""
    cases = [_parts(key) for key in keys if _is_case(key)]
    alike = len({len(parts) for parts in cases}) == 1
    return list(zip(*cases, strict=True)) if alike and len(cases) > 1 else []


def _parts(key: str) -> list[str]:
    """Return the parts of the id of a case; what follows it, which environment it was measured in, is one more."""
    case, apart, environment = key.partition(" in ")
    return [*case.split("/"), *([f"in {environment}".replace("in TensorFlow ", "TF ")] if apart else [])]


def _is_case(key: str) -> bool:
    """Whether it is the id of a case, or one without variant and gradient."""
    return CASE.fullmatch(key) is not None


def alone(found: Contrast) -> tuple[tuple[str, str, str], ...]:
    """Return a row of side, reason and how many cases of it, with the first of them."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for one in found.alone:
        grouped.setdefault((one.side, one.reason), []).append(one.case)
    return tuple(
        (f"{len(cases):,}", side, f"{reason}; {'' if len(cases) == 1 else 'the first: '}{cases[0]}")
        for (side, reason), cases in grouped.items()
    )


def markdown(found: Contrast, failed: str) -> str:
    """Return the comparison as Markdown.

    Args:
        found: the comparison.
        failed: what it was to fail on, and whether it did, in words.
    """
    lines = [f"## {escape(title(found))}", "", escape(summary(found)), "", escape(failed), ""]
    lines += [f"- {escape(note)}" for note in notes(found)]
    if found.differences:
        lines += ["", "What else differs:", "", *_table(("environment", "A", "B"), differences(found))]
    shared = shared_parts([line.case for line in found.lines])
    lines += ["", escape(f"All are: {shared}") if shared else "", "", *_table(COLUMNS, rows(found))]
    if found.alone:
        lines += ["", "Without a number on the other side:", "", *_table(("cases", "only in", "why"), alone(found))]
    unresolved = _reasons(found)
    if unresolved:
        lines += ["", "Why cases are unresolved, the worst first:", "", *unresolved]
    return "\n".join(lines) + "\n"


MOST_REASONS = 20


def _reasons(found: Contrast) -> list[str]:
    open_ = [line for line in found.lines if line.verdict.outcome == "unresolved"]
    told = [f"- {escape(line.case)}: {escape(line.verdict.reason)}" for line in open_[:MOST_REASONS]]
    return told + ([f"- and {len(open_) - MOST_REASONS:,} more"] if len(open_) > MOST_REASONS else [])


def _table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    head = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    return head + [f"| {' | '.join(map(escape, row))} |" for row in cells]


def as_json(found: Contrast, fail_on: float | None, *, failed: bool) -> str:
    """Return the comparison as JSON.

    Args:
        found: the comparison.
        fail_on: the slowdown that it fails on, as a share; None for none.
        failed: whether it did.
    """
    sides = found.sides
    document = {
        "schema": SCHEMA,
        "axis": sides.axis,
        "tool": sides.tool,
        "a": _side(sides.first),
        "b": _side(sides.second),
        "paired": sides.paired or None,
        "minimum_effect": found.minimum_effect,
        "run_spread": None if sides.paired else found.run_spread,
        "smallest_found": found.smallest,
        "fail_on": fail_on,
        "failed": failed,
        "counts": found.counts(),
        "notes": notes(found),
        "differences": [asdict(one) for one in found.differences],
        "cases": [_case(line) for line in found.lines],
        "alone": [asdict(one) for one in found.alone],
    }
    return json.dumps(_finite(document), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _side(side: Side) -> dict[str, Any]:
    warnings = [warning for run in side.runs for warning in run.warnings]
    return {"label": side.label, "runs": [run.name for run in side.runs], "warnings": warnings}


def _case(line: Line) -> dict[str, Any]:
    verdict = line.verdict
    return {
        "case": line.case,
        "ratio": verdict.ratio,
        "low": verdict.low,
        "high": verdict.high,
        "p": verdict.p,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "a_seconds": line.first_seconds,
        "b_seconds": line.second_seconds,
        "a_launches": line.first_launches,
        "b_launches": line.second_launches,
    }


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
