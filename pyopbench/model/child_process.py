"""Child processes that end with their parent, and with all that they have started."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
"""Source: prctl(2)."""


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends, even by kill -9 and amid a hanging call.

    On Linux alone. Processes that this one starts are not covered.
    """
    if sys.platform == "linux":
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_group(group: int) -> None:
    """Kill every process of a process group, if any is left."""
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says the latter of zombies
        os.killpg(group, signal.SIGKILL)
