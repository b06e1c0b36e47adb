"""A whole placement.json, made up."""

from __future__ import annotations

from typing import Any

import counted_files


def document(**changes: Any) -> dict[str, Any]:
    on_host = {"pinned": "host", "inputs": "host", "result": "host", "outputs_on": ["host"]}
    rows = [
        {**counted_files.row(variant, **given), **route}
        for variant, given in (("native", {}), ("py_func", {"to_device": [1, 8], "to_host": [1, 8]}))
        for route in ({}, on_host, {"inputs": "host"}, {"result": "host"})
    ]
    rows += [counted_files.row(name, inputs="host", result="host") for name in ("native", "py_func")]
    rows += [counted_files.row(name, **{**on_host, **way}) for name in ("native", "py_func") for way in (
        {"result": "device"}, {"inputs": "device"}, {"inputs": "device", "result": "device"})]  # fmt: skip
    ops = {"sinh": {"size_unit": "elements", "arrays": counted_files.ARRAYS}}
    head = {"schema": 1, "device": "simulated", "tensorflow": "2.21.0", "ops": ops}
    return {**head, "variants": counted_files.VARIANTS, "rows": rows, "failures": [], "holes": [], **changes}
