"""`pyopbench new`: files to start from."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.markup import escape

from pyopbench.cli.output import out
from pyopbench.cli.starting import start_op


def new_op(path: Path, *, kernel: bool) -> None:
    """Write a commented op file that runs as it is, for you to fill in."""
    for written in start_op(path, kernel=kernel):
        out.print(f"written: {escape(str(written))}", soft_wrap=True)
    out.print("replace its body and inputs with yours, then run:")
    for command in ("verify", "run --quick"):
        name, *options = command.split()
        out.print(f"  pyopbench {escape(shlex.join([name, str(path), *options]))}", soft_wrap=True)
