"""`pyopbench new`: files to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from pyopbench.cli.output import out
from pyopbench.cli.starting import start_op

new = typer.Typer(help="Write a file to start from.", no_args_is_help=True)


@new.callback()
def _new() -> None:
    """Write a file to start from."""


@new.command("op")
def new_op(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The new file, e.g. my_op.py.")],
    kernel: Annotated[bool, typer.Option("--kernel", help="Also write a C++ kernel beside it.")] = False,
) -> None:
    """Write a commented op file that runs as it is, for you to fill in."""
    for written in start_op(path, kernel=kernel):
        out.print(f"written: {escape(str(written))}", soft_wrap=True)
    out.print("replace its body and inputs with yours, then run:")
    for command in ("verify", "run --quick"):
        name, *options = command.split()
        out.print(f"  pyopbench {escape(shlex.join([name, str(path), *options]))}", soft_wrap=True)
