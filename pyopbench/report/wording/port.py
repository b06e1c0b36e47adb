"""What is said of a port that was written as source."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from pyopbench.core import formatting
from pyopbench.judge.writable_ports import WritablePort

NOTES = {
    "fixed shapes": "Shapes must be known when it is traced; in a Dataset, use batches of a fixed size.",
    "callback": "It is still a callback, so neither XLA nor a SavedModel in another process can run it.",
}
"""Sentences by the kind of what holds for a port."""


def notes_text(notes: Sequence[str], not_run: Sequence[tuple[str, int]], *, is_formatted: bool) -> tuple[str, ...]:
    """Return a sentence for each thing that a reviewer should know.

    Args:
        notes: kinds, as `run.port.PortFiles` has them.
        not_run: file and line of what no example went through.
        is_formatted: was the source formatted?
    """
    found = [NOTES[note] for note in notes]
    if not_run:
        lines = formatting.listing([f"{Path(file).name}:{line}" for file, line in not_run])
        found.append(f"No example ran {lines}, which was copied as it is: check it, or add an input that runs it.")
    if not is_formatted:
        found.append("ruff is not installed, so the source is not formatted.")
    return tuple(found)


def command_text(port: WritablePort) -> str:
    """Return the command line that writes a port, as a shell takes it."""
    return shlex.join(port.words)


def how_to_write(port: WritablePort) -> str:
    """Return what to do to have an answer as source."""
    return f"Write {port.op} as {port.variant}, with a test: {command_text(port)}"
