"""Runs in which every text that is free is hostile: to terminals, to markup, and to scripts that look names up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stored

NASTY = "\x1b]0;owned\x07 \x9b2J \u202egnp.exe\u2028[/] [bold]x :bomb: \\"
OPS = ("constructor", "__proto__", f"bad {NASTY.replace('/', '')}")


def nasty(value: Any) -> Any:
    """Return JSON with every text that is free made hostile."""
    return {key: f"{inner} {NASTY}" if isinstance(inner, str) else inner for key, inner in value.items()}


def write_run(folder: Path, variants: Sequence[str] = ("well", "native"), **environment: str) -> Path:
    """Write a run of `OPS`, whose variants, at least `well` and `native`, are as slow as each other."""
    cases = [stored.case(variant, op, size) for op in OPS for variant in variants for size in (1, 10)]
    content = stored.run(cases, environment=nasty({**stored.ENVIRONMENT, **environment}), command=["pyopbench", NASTY])
    content["catalogue"]["ops"] = {op: nasty(stored.OP) for op in OPS}
    content["catalogue"]["variants"]["native"] = {**stored.VARIANT, "kind": "port", "summary": NASTY}
    content["skips"] = [{**stored.failure(stored.case("other"), "unsupported", None), "reason": NASTY}]
    lines = []
    for launch in range(3):
        lines.append(stored.launch_line(launch))
        for op in OPS:
            for size in (1, 10):
                both = [stored.case(variant, op, size) for variant in variants]
                failed = [{**stored.failure(stored.case("broken", op, size)), "reason": NASTY}]
                lines.append(stored.group_line(launch, both, failed, 0.5 + 0.01 * launch))
    return stored.write(folder, content, lines)
