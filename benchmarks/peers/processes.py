"""Starts a tool, and returns its output and how long it took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITES = Path(__file__).resolve().parent / "suites"
SOURCES = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))

TAIL_LINES = 15
"""How much of what a failed tool said is shown; the whole of it is in its log."""


class PeerFailed(Exception):
    """A tool ended with an error, or without results."""


@dataclass(frozen=True)
class Task:
    """What to measure and where to leave the files: `cases` are ids, `folder` is the tool's own and empty."""

    cases: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)


def call(
    task: Task, command: Sequence[str], log: str, *, legal: tuple[int, ...] = (0,), **variables: str
) -> tuple[float, str]:
    """Run `command` in the folder of the task.

    Args:
        task: whose cases and folder.
        command: arguments of this interpreter.
        log: name of the file that keeps stdout and stderr.
        legal: exit statuses that are no failure.
        variables: more of the environment.

    Returns:
        Wall seconds, and stdout and stderr together.

    Raises:
        PeerFailed: another exit status, with the end of what was said.
    """
    environment = {**os.environ, "PYTHONPATH": SOURCES, **task.environment, **variables}
    path = task.folder / log
    began = time.monotonic()
    with path.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, *command], cwd=task.folder, env=environment, stdout=file, stderr=file, check=False
        )
    seconds = time.monotonic() - began
    said = path.read_text(encoding="utf-8", errors="replace")
    if done.returncode not in legal:
        raise PeerFailed(f"exit status {done.returncode} of {' '.join(command)}\n{tail(said)}")
    return seconds, said


def tail(said: str) -> str:
    """Return the last lines."""
    return "\n".join(said.splitlines()[-TAIL_LINES:])
