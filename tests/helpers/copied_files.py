"""Rows of copies.json, made up, and a whole one."""

from __future__ import annotations

from typing import Any

GPU = {"name": "G", "held_back_by": ["power cap"]}


def gpu_document(*gpus: dict[str, Any], reason: str = "") -> dict[str, Any]:
    way = {"way": "w", "direction": "to the device", "rounds": 40}
    rows = [
        {**way, "size": 1, "bytes": 4, "seconds": 1e-5, "memory": ["pageable"]},
        {**way, "size": 2**20, "bytes": 2**22, "seconds": 1e-3, "memory": ["pageable", "pinned"]},
        {**way, "way": "v", "size": 1, "bytes": 4, "seconds": 2e-5, "memory": []},
    ]
    reading = {"gpus": list(gpus), "reason": reason}
    facts = {"devices": ["CPU:0", "GPU:0 (G)"]}
    return {"transfers": {"environment": facts, "gpu": [reading, reading], "rows": rows}}


def row(size: int, seconds: float, *, shared: bool = False, bridge: str = "b") -> dict[str, Any]:
    way = {"bridge": bridge, "direction": "array to tensor", "mode": "call", "layout": "aligned"}
    return {**way, "size": size, "bytes": 4 * size, "shared": shared, "seconds": seconds}


def document(*rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "schema": 1,
        "refused": [],
        "environment": {"tensorflow": "2.21.0"},
        "hazards": [
            {"bridge": "b", "mode": "call", "overwrites": True},
            {"bridge": "c, .numpy()", "mode": "call", "overwrites": False},
            {"bridge": "b", "mode": "eager", "overwrites": False},
            {"bridge": "c, .numpy()", "mode": "eager", "overwrites": False},
        ],
        "rows": list(rows),
    }
