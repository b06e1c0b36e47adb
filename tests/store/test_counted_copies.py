"""What counts mean: the least that has to cross, worked out by hand, and what a reader of the counts would miss."""

from __future__ import annotations

from typing import Any

import pytest

from counted_files import ON_HOST, one, row, rows
from pyopbench.store import counted_copies
from pyopbench.store.counted_copies import Note


@pytest.mark.parametrize(
    ("variant", "changes", "least"),
    [
        ("native", {}, (0, 0)),
        ("native", {"inputs": "host"}, (8, 0)),
        ("native", {"result": "host"}, (0, 4)),
        ("native", {"inputs": "host", "result": "host", "outputs_on": ["host"]}, (0, 0)),
        ("native", {"outputs_on": ["host"]}, (4, 8)),  # it computes on the host: down with the inputs, up with results
        ("py_func", {}, (4, 8)),  # Python computes on the host, wherever the result is left
        ("native", {"direction": "forward_backward"}, (0, 0)),
        ("native", {"direction": "forward_backward", "inputs": "host", "result": "host"}, (8 + 4, 4 + 8)),
        ("py_func", {"direction": "forward_backward"}, (4 + 8, 8 + 4)),
        # forward on the host, backward on the device: the inputs have to go there, the output gradients come from there
        ("native", {"direction": "forward_backward", "inputs": "host", "outputs_on": ["host"]}, (4 + 8, 8)),
    ],
)
def test_the_least_that_has_to_cross(variant: str, changes: dict[str, Any], least: tuple[int, int]) -> None:
    assert counted_copies.least_bytes(one(variant, **changes)) == least


def test_what_crosses_beyond_that_is_told_one_way_and_both_ways() -> None:
    assert counted_copies.excess(one(to_device=[1, 8], to_host=[1, 4])) == "both_ways"
    assert counted_copies.excess(one(to_device=[1, 8])) == "one_way"
    assert counted_copies.excess(one(inputs="host", to_device=[1, 8])) == "none"
    assert counted_copies.excess(one(refused="no")) == "none"


def test_fallbacks_and_refusals_are_noted() -> None:
    def kinds(row: counted_copies.CopiesRow) -> list[str]:
        return [note.kind for note in counted_copies.notes(row)]

    assert counted_copies.notes(one(refused="no kernel", varies=True)) == [Note("refused", "no kernel")]
    assert kinds(one()) == []
    assert kinds(one(outputs_on=["host"])) == ["falls_back"]
    assert kinds(one("py_func")) == ["result_moved"]
    assert kinds(one(varies=True)) == ["varies"]
    body = one("py_function", **ON_HOST, to_device=[1, 8], to_host=[1, 4])
    assert kinds(body) == ["body_unpinned"]
    gradient = one(direction="forward_backward", pinned="host", outputs_on=["host"])
    assert kinds(gradient) == ["gradient_unpinned"]


def test_a_remedy_is_named_where_it_saves_copies() -> None:
    bounced = row("py_func", **ON_HOST, to_device=[1, 8], to_host=[1, 4])
    (saving,) = counted_copies.remedy_savings(rows(bounced, row("better", **ON_HOST)), {"py_func": "better"})
    assert (saving.row.case.variant, saving.remedy.case.variant) == ("py_func", "better")
    assert (saving.row.copies, saving.remedy.copies) == (2, 0)
    same = rows(bounced, {**bounced, "case": row("better")["case"]})
    assert counted_copies.remedy_savings(same, {"py_func": "better"}) == []


def test_at_each_place_the_best_pinning_of_each_variant_stands_for_it() -> None:
    found = rows(
        row(pinned="unpinned", to_device=[1, 8]),
        row(pinned="device"),
        row("py_func", pinned="host", to_device=[1, 4], to_host=[1, 8]),
        row("py_func", pinned="device", to_device=[2, 8], to_host=[1, 8]),
        row("py_function", refused="no"),
    )
    (copies,) = counted_copies.copies_at_places("sinh", found)
    assert (copies.op, copies.direction, copies.place) == ("sinh", "forward", "device")
    assert {name: best.pinned for name, best in copies.best.items()} == {"native": "device", "py_func": "host"}


def test_forward_and_backward_together_stand_for_an_op_that_has_both() -> None:
    found = rows(row(), row(direction="forward_backward"), row(**ON_HOST), row(direction="forward_backward", **ON_HOST))
    copies = counted_copies.copies_at_places("sinh", found)
    assert [(one.direction, one.place) for one in copies] == [
        ("forward_backward", "device"),
        ("forward_backward", "host"),
    ]
