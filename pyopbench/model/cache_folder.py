"""Folders of the user's cache, for what pyopbench makes once and uses in later runs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from pyopbench.model.errors import BadInput

VARIABLE = "XDG_CACHE_HOME"


def folder_of(name: str) -> Path:
    """Return where a folder of the cache is, whether it exists or not."""
    return Path(platformdirs.user_cache_dir("pyopbench", appauthor=False)) / name


def make_folder(name: str) -> Path:
    """Return a folder of the cache, created if necessary."""
    folder = folder_of(name)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"cannot create a folder in the cache: {error}",
            received=folder,
            hint=f"set {VARIABLE} to a folder that you can write to",
        ) from error
    return folder


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold the flock of a file, which is created; the lock ends with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
