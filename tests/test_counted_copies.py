"""What counts mean: the least that has to cross, worked out by hand, and words for the rest."""

from __future__ import annotations

from typing import Any

import pytest

from pyopbench import counted_copies
from pyopbench.model import Case

ARRAYS = {"inputs": 8, "outputs": 4, "output_gradients": 4, "input_gradients": 8}
VARIANTS = {
    "native": {"kind": "port", "body": "tensor"},
    "py_func": {"kind": "callback", "body": "numpy"},
    "py_function": {"kind": "callback", "body": "tensor"},
    "better": {"kind": "callback", "body": "numpy"},
}


def row(variant: str = "native", **changes: Any) -> dict[str, Any]:
    direction, mode = changes.pop("direction", "forward"), changes.pop("mode", "call")
    case = Case("sinh", variant, "none", direction, mode, "float32", 10, "simgpu")
    to_device, to_host = changes.pop("to_device", [0, 0]), changes.pop("to_host", [0, 0])
    counts = {"to_device": to_device, "to_host": to_host, "on_device": [0, 0]}
    return {
        "case": case.id,
        "pinned": "device",
        "inputs": "device",
        "result": "device",
        "fresh": counts,
        "warm": counts,
        "varies": False,
        "outputs_on": ["device"],
        "gradients_on": ["device"] if direction != "forward" else [],
        **changes,
    }


def rows(*some: dict[str, Any]) -> list[counted_copies.Row]:
    return counted_copies.rows_of({"ops": {"sinh": {"arrays": ARRAYS}}, "variants": VARIANTS, "rows": some})


def one(variant: str = "native", **changes: Any) -> counted_copies.Row:
    (found,) = rows(row(variant, **changes))
    return found


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


def test_what_crosses_beyond_that_is_marked() -> None:
    assert counted_copies.mark(one(to_device=[1, 8], to_host=[1, 4])) == counted_copies.BOUNCES
    assert counted_copies.mark(one(to_device=[1, 8])) == counted_copies.EXCESS
    assert counted_copies.mark(one(inputs="host", to_device=[1, 8])) == ""
    assert counted_copies.count_text(one(to_device=[1, 8], to_host=[2, 4])) == "1↑ 2↓ *"
    assert counted_copies.count_text(one()) == "none"
    assert counted_copies.count_text(one(refused="no")) == "refused"


def test_fallbacks_and_refusals_are_told_in_words() -> None:
    assert "falls back" in counted_copies.sentences(one(outputs_on=["host"]))[0]
    assert counted_copies.sentences(one(refused="no kernel")) == ["refused: no kernel"]
    assert counted_copies.sentences(one()) == []
    assert "puts the result on the device" in counted_copies.sentences(one("py_func"))[0]
    assert "differ from call to call" in counted_copies.sentences(one(varies=True))[0]
    body = one("py_function", pinned="host", inputs="host", result="host", outputs_on=["host"],
               to_device=[1, 8], to_host=[1, 4])  # fmt: skip
    assert "without the device scope" in counted_copies.sentences(body)[0]
    gradient = one(direction="forward_backward", pinned="host", outputs_on=["host"])
    assert any("does not reach its gradient" in told for told in counted_copies.sentences(gradient))


def test_a_remedy_is_told_where_it_saves_copies() -> None:
    on_host = {"pinned": "host", "inputs": "host", "result": "host", "outputs_on": ["host"]}
    bounced = row("py_func", **on_host, to_device=[1, 8], to_host=[1, 4])
    saves = rows(bounced, row("better", **on_host))
    assert counted_copies.remedy_sentences(saves, {"py_func": "better"}) == [
        "forward, in a tf.function, everything on the host: 1↑ 1↓ with py_func, none with better"
    ]
    assert (
        counted_copies.remedy_sentences(
            rows(bounced, {**bounced, "case": row("better")["case"]}), {"py_func": "better"}
        )
        == []
    )


def test_where_an_op_should_run_is_told_by_the_best_pinning_of_each_variant() -> None:
    found = rows(
        row(pinned="unpinned", to_device=[1, 8]),
        row(pinned="device"),
        row("py_func", pinned="host", to_device=[1, 4], to_host=[1, 8]),
        row("py_func", pinned="device", to_device=[2, 8], to_host=[1, 8]),
        row("py_function", refused="no"),
    )
    (told,) = counted_copies.where_to_run("sinh", found)
    assert told == (
        "sinh, forward, with inputs and result on the device: nothing crosses with native (pinned to the device); "
        "at least 12 B per call with py_func (pinned to the host)."
    )
