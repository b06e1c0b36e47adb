"""What a run over revisions found: Markdown for a pull request, JSON, and JUnit's XML for continuous integration."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from pyopbench.judge.comparison import gate as wording
from pyopbench.judge.comparison.diff import ComparedCase, Comparison, notes_of
from pyopbench.judge.comparison.gate import CHANGED, Gate
from pyopbench.model import formatting
from pyopbench.model.printable import printable
from pyopbench.model.write_file import write_atomically
from pyopbench.report import comparison
from pyopbench.report.markdown import escape
from pyopbench.store.types import Side

SCHEMA = 1
COMMENT, DOCUMENT, JUNIT = "comment.md", "gate.json", "junit.xml"
MOST_LINES = 30
"""Of the comment: what a reviewer reads without scrolling."""
MOST_FOUND = 6
"""Lines of each kind of finding; all are in the JSON."""
COLUMNS = ("revision", "case", "before", "after", "ratio (interval)", "verdict")
TOGETHER = ("revision", "case", "time", "ratio (interval)", "verdict")
"""The columns where several revisions are in one table, which goes without what is the same in each of them."""


def write(gate: Gate, folder: Path) -> None:
    """Write the comment, the JSON and JUnit's XML into a folder."""
    write_atomically(folder / COMMENT, comment(gate).encode())
    write_atomically(folder / DOCUMENT, as_json(gate).encode())
    write_atomically(folder / JUNIT, junit(gate))


def comment(gate: Gate) -> str:
    """Return Markdown for a comment: the answer first, at most `MOST_LINES` lines, all cases in a folded table."""
    others = formatting.listing([one.label for one in gate.others])
    lines = [
        f"### pyopbench: {escape(gate.answer_text())}",
        "",
        escape(f"{others} against {gate.first.label}"),
        "",
    ]
    warning = gate.warning_text()
    lines += [f"- {escape(line)}" for line in (*((warning,) if warning else ()), *findings(gate))]
    unpaired = [one for found in gate.comparisons.values() for one in notes_of(found) if one.kind == "not_paired"]
    lines += [f"- {escape(one.text())}" for one in unpaired[:1]]
    known = [gate.values_text(), gate.reach_text(), gate.control_text(), gate.machine_text()]
    lines += [f"- {escape(one)}" for one in known]
    return printable("\n".join(_with_table(gate, lines)) + "\n")


def findings(gate: Gate) -> list[str]:
    """Return what there is to say of single inputs, revisions and cases, the gravest kind first."""
    many = len(gate.others)
    kinds = (
        [wording.difference_text(label, one) for label, one in gate.differences],
        [gate.broken_text(one) for one in gate.unmeasured],
        [f"{label}: {comparison.failing_text(case)}" for label, case in gate.failing],
        [
            wording.body_text(label, body, many)
            for label, found in gate.comparisons.items()
            for body in found.bodies
            if body.verdict.outcome != "equivalent"
        ],
        [wording.case_text(label, case, many) for label, case in gate.slower],
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
    head += [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    tail = ["", "</details>"]
    room = MOST_LINES - len(lines) - len(head) - len(tail)
    shown = rows if len(rows) <= room else rows[: max(room - 2, 1)]
    if len(shown) < len(rows):
        tail = ["", f"and {len(rows) - len(shown):,} more, in {DOCUMENT}", *tail]
    return [*lines, *head, *(f"| {' | '.join(map(escape, row))} |" for row in shown), *tail]


def _rows(gate: Gate) -> Iterator[tuple[str, ...]]:
    """Yield a row of `COLUMNS` for each case of each revision, the worst first."""
    rows = [
        (case, (label, *row))
        for label, one in gate.comparisons.items()
        for case, row in zip(one.cases, comparison.rows(one), strict=True)
    ]
    yield from (row for _, row in sorted(rows, key=lambda item: _badness(item[0])))


@dataclass(frozen=True)
class RevisionTable:
    """Several revisions against the first in one table.

    Attributes:
        shared: what all cases have in common; the whole of a case that is the only one.
        columns: those of `TOGETHER`, without the case where there is but one.
        rows: in the order of revisions.
        more: how many rows are left out.
    """

    shared: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int


def table_together(gate: Gate, most: int) -> RevisionTable:
    """Return the cases of all revisions: every one that is slower, and of the others at most so many in all.

    What is faster goes before what is not told apart, and of those the furthest from 1.
    """
    alike = ((label, sorted(one.cases, key=lambda case: case.case)) for label, one in gate.comparisons.items())
    found = [(label, case) for label, cases in alike for case in cases]
    ranked = sorted(range(len(found)), key=lambda place: _rank(found[place][1]))
    slower = sum(case.verdict.outcome == "slower" for _, case in found)
    kept = sorted(ranked[: max(most, slower)])
    keys = list(dict.fromkeys(case.case for _, case in found))
    names = dict(zip(keys, comparison.short_names(keys), strict=True))
    rows = [(found[place][0], names[found[place][1].case], *_cells(found[place][1])) for place in kept]
    more = len(found) - len(kept)
    if len(keys) > 1:
        return RevisionTable(comparison.shared_parts(keys), TOGETHER, tuple(rows), more)
    without = tuple((label, *cells) for label, _, *cells in rows)
    return RevisionTable(keys[0], (TOGETHER[0], *TOGETHER[2:]), without, more)


def _cells(case: ComparedCase) -> tuple[str, ...]:
    verdict = case.verdict
    ratio = formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    return formatting.seconds(case.second_seconds), ratio, verdict.outcome


def _rank(case: ComparedCase) -> tuple[int, float]:
    outcome, ratio = case.verdict.outcome, case.verdict.ratio
    order = {"slower": 0, "faster": 1}.get(outcome, 2)
    return order, -abs(math.log(ratio)) if math.isfinite(ratio) and ratio > 0 else 0.0


def _badness(case: ComparedCase) -> float:
    return -case.verdict.ratio if math.isfinite(case.verdict.ratio) else 0.0


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
        "failing": [{"side": label, **asdict(case)} for label, case in gate.failing],
        "comparisons": {label: _comparison(one, gate) for label, one in gate.comparisons.items()},
        "unmatched": {label: error.in_a_line for label, error in gate.unmatched.items()},
        "twins": None if gate.twins is None else _comparison(gate.twins, gate),
        "machine": None if gate.machine is None else {**asdict(gate.machine), "is_quiet": gate.machine.is_quiet},
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


def junit(gate: Gate) -> bytes:
    """Return JUnit's XML: a suite for each revision, in it a test for its values and one for each case.

    What is slower is a failure, what is unresolved is skipped, a revision that cannot be measured is an error. Source
    of the elements: the schema of Jenkins' xUnit plugin, which GitLab and others read.
    """
    suites = ET.Element("testsuites", name="pyopbench")
    for one in gate.others:
        suite = ET.SubElement(suites, "testsuite", name=_xml(wording.name_text(one)))
        _values_test(suite, gate, one)
        found = gate.comparisons.get(one.label)
        if found is not None:
            slower = {id(case) for case in found.slower_by(gate.fail_on)} if gate.fail_on is not None else set()
            failing = {id(body) for _, body in gate.slower_bodies}
            for body in found.bodies:
                test = ET.SubElement(suite, "testcase", classname="pyopbench.bodies", name=_xml(str(body.key)))
                if id(body) in failing:
                    ET.SubElement(test, "failure", message=_xml(body.text()))
                ET.SubElement(test, "system-out").text = _xml(body.text())
            for case in found.cases:
                _case_test(suite, case, is_slower=id(case) in slower)
        for unmatched in (case for label, case in gate.failing if label == one.label):
            test = ET.SubElement(suite, "testcase", classname="pyopbench.cases", name=_xml(unmatched.case))
            ET.SubElement(test, "failure", message=_xml(comparison.failing_text(unmatched)))
        _count(suite)
    text: str = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _values_test(suite: ET.Element, gate: Gate, version: Side) -> None:
    test = ET.SubElement(suite, "testcase", classname="pyopbench.values", name="same values")
    if version in gate.unmeasured:
        ET.SubElement(test, "error", message=_xml(gate.broken_text(version)))
        return
    for one in (one for one in version.values.differences if one.kind in CHANGED):
        ET.SubElement(test, "failure", message=_xml(wording.difference_text(version.label, one)))


def _case_test(suite: ET.Element, case: ComparedCase, *, is_slower: bool) -> None:
    verdict = case.verdict
    seconds = f"{case.second_seconds:.9f}" if math.isfinite(case.second_seconds) else "0"
    test = ET.SubElement(suite, "testcase", classname="pyopbench.cases", name=_xml(case.case), time=seconds)
    ratio = formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    if is_slower:
        ET.SubElement(test, "failure", message=_xml(f"slower: {ratio}"))
    elif verdict.outcome == "unresolved":
        why = verdict.reason.text() if verdict.reason is not None else ""
        ET.SubElement(test, "skipped", message=_xml(f"unresolved: {ratio}; {why}"))
    ET.SubElement(test, "system-out").text = _xml(f"{verdict.outcome}: {ratio}")


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(name, str(sum(test.find(kind) is not None for test in suite.findall("testcase"))))


def _xml(text: str) -> str:
    """Return text without what XML 1.0 cannot hold."""
    return printable(text)
