"""Counted copies in words: cells of tables, notes on them, and where an op should run."""

from __future__ import annotations

from pyopbench.model import formatting
from pyopbench.model.places import UNPINNED
from pyopbench.store.counted_copies import CopiesAtPlace, CopiesRow, Excess, Note, RemedySaving, excess

MODE_WORDS = {"call": "in a tf.function", "eager": "eager"}
MARKS: dict[Excess, str] = {"both_ways": "*", "one_way": "+"}
MARK_WORDS: dict[Excess, str] = {
    "both_ways": "more than necessary is copied in both directions",
    "one_way": "more than necessary is copied in one direction",
}
NOTES = {
    "falls_back": "falls back: pinned to the device, it computes on the host, because it has no kernel there",
    "result_moved": "its Python runs on the host, and TensorFlow copies the result to the device",
    "body_unpinned": ("its body runs outside the device scope of the op, so its ops run on the device"),
    "gradient_unpinned": ("a device scope around the op does not apply to its gradient, which stays on the device"),
    "varies": "counts differ from call to call",
}


def marks_text() -> str:
    """Return what the marks of `count_text` mean."""
    return "; ".join(f"{mark} {MARK_WORDS[kind]}" for kind, mark in MARKS.items())


def count_text(row: CopiesRow) -> str:
    """Return the copies to the device and to the host, marked: `1↑ 2↓ *`, or `none`, or `refused`."""
    if row.refused:
        return "refused"
    return " ".join([_counts(row), *filter(None, [MARKS.get(excess(row), "")])])


def _counts(row: CopiesRow) -> str:
    fresh = row.counts["fresh"]
    arrows = ((fresh["to_device"][0], "↑"), (fresh["to_host"][0], "↓"))
    return " ".join(f"{count:,}{arrow}" for count, arrow in arrows if count) or "none"


def note_text(note: Note) -> str:
    """Return a note as the end of a sentence that names a variant."""
    return f"refused: {note.message}" if note.kind == "refused" else NOTES[note.kind]


def pinned_text(row: CopiesRow) -> str:
    """Return where the op of a row is pinned."""
    return row.pinned if row.pinned == UNPINNED else f"pinned to the {row.pinned}"


def remedy_text(saving: RemedySaving) -> str:
    """Return what a remedy saves."""
    row, remedy = saving.row, saving.remedy
    where = f"{formatting.direction(row.case.direction)}, {MODE_WORDS[row.case.mode]}, everything on the host"
    return f"{where}: {_counts(row)} with {row.case.variant}, {_counts(remedy)} with {remedy.case.variant}"


def place_text(copies: CopiesAtPlace) -> str:
    """Return in one sentence which variants copy nothing where inputs and result are on a place, and what others do."""
    free = [_named(row) for _, row in sorted(copies.best.items()) if not row.copies]
    moved: dict[int, list[str]] = {}
    for _, row in sorted(copies.best.items()):
        if row.copies:
            moved.setdefault(sum(row.moved), []).append(_named(row))
    parts = [f"nothing is copied with {formatting.listing(free)}" if free else "every variant copies"]
    parts += [
        f"at least {formatting.byte_count(size)} per call with {formatting.listing(names)}"
        for size, names in sorted(moved.items())
    ]
    head = f"{copies.op}, {formatting.direction(copies.direction)}, with inputs and result on the {copies.place}"
    return f"{head}: {'; '.join(parts)}."


def _named(row: CopiesRow) -> str:
    return f"{row.case.variant} ({pinned_text(row)})"
