"""The lock of a machine: who measures holds it, so that no two measurements disturb each other, whoever starts them.

It is a file in a folder that all users share, locked by flock(2). The lock ends with the last process that has the file
open, however that process ends. Nothing is ever written to the file: that a user can read it is enough to lock it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.host import host_name

FOLDER_VARIABLE = "PYOPBENCH_LOCK_FOLDER"
"""Names a folder in place of `FOLDER`: one that containers of a machine share, for example."""
FOLDER = Path("/tmp")
LOOK = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MODE = 0o644
ATTEMPT_SECONDS = 0.25
"""Between attempts: short beside any measurement, and too seldom to disturb one."""
KERNEL_LOCKS = Path("/proc/locks")

_held = threading.local()
"""What this thread holds, by path: a thread that measures within a measurement of its own does not wait for itself."""


def path_of(host: str) -> Path:
    """Return the file that a machine is locked by."""
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER) / f"pyopbench-measuring-{host}.lock"


@contextmanager
def held(waiting: Callable[[int | None], None] = lambda holder: None) -> Iterator[None]:
    """Hold the lock of this machine, waited for as long as another process has it.

    Args:
        waiting: is told once that the lock is waited for, with the id of the process that holds it, if that is known.

    Raises:
        BadInput: the file cannot be opened, or is no regular file.
    """
    path = path_of(host_name())
    mine: set[Path] = _held.__dict__.setdefault("locks", set())
    if path in mine:
        yield
        return
    descriptor = _open(path)
    try:
        _wait(descriptor, path, waiting)
        mine.add(path)
        yield
    finally:
        mine.discard(path)
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process that is just being started may have it open for a moment
        os.close(descriptor)


def is_free() -> bool:
    """Whether nobody measures on this machine at this moment.

    Raises:
        BadInput: as `held`.
    """
    descriptor = _open(path_of(host_name()))
    try:
        return _take(descriptor)
    finally:
        os.close(descriptor)


def holder(path: Path) -> int | None:
    """Return the id of the process that locked a file; None where nobody has, or the kernel does not tell."""
    with suppress(OSError):
        status = path.stat()
        wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in KERNEL_LOCKS.read_text(encoding="ascii").splitlines():
            words = line.split()
            if words[1:2] == ["FLOCK"] and wanted in words and words[4].isdigit():
                return int(words[4]) or None
    return None


def _open(path: Path) -> int:
    """Open the file of the lock; made without a look at what is there, since in /tmp another user may own it."""
    try:
        try:
            descriptor = os.open(path, LOOK)
        except FileNotFoundError:
            descriptor = os.open(path, LOOK | os.O_CREAT, MODE)
    except OSError as error:
        raise _unusable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unusable(path, "not a regular file")
    return descriptor


def _wait(descriptor: int, path: Path, waiting: Callable[[int | None], None]) -> None:
    is_told = False
    while not _take(descriptor):
        if not is_told:
            waiting(holder(path))
            is_told = True
        time.sleep(ATTEMPT_SECONDS)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unusable(path: Path, why: object) -> BadInput:
    return BadInput(
        "the lock that keeps two measurements on one machine apart cannot be used",
        received=f"{path}: {why}",
        legal="a regular file that you may read, in a folder that all who measure on this machine share",
        hint=f"remove it if nobody measures, or set {FOLDER_VARIABLE} to another folder",
    )
