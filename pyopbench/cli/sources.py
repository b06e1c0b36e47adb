"""`pyopbench port`: a port as source, with its test."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from pyopbench.cli.output import err, out, say
from pyopbench.engine.port import write_port
from pyopbench.judge.ports import notes_text, pays_text
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput

TIMED_SECONDS = 2.0
"""For how long port and current callback are timed at each size, to say whether the port pays."""


def port(
    *, op: str, to: str, out_path: Path, inputs: Sequence[str], seed_with: str, test_timeout_seconds: float
) -> None:
    """Write a port of your op as source code, with a test against the old function."""
    _, own = read_ops([op], inputs, seed_with)
    if not own:
        raise BadInput(
            "only your own ops can be ported",
            received=op,
            hint="name my_op.py, my_module.py:function or package.module:function; "
            "the sources of built-in ops are in pyopbench/ops/builtin/",
        )
    with err.status("writing, testing and timing the port"):
        written = write_port(own.targets[0], to, out_path, test_timeout_seconds, timed_seconds=TIMED_SECONDS)
    for path in (written.port, written.test):
        out.print(f"written: {escape(str(path))}", soft_wrap=True)
    say(escape(f"tested without pyopbench: {', '.join(written.passed)}"))
    if written.ratios:
        say(escape(pays_text(written.ratios)))
    for note in notes_text(written):
        say(escape(note), err)
    if written.dataset:
        out.print(escape(f"call it in a pipeline: {written.dataset}"), soft_wrap=True)
    out.print(f"run its test: {escape(shlex.join([_python(), str(written.test)]))}", soft_wrap=True)


def _python() -> str:
    """Return the Python that runs this, as a shell in the current folder takes it; no environment has to be active."""
    here = Path(sys.executable)
    found = shutil.which("python")
    if found is not None and Path(found).absolute() == here.with_name("python"):
        return "python"
    return str(here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else str(here)
