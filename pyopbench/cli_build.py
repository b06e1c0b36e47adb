"""`pyopbench build`: compile the C++ kernels ahead, so that no run has to."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from pyopbench.cli_options import AsJson, Ops
from pyopbench.cli_output import err, out, print_table
from pyopbench.files import find, require_known
from pyopbench.launch import ask_once

EXIT_REFUSED = 1


def build(ops: Ops = None, as_json: AsJson = False) -> None:
    """Compile the C++ kernels for this TensorFlow; those that are there already take no time.

    Exit code 1 if one cannot be compiled.
    """
    names = list(ops or ())
    require_known("op", names, find("ops"))
    with err.status("compiling"):
        answer = ask_once({"do": "build", "ops": names})
    if as_json:
        out.print_json(json.dumps(answer))
    else:
        _print(answer["libraries"], answer["reasons"], answer["without"])
    raise typer.Exit(EXIT_REFUSED if answer["reasons"] else 0)


def _print(libraries: dict[str, str], reasons: dict[str, str], without: list[str]) -> None:
    rows = [(name, Path(path).name) for name, path in libraries.items()]
    rows += [(name, f"refused: {reason}") for name, reason in reasons.items()]
    rows += [(name, "has no kernel") for name in without]
    print_table("Kernels", ("op", "library"), sorted(rows))
    folders = {str(Path(path).parent) for path in libraries.values()}
    for folder in sorted(folders):
        out.print(f"in {folder}", soft_wrap=True, markup=False)
