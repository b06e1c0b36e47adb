"""What `pyopbench port` prints of a port."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from rich.markup import escape

from pyopbench.cli.output import err, out, say
from pyopbench.engine.port import WrittenPort
from pyopbench.judge.ports import notes_text, pays_text

TIMED_SECONDS = 2.0
"""For how long port and current callback are timed at each size, to say whether the port pays."""


def print_port(written: WrittenPort) -> None:
    """Print what was written, what was checked, and how to run the test."""
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
