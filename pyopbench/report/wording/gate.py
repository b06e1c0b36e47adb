"""What a run over revisions found, in words."""

from __future__ import annotations

from pyopbench.judge.comparison.diff import ComparedCase
from pyopbench.judge.comparison.gate import Gate
from pyopbench.model import formatting
from pyopbench.store.run_sides import Revision, Side, ValueDifference, short_hash

NO_VALUES = "No values were compared."
KINDS = {
    "outputs": "different values for the same inputs",
    "gradients": "different gradients for the same inputs",
    "raised": "fails on these inputs",
    "inputs": "the op has other inputs, so the times are for different work",
    "unknown": "not compared",
}


def name_text(version: Side) -> str:
    """Return a revision as it is asked for, with the beginning of its hash and its subject."""
    revision = version.revision
    if revision is None:
        return version.label
    short = "" if revision.commit.startswith(version.label) else f" ({_short(revision)})"
    return f"{version.label}{short}: {revision.subject}"


def _short(revision: Revision) -> str:
    return f"{short_hash(revision.commit)}{', not committed' if revision.dirty else ''}"


def answer_text(gate: Gate) -> str:
    """Return what came out, the gravest first, in one line."""
    found = [
        _some(len(gate.changed), "input gives different values", "inputs give different values"),
        _some(len(gate.broken), "side cannot be measured", "sides cannot be measured"),
        _some(len(gate.failing), "case fails that used to work", "cases fail that used to work"),
        _some(len(gate.slower), f"case is slower by {_fail_on(gate)}", f"cases are slower by {_fail_on(gate)}"),
    ]
    said = [one for one in found if one]
    if gate.outcome == "failed":
        return f"Failed: {formatting.listing(said)}."
    if gate.outcome == "nothing":
        return "Nothing to compare: no case has an interval on both sides."
    if gate.fail_on is None:
        return f"{formatting.count(gate.cases, 'case')} compared; slowdowns do not fail (--fail-on never)."
    passed = f"Passed: none of {formatting.count(gate.cases, 'case')} is clearly slower by {_fail_on(gate)}"
    if gate.smallest is not None and gate.smallest > gate.fail_on:  # a gate that sees nothing is not to look like one
        least = formatting.smallest_difference(gate.smallest)
        if least == formatting.TOO_NOISY:
            return f"{passed}, but it was {least}."
        return f"{passed}, but only slowdowns from {least} on would be found."
    return f"{passed}."


def _fail_on(gate: Gate) -> str:
    return f"{formatting.percent(gate.fail_on)} or more"


def _some(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}" if n else ""


def case_text(label: str, case: ComparedCase, many: int) -> str:
    """Return a case that is slower, with its ratio; with the revision where there are several."""
    verdict = case.verdict
    where = f"{label}: " if many > 1 else ""
    return f"{where}{case.key} is at {formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)}"


def difference_text(label: str, difference: ValueDifference) -> str:
    """Return what a revision computes otherwise than the first."""
    where = f"{difference.op} {difference.dtype} {difference.size:,}"
    return f"{label}, {where}: {KINDS[difference.kind]}: {difference.reason}"


def values_text(gate: Gate) -> str:
    """Return on how many inputs all revisions compute the same."""
    if gate.changed:
        return "Values differ, so the times below may be for different work."
    if not gate.compared_values:
        sides = {(one.environment, one.revision and one.revision.commit) for one in (gate.first, *gate.others)}
        return "All sides are the same, so no values were compared." if len(sides) == 1 else NO_VALUES
    return f"Values are the same as in {gate.first.label} ({gate.compared_values:,} compared)."


def twins_text(gate: Gate) -> str:
    """Return what became of the identical pairs."""
    if gate.twins is None or not gate.twins.cases:
        return "No identical pair was measured, so the effect of noise alone is unknown."
    counts, many = gate.twins.counts(), len(gate.twins.cases)
    apart = counts["slower"] + counts["faster"]
    farthest = max(abs(case.verdict.ratio - 1) for case in gate.twins.cases)
    warning = " Noise alone causes differences of this size here." if apart else ""
    return (
        f"Control: {gate.first.label} against itself, {formatting.count(many, 'pair')}: {apart:,} found different, "
        f"{counts['equivalent']:,} equivalent, {counts['unresolved']:,} unresolved; largest difference "
        f"{formatting.points(farthest)}.{warning}"
    )


def reach_text(gate: Gate) -> str:
    """Return which slowdown would have been found."""
    if gate.smallest is None:
        return "No case has an interval, so nothing can be said."
    least = formatting.smallest_difference(gate.smallest)
    if least == formatting.TOO_NOISY:
        return (
            "The results are too noisy: even a case that takes twice as long could be missed. Stop other work on the "
            "machine, or give the run more time."
        )
    return f"In a typical case, a slowdown of {least} or more would be found."


def problem_text(version: Side) -> str:
    """Return why nothing of a revision is planned."""
    return f"{version.label} is not measured: {version.problem}"


def broken_text(gate: Gate, version: Side) -> str:
    """Return why a revision is not compared."""
    found = gate.unmatched.get(version.label)
    return problem_text(version) if found is None else f"{version.label}: {found.in_a_line}"
