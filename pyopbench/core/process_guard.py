"""Sees to it that no worker outlives its parent: a process that waits for the parent's end, and then ends the worker's.

A worker that hangs in C cannot look whether anybody is still there, and what its bodies have forked never would. The
guard sleeps in a read on a pipe that nobody writes to; when the parent has ended, however, the read returns.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

END_OF_GROUP = 'read -r _; kill -s KILL -- "-$1"'


def end_group(group: int) -> None:
    """End every process of a group, if any is left."""
    with suppress(ProcessLookupError, PermissionError):  # nobody is left; macOS says the latter of zombies
        os.killpg(group, signal.SIGKILL)


class Guard:
    """Ends a process group when this process has ended, even by kill -9."""

    def __init__(self, group: int) -> None:
        """Begin to watch over the process group of this id."""
        self._process = subprocess.Popen(
            ("/bin/sh", "-c", END_OF_GROUP, "pyopbench-guard", str(group)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Whoever ends the group of the parent, as a terminal or a supervisor does, does not end the guard.
            start_new_session=True,
        )

    def close(self) -> None:
        """Watch no longer. May be called twice."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
