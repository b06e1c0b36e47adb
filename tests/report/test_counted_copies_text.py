"""Counted copies in words: what a cell of a table says, what a note, and where an op should run."""

from __future__ import annotations

from typing import get_args

import pytest

from counted_files import ON_HOST, one, row, rows
from pyopbench.report.counted_copies_text import count_text, marks_text, note_text, place_text, remedy_text
from pyopbench.store.counted_copies import Note, NoteKind, copies_at_places, remedy_savings


def test_a_count_is_marked_where_more_crosses_than_has_to() -> None:
    assert count_text(one(to_device=[1, 8], to_host=[2, 4])) == "1↑ 2↓ *"
    assert count_text(one(to_device=[1_000, 8])) == "1,000↑ +"
    assert count_text(one(inputs="host", to_device=[1, 8])) == "1↑"
    assert count_text(one()) == "none"
    assert count_text(one(refused="no")) == "refused"
    assert marks_text() == (
        "* more than necessary is copied in both directions; + more than necessary is copied in one direction"
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("refused", "refused: no kernel"),
        ("falls_back", ("falls back: pinned to the device, it computes on the host, because it has no kernel there")),
        ("result_moved", "its Python runs on the host, and TensorFlow copies the result to the device"),
        (
            "body_unpinned",
            "its body runs outside the device scope of the op, so its ops run on the device",
        ),
        (
            "gradient_unpinned",
            "a device scope around the op does not apply to its gradient, which stays on the device",
        ),
        ("varies", "counts differ from call to call"),
    ],
)
def test_each_note_has_its_words(kind: NoteKind, said: str) -> None:
    assert note_text(Note(kind, "no kernel" if kind == "refused" else "")) == said


def test_no_note_is_without_words() -> None:
    assert all(note_text(Note(kind)) for kind in get_args(NoteKind))


def test_a_remedy_is_told_with_both_counts() -> None:
    bounced = row("py_func", **ON_HOST, to_device=[1, 8], to_host=[1, 4])
    (saving,) = remedy_savings(rows(bounced, row("better", **ON_HOST)), {"py_func": "better"})
    expected = "forward, in a tf.function, everything on the host: 1↑ 1↓ with py_func, none with better"
    assert remedy_text(saving) == expected


def test_where_an_op_should_run_is_told_by_the_best_pinning_of_each_variant() -> None:
    found = rows(
        row(pinned="device"),
        row("py_func", pinned="host", to_device=[1, 4], to_host=[1, 8]),
        row("py_function", pinned="unpinned", to_device=[1, 4], to_host=[1, 8]),
    )
    (copies,) = copies_at_places("sinh", found)
    assert place_text(copies) == (
        "sinh, forward, with inputs and result on the device: nothing is copied with native (pinned to the "
        "device); at least 12 B per call with py_func (pinned to the host) and py_function (unpinned)."
    )
    (nowhere,) = copies_at_places("sinh", found[1:2])
    assert place_text(nowhere) == (
        "sinh, forward, with inputs and result on the device: every variant copies; at least 12 B per call "
        "with py_func (pinned to the host)."
    )
