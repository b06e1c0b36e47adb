"""What is known of the end of a worker: its exit code or signal, and the line of its log that says most."""

from __future__ import annotations

import os
import re
import signal
from typing import IO

LOG_NOISE = re.compile(r"[IW]\d{4} |\d{4}-\d\d-\d\d [^]]*: [IW] |WARNING: All log messages before absl")
"""Beginnings of lines that TensorFlow logs without anything being wrong: information and warnings."""

LOG_PREFIX = re.compile(r"^[EF]\d{4} [\d:.]+\s+\d+ ")
"""Severity, time and thread of a line that TensorFlow logs: nothing that tells two runs of the same apart."""

FATAL = "Fatal Python error: "
"""How Python's faulthandler begins: what is wrong, then a stack for each thread, the current one first."""

FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')

LIBRARY = re.compile(r"/lib/python\d|<frozen")

LONGEST = 200

TAIL_BYTES = 64_000
"""More than the stacks of a hundred threads, which are behind the words that count."""


def how_ended(code: int) -> str:
    """Return how a process ended in words, by its exit code; below 0 it is the number of a signal."""
    return f"ended by signal {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"


def tail_of(log: IO[bytes]) -> str:
    """Return the end of a log."""
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - TAIL_BYTES))
    return log.read().decode(errors="replace")


def cause_of_end(log: str, case: str | None) -> str:
    """Return the line of a log that tells most about how a worker ended; nothing if none tells anything.

    Args:
        log: the end of the log.
        case: the case that the worker was at; only what was logged since it said so counts.
    """
    since = log if case is None else log.rpartition(case)[2]
    said, fatal, dump = since.partition(FATAL)
    lines = [line.strip() for line in said.splitlines()]
    telling = [LOG_PREFIX.sub("", line) for line in lines if line and not LOG_NOISE.match(line)]
    if not fatal:
        return telling[-1][:LONGEST] if telling else ""
    # "Aborted" alone says less than what was said before it, for example by a `terminate` for want of memory.
    return "; ".join(part for part in (_place(dump), telling[-1][:LONGEST] if telling else "") if part)


def _place(dump: str) -> str:
    """Return what was wrong and where: the innermost frame that is not of Python's own library or of a package."""
    what, _, stacks = dump.partition("\n")
    current = stacks.partition("Current thread")[2].partition("\n\n")[0]
    frames = list(FRAME.finditer(current))
    own = [frame for frame in frames if not LIBRARY.search(frame["file"])]
    frame = next(iter(own or frames), None)
    return f"{what.strip()} in {frame['function']} ({frame['file']}:{frame['line']})" if frame else what.strip()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
