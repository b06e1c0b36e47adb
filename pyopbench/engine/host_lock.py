"""The lock of a machine: held while measuring, so that two runs never disturb each other.

It is a file in a folder that all users share, locked by flock(2), so that it ends with its process. Nothing is written
to it: to lock it, a user only has to be able to read it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.host import host_name

FOLDER_VARIABLE = "PYOPBENCH_LOCK_FOLDER"
"""Names a folder in place of `FOLDER`: one that containers of a machine share, for example."""
FOLDER = Path("/tmp")
HELD = "PYOPBENCH_MEASURING"
"""Is set while this process holds the lock, for measurements within a measurement and for child processes."""


def lock_path() -> Path:
    """Return the file that this machine is locked by."""
    return Path(os.environ.get(FOLDER_VARIABLE) or FOLDER) / f"pyopbench-measuring-{host_name()}.lock"


@contextmanager
def held(waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold this machine's lock; while another process has it, wait, after one call of `waiting`."""
    if HELD in os.environ:
        yield
        return
    with _opened() as descriptor:
        if not _take(descriptor):
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.environ[HELD] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[HELD]


def is_free() -> bool:
    """Whether nobody measures on this machine at this moment."""
    with _opened() as descriptor:
        return _take(descriptor)


@contextmanager
def _opened() -> Iterator[int]:
    path, flags = lock_path(), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:  # Linux lets nobody open with O_CREAT what another user has made in /tmp
            descriptor = os.open(path, flags | os.O_CREAT, 0o644)
    except OSError as error:
        raise BadInput(
            "the lock that keeps two runs from measuring at once cannot be used",
            received=f"{path}: {error}",
            hint=f"remove it if nothing is being measured, or set {FOLDER_VARIABLE} to another folder",
        ) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
