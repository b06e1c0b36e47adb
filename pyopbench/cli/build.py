"""`pyopbench build`: compile the C++ kernels ahead, so that no run has to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine.worker_process import ask_once
from pyopbench.model.discover import bring_own, find, require_known

EXIT_REFUSED = 1


def build(ops: Sequence[str], *, as_json: bool) -> int:
    """Compile the C++ kernels ahead of a run, for the installed TensorFlow."""
    names = bring_own(ops, ())
    require_known("op", names, find("ops"))
    with err.status("compiling"):
        answer = ask_once({"do": "build", "ops": names})
    if as_json:
        out.print_json(json.dumps(answer))
    else:
        _print(answer)
    return EXIT_REFUSED if answer["reasons"] or answer["gpu"]["reasons"] else 0


def _print(answer: dict[str, Any]) -> None:
    on_gpu = answer["gpu"]
    print_table("Kernels", ("op", "library"), _rows(answer))
    if not on_gpu["reason"]:
        print_table("CUDA kernels", ("op", "library"), _rows(on_gpu))
    libraries = (*answer["libraries"].values(), *on_gpu["libraries"].values())
    for folder in sorted({str(Path(path).parent) for path in libraries}):
        out.print(f"in {folder}", soft_wrap=True, markup=False)
    if on_gpu["reason"]:
        say(escape(f"no CUDA kernels: {on_gpu['reason']}"))


def _rows(compiled: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, Path(path).name) for name, path in compiled["libraries"].items()]
    rows += [(name, f"does not compile: {reason}") for name, reason in compiled["reasons"].items()]
    rows += [(name, "no kernel") for name in compiled["without"]]
    return sorted(rows)
