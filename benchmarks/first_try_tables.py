"""What docs/first-try.md says of results/first_try.json: how it was made, how many, and a row for each function."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from markdown_table import cell, table
from stored_document import environment_text

TRIED = ("traced", "traced_xla", "keras_ops", "njit", "tnp", "tnp_autograph", "tnp_xla")
"""The forms that pyopbench makes, from nothing but NumPy's body."""


def made(document: Mapping[str, Any]) -> str:
    """Return when, where and with what the table was made, as Markdown."""
    return f"Made on {document['created'][:10]} ({environment_text(document['environment'])}).\n"


def counted(document: Mapping[str, Any]) -> str:
    """Return for how many functions pyopbench made a right form, and for how many a faster one."""
    done = document["functions"]
    forms = [{name: one for name, one in found["right"].items() if name in TRIED} for found in done]
    faster = sum(any(one["outcome"] == "faster" for one in several.values()) for several in forms)
    perhaps = sum(any((one["ratio"] or 1) < 1 for one in several.values()) for several in forms)
    first = f"Of {len(done)} functions, {sum(map(bool, forms))} have a verified form that pyopbench made."
    return f"{first} For {faster} of them one is faster for certain, and for {perhaps} one came out faster.\n"


def functions(document: Mapping[str, Any]) -> str:
    """Return a row for each function, as Markdown."""
    head = ("function", "answer", "right, and its time as a share of the current", "why the others are not")
    return table(head, [_row(found) for found in document["functions"]])


def _row(found: Mapping[str, Any]) -> tuple[str, ...]:
    right = [f"`{variant}` {_time(one)}" for variant, one in sorted(found["right"].items())]
    by_reason: dict[str, list[str]] = {}
    for variant, one in found["not_right"].items():
        change = one["change"]
        known = f". Line {change['line']}: replace `{change['now']}` with `{change['then']}`" if change else ""
        by_reason.setdefault(f"{one['reason']}{known}", []).append(f"`{variant}`")
    why = [f"{', '.join(variants)}: {cell(reason)}" for reason, variants in by_reason.items()]
    command = cell(f"`{shlex.join(found['words'])}`")
    return command, cell(found["answer"]), "<br>".join(right) or "none", "<br>".join(why)


def _time(one: Mapping[str, Any]) -> str:
    if one["ratio"] is None:
        return "too small to time"
    mark = {"faster": ", faster"}.get(one["outcome"], ", perhaps" if one["ratio"] < 1 else "")
    return f"{one['ratio']:.2f}{mark}"
