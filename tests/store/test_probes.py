"""The file of what probes found: it comes back as it was written, files can be joined and compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe_files import document, row
from pyopbench.model.errors import BadInput
from pyopbench.store import probes as stored_probes
from pyopbench.store.probes import ProbeRow, Told


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    made = document(row("xla", "native"), row("xla", "py_func", "fails", "no kernel — für XLA"))
    stored_probes.write(tmp_path / "new" / "probes.json", made)
    assert stored_probes.read(tmp_path / "new" / "probes.json") == made
    assert stored_probes.rows_of(made)[1] == ProbeRow("xla", "py_func", "fails", "no kernel — für XLA", "", {}, 0.5)


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        "[]",
        "no json",
        json.dumps({**document(), "schema": 3}),
        json.dumps(document(row("xla", "native", "perhaps"))),
        json.dumps({**document(), "rows": [{"probe": "xla"}]}),
        json.dumps({key: value for key, value in document().items() if key != "tensorflow"}),
    ],
)
def test_anything_else_is_refused_with_what_to_do(tmp_path: Path, content: str) -> None:
    path = tmp_path / "probes.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        stored_probes.read(path)
    assert refused.value.hint == f"create it again: pyopbench probe --out {path}"


def test_of_two_documents_the_newer_row_counts() -> None:
    older = document(row("xla", "native", "fails"), row("tflite", "native"))
    newer = document(row("xla", "native"), row("xla", "py_func", "fails"), row("xla", "native", "fails", op="sinh"))
    both = stored_probes.merged(older, newer)
    found = {one.key: one.status for one in stored_probes.rows_of(both)}
    assert found == {
        (None, "tflite", "native"): "works",
        (None, "xla", "native"): "works",
        (None, "xla", "py_func"): "fails",
        ("sinh", "xla", "native"): "fails",
    }
    assert set(both["probes"]) == {"xla", "tflite"}
    assert stored_probes.merged(None, newer) == newer


def test_changes_are_the_cells_of_another_status() -> None:
    before = document(row("xla", "native"), row("tflite", "native", "fails", "a"), row("gradient", "native"))
    after = document(row("xla", "native", "fails"), row("tflite", "native", "fails", "b"), row("xla", "traced"))
    found = [(one.probe, one.label, one.before and one.before.status, one.after and one.after.status)
             for one in stored_probes.changes(before, after)]  # fmt: skip
    assert found == [
        ("xla", "native", "works", "fails"),
        ("gradient", "native", "works", None),
        ("xla", "traced", None, "works"),
    ]


def test_a_finding_is_told_once_for_all_that_it_holds_for() -> None:
    rows = [row("xla", "py_func", "fails", "no"), row("xla", "native"), row("xla", "numba", "fails", "no")]
    made = document(*rows, row("xla", "numba", "fails", "no", op="sinh"))
    assert stored_probes.told_once(stored_probes.rows_of(made)) == [
        Told(None, "xla", "works", ("native",), ""),
        Told(None, "xla", "fails", ("py_func", "numba"), "no"),
        Told("sinh", "xla", "fails", ("numba",), "no"),
    ]
