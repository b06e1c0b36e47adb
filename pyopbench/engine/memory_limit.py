"""How much memory a worker may take, and who has to go when the machine has none left."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

from pyopbench.model.errors import BadInput

LEAST_BYTES = 2 << 30
"""TensorFlow 2.21 imports, and callbacks are measured, within it (tests/end_to_end/test_faults.py)."""

FIRST_TO_GO = "1000"
"""The highest oom_score_adj of Linux, proc(5): any process may raise its own or a child's, none may lower it."""


def require_limitable(limit_bytes: int) -> None:
    """Check that a limit can be set here, and leaves TensorFlow room.

    Raises:
        BadInput: it cannot or does not.
    """
    if sys.platform != "linux":
        raise BadInput(
            "the memory of a worker can only be limited on Linux",
            received=f"a limit on {sys.platform}",
            legal="Linux",
            hint="leave the limit out, or use a container that has one",
        )
    if limit_bytes < LEAST_BYTES:
        raise BadInput(
            "TensorFlow needs more memory than that",
            received=f"{limit_bytes:,} bytes",
            legal=f"at least {LEAST_BYTES >> 30}G",
            hint="for example 8G on the command line, 8 << 30 from Python",
        )


def limit(process: int, limit_bytes: int) -> None:
    """Have allocations of a child process, and of what it starts, fail beyond a limit; each process by itself.

    The limit is on private writable memory (RLIMIT_DATA, setrlimit(2), which counts mappings since Linux 4.7), not on
    addresses: TensorFlow reserves many more addresses than it ever uses.
    """
    if sys.platform == "linux":
        with suppress(ProcessLookupError):  # it has ended already
            resource.prlimit(process, resource.RLIMIT_DATA, (limit_bytes, limit_bytes))


def offer(process: int) -> None:
    """Have the kernel end a child process before any other when memory runs out, so that the parent survives."""
    with suppress(OSError):  # not Linux, or already gone
        Path(f"/proc/{process}/oom_score_adj").write_text(FIRST_TO_GO, encoding="ascii")
