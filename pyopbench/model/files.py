"""Files: written whole or not at all, locked, in the user's cache, run as modules; and paths as users give them."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import platformdirs

CACHE_VARIABLE = "XDG_CACHE_HOME"


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with its links followed, as far as they lead anywhere.

    `Path.resolve` raises a `RuntimeError` at links that lead to each other (before Python 3.13); here such a path
    stays as it is, and whoever opens it gets the system's error.
    """
    return Path(os.path.realpath(path))


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file by a temporary one next to it. A link of that name is replaced, and what it leads to stays as it is.

    A reader, or a crash, sees all of it or what was there before; so after an `OSError`, too.
    """
    scratch = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with scratch.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(scratch, path)
    except BaseException:  # the disk is full, for example: what there is of it would only take more
        scratch.unlink(missing_ok=True)
        raise


def cache_folder(name: str) -> Path:
    """Return where a folder of the cache is, for what is made once and used in later runs; it need not exist."""
    return Path(platformdirs.user_cache_dir("pyopbench", appauthor=False)) / name


def make_cache_folder(name: str) -> Path:
    """Return a folder of the cache, created if necessary."""
    folder = cache_folder(name)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


@contextmanager
def hold_lock(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the flock of a file, which is created; while another process has it, wait, after one call of `waiting`.

    The lock ends with the process. Nothing is written to the file: to lock it in /tmp, a user only has to be able to
    read it. NFS wants a file that is open for writing.
    """
    access = os.O_RDWR | os.O_CREAT
    if path.exists():  # with O_CREAT, Linux lets nobody open what another user has made in /tmp
        access = os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY
    descriptor = os.open(path, access | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def load_file(path: Path, name: str) -> ModuleType:
    """Run a Python file as a module with a name, under which it can be imported from then on; return the module."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None  # a .py file has both
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
