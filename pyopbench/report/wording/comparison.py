"""What a comparison of two sides found, in words."""

from __future__ import annotations

from dataclasses import dataclass

from pyopbench.judge.comparison.diff import Comparison, UnmatchedCase
from pyopbench.judge.comparison.notes import (
    DifferentProcessors,
    NoInterval,
    Note,
    NotPaired,
    Paired,
    Reach,
    SmallestSlowdown,
    SteppedDown,
    reach_of,
)
from pyopbench.model import formatting
from pyopbench.report.wording.limitations import limitation_text
from pyopbench.report.wording.verdicts import unresolved_text

PAIRED = {
    "round": "Both were timed in the same rounds of the same processes, so ratios are paired by round.",
    "block": "Both were sampled right after one another in every sweep, so ratios are paired by sweep.",
}


@dataclass(frozen=True)
class NoteText:
    """A note in a sentence or two; `heading` is what must not be overlooked, and "" where nothing is."""

    text: str
    heading: str = ""

    def __str__(self) -> str:
        return f"{self.heading}: {self.text}" if self.heading else self.text


def title(comparison: Comparison) -> str:
    """Return what was compared with what, in one line."""
    sides = comparison.sides
    return f"{sides.second.label} (B) against {sides.first.label} (A), by {sides.axis}, measured by {sides.tool}"


def summary(comparison: Comparison) -> str:
    """Return how many cases have which verdict."""
    counts = [f"{count:,} {outcome}" for outcome, count in comparison.counts().items() if count]
    return f"{formatting.count(len(comparison.cases), 'case')} compared: {formatting.listing(counts)}."


def reach(comparison: Comparison) -> str:
    """Return which slowdown would have been found, in a sentence."""
    return _reach(reach_of(comparison))


def note_text(note: Note) -> NoteText:
    """Return what a reader has to know before the table."""
    match note:
        case DifferentProcessors(first, second):
            said = f"{first} in A, {second} in B. The ratios compare machines, not code."
            return NoteText(said, "DIFFERENT PROCESSORS")
        case Paired(by):
            return NoteText(PAIRED[by])
        case NotPaired():
            return NoteText(_not_paired(note), "UNPAIRED")
        case SteppedDown():
            return NoteText(_stepped_down(note))
        case NoInterval() | SmallestSlowdown():
            return NoteText(_reach(note))
        case _:
            return NoteText(limitation_text(note))


def unmatched_text(case: UnmatchedCase) -> str:
    """Return why the other side has no number for a case, a clause."""
    other = "B" if case.side == "A" else "A"
    match case.kind:
        case "failed":
            return f"{case.status} in {other}: {case.reason}"
        case "not_reached":
            return f"planned in {other} but not reached"
        case "not_measured":
            return f"not measured in {other}"


def _not_paired(note: NotPaired) -> str:
    return (
        "A and B were not measured interleaved, so each interval is widened by at least "
        f"{formatting.percent(note.run_spread)} (one standard deviation) for the difference between runs, and by more "
        f"where other cases differ more. The common change of all cases, {formatting.ratio(note.common)}, is "
        "attributed to the machine."
    )


def _stepped_down(note: SteppedDown) -> str:
    shared = ["All cases"]
    shared += [f"{note.comparisons} comparisons of this run"] if note.comparisons > 1 else []
    shared += [f"{note.looks} looks at the data"] if note.looks > 1 else []
    return (
        f"{formatting.listing(shared)} are corrected together (Holm), so that the chance of any false verdict is at "
        f"most {formatting.percent(note.error)}."
    )


def _reach(found: Reach) -> str:
    match found:
        case NoInterval(reason):
            why = f": {unresolved_text(reason)}" if reason is not None else ""
            return f"No case has an interval, so nothing can be said{why}."
        case SmallestSlowdown(slowdown) if formatting.smallest_difference(slowdown) == formatting.TOO_NOISY:
            return (
                "The results are too noisy: even a case that takes twice as long could be missed. Stop other work on "
                "the machine, use more launches, or measure both in one run."
            )
        case SmallestSlowdown(slowdown):
            return f"In a typical case, a slowdown to {formatting.ratio(1 + slowdown)} or more would be found."
