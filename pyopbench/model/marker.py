"""Which case a worker is at, in memory that it shares with its parent: written before each block, by no system call.

A line through the pipe costs some ten microseconds, wakes the parent and leaves caches cold, which the first call of
the block that follows would pay for. Nobody reads the memory until the worker has gone silent or ended.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import IO

VARIABLE = "PYOPBENCH_MARKER"
"""Environment variable that hands a worker the number of the open file behind the memory."""
BYTES = 4096
"""More than any id of a case; a longer one would be cut off."""


class Marker:
    """Holds the id of one case, or nothing."""

    def __init__(self, stream: IO[bytes] | None = None) -> None:
        """Share the memory of an open file of `BYTES` bytes; without one, share it with nobody."""
        self._memory = mmap.mmap(-1 if stream is None else stream.fileno(), BYTES)

    @classmethod
    def inherited(cls, environment: Mapping[str, str]) -> Marker:
        """Return the marker that a parent has handed over, or one of its own where there is no such parent."""
        if VARIABLE not in environment:
            return cls()
        with os.fdopen(int(environment[VARIABLE]), "r+b") as stream:
            return cls(stream)

    def set(self, case: str) -> None:
        """Say that the worker is at a case."""
        self._memory[:] = case.encode()[:BYTES].ljust(BYTES, b"\0")

    def clear(self) -> None:
        """Say that the worker is at no case."""
        self.set("")

    def get(self) -> str | None:
        """Return the case that the worker is at, or None."""
        return bytes(self._memory).rstrip(b"\0").decode(errors="replace") or None

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
