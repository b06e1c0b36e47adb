"""The parts of an advice that `programs.py` stores, and its counts."""

from __future__ import annotations

from typing import Any

from outside import programs

CALLBACK: dict[str, Any] = {
    "file": "train.py", "line": 3, "function": "main.<locals>.f", "kind": "numpy_function", "where": "graph",
    "most": 0.5, "action": "port", "variant": "traced", "why": "", "gain": None, "withdrawn": [],
    "promised": {"value": 0.3, "low": 0.2, "high": 0.4},
}  # fmt: skip


def program(name: str, saved: float, high: float, **changes: Any) -> dict[str, Any]:
    realised = {"value": saved, "low": saved - 0.1, "high": high}
    callback = {**CALLBACK, **changes}
    is_changed = callback["action"] != "leave"
    shares = {"promised": callback["promised"], "realised": realised, "loss_difference": None}
    return {"program": name, "seconds": 60.0, "callbacks": [callback], "is_changed": is_changed, **shares}


def test_promises_kept_and_missed_are_counted_and_what_was_withdrawn_has_a_row() -> None:
    tried = {"variant": "njit", "why": "slower", "promised": CALLBACK["promised"], "realised": None}
    found = [
        program("kept", 0.35, 0.45),
        program("missed", 0.6, 0.7),
        program("slower", -0.3, -0.2),
        program("left", 0.0, 0.1, action="leave", withdrawn=[tried]),
        {"program": "failed", "seconds": 3.0, "error": "no"},
    ]
    document = {"programs": found}
    assert programs._counts(document) == {
        "programs": 5,
        "failed": 1,
        "left as they are": 1,
        "changed": 3,
        "within what was promised": 1,
        "outside of what was promised": 2,
        "slower": 1,
    }
    rows = [row for one in found for row in programs._rows(one)]
    assert [row[0] for row in rows] == ["kept", "missed", "slower", "left", "left", "failed"]
    assert [row[7] for row in rows[:3]] == ["yes", "no", "no"]
    assert {len(row) for row in rows} == {len(programs.COLUMNS)}
