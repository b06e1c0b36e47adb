"""Whether a process has ended, and what a killed one has left in the temporary folder."""

from __future__ import annotations

import os
import select
from pathlib import Path

LONG = 60.0


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def has_ended(pid: int, seconds: float = LONG) -> bool:
    """Wait for the end of a process that is no child, and so might stay a zombie."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([descriptor], [], [], seconds)
    os.close(descriptor)
    return bool(ended)


def left_in(folder: Path) -> list[str]:
    """Return what killed processes have left in their temporary folder, once all guards over it have ended."""
    for guard in _named_with(f"\0{folder}{os.sep}pyopbench-"):
        assert has_ended(guard)
    return sorted(os.listdir(folder))


def _named_with(text: str) -> list[int]:
    """Return the processes whose command line, in which words are parted by null characters, has a text."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes()
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
        found += [int(file.parent.name)] if os.fsencode(text) in words else []
    return found
