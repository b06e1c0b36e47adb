"""Child processes: workers, which end with their parent and name the case they are at, and programs that print.

Before each block, a worker writes the case into memory that it shares with its parent, without a system call. A line
through the pipe would take some ten microseconds, wake the parent and leave caches cold, so the first call of the next
block would be slower. Nobody reads the memory until the worker has gone silent or ended.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pyopbench.model.errors import PyopbenchError

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
"""Source: prctl(2)."""
MARKER_VARIABLE = "PYOPBENCH_MARKER"
"""Environment variable that hands a worker the number of the open file behind the memory."""
MARKER_BYTES = 4096
"""More than any id of a case; a longer one would be cut off."""
PROGRAM_SECONDS = 60


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


class Marker:
    """The id of one case, or nothing, in the memory of an open file of `MARKER_BYTES` bytes."""

    def __init__(self, file: int = -1) -> None:
        """Share the memory of the file with this descriptor; with -1, share it with nobody."""
        self._memory = mmap.mmap(file, MARKER_BYTES)

    @classmethod
    def inherited(cls, environment: Mapping[str, str]) -> Marker:
        """Return the marker that a parent has handed over, or one that nobody shares if there is no such parent."""
        return cls(int(environment.get(MARKER_VARIABLE, "-1")))

    def set(self, case: str) -> None:
        """Note that the worker is at a case, or at none if it is empty."""
        self._memory[:] = case.encode()[:MARKER_BYTES].ljust(MARKER_BYTES, b"\0")

    def get(self) -> str | None:
        """Return the case that the worker is at, or None."""
        return bytes(self._memory).rstrip(b"\0").decode(errors="replace") or None


def which(program: str) -> str | None:
    """Return the path of a program next to this Python, else that on PATH; None where there is none."""
    return shutil.which(program, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")


class ProgramFailed(PyopbenchError):
    """A program failed, could not be started, or timed out. The message is the end of its error output."""


def output_of(
    command: Sequence[str], seconds: float = PROGRAM_SECONDS, variables: Mapping[str, str] | None = None
) -> str:
    """Return what a program prints, without space around it; `variables` are its environment, None for this one's.

    Raises:
        ProgramFailed: it fails, cannot be started or takes more than so many seconds.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=seconds, check=True, env=variables
        )
    # A null character is a ValueError: no program can get it.
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        words = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
        last = [line.strip() for line in words.strip().splitlines()[-3:]]
        raise ProgramFailed(" ".join(last) or "no message") from error
    return done.stdout.strip()
