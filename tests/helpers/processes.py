"""Whether a process has ended."""

from __future__ import annotations

import os
import select

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
