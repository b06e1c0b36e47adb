"""Rows of placement.json, made up: what a case copies on a route."""

from __future__ import annotations

from typing import Any

from pyopbench.model.case import Case
from pyopbench.store import counted_copies

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


def rows(*some: dict[str, Any]) -> list[counted_copies.CopiesRow]:
    return counted_copies.rows_of({"ops": {"sinh": {"arrays": ARRAYS}}, "variants": VARIANTS, "rows": some})


def one(variant: str = "native", **changes: Any) -> counted_copies.CopiesRow:
    (found,) = rows(row(variant, **changes))
    return found


ON_HOST = {"pinned": "host", "inputs": "host", "result": "host", "outputs_on": ["host"]}
