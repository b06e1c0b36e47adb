"""Loads compiled libraries into TensorFlow.

A library of the cache is opened once: what was checked is what is loaded, whatever lies under its name by then.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.cache_folder import is_own
from pyopbench.model.failures import describe_error
from pyopbench.ops.kernels.compiler import CannotCompile

# Without O_NONBLOCK a named pipe in place of a library would be waited for without end.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DESCRIPTORS = Path("/proc/self/fd")
"""Of this process, each a path to the file that is open; Linux has it."""

_numbers = [100]
"""The last descriptor that a library had; at first a number above those that a process usually has."""


@cache
def load_custom_ops(path: Path) -> Any:
    """Load the custom ops of a library, once in a process, and return the module of their Python functions.

    Raises:
        CannotCompile: TensorFlow cannot load it, or others can change it.
    """
    return load(path, tf.load_op_library, f"TensorFlow cannot load {path.name}")


def load(path: Path, loader: Callable[[str], Any], failed: str) -> Any:
    """Load a library, and return what its loader returns.

    Args:
        path: of the library, in the cache.
        loader: is given a path to the very file that was checked.
        failed: what is said where it cannot be loaded, before the loader's words.

    Raises:
        CannotCompile: it cannot be loaded, or others can change it.
    """
    try:
        with opened_library(path) as opened:
            try:
                return loader(opened)
            except (tf.errors.OpError, OSError, RuntimeError) as error:
                words = describe_error(error).replace(opened, str(path))
                raise CannotCompile(f"{failed}: {words}") from error
    except OSError as error:
        raise CannotCompile(f"{failed}: {describe_error(error)}") from error


@contextmanager
def opened_library(path: Path) -> Iterator[str]:
    """Open a library, check what was opened, and give the path by which that very file is loaded.

    Args:
        path: in a folder that `cache_folder.private_folder` has returned.

    Raises:
        CannotCompile: it is a link, no regular file, or others can write to it.
        OSError: it is not there, or cannot be opened.
    """
    if path.is_symlink():  # which opening refuses as well, with other words on each system
        raise _refusal(path)
    descriptor = os.open(path, READ)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or not is_own(status):
            raise _refusal(path)
        if DESCRIPTORS.is_dir():
            descriptor = _renumbered(descriptor)
            yield str(DESCRIPTORS / str(descriptor))
        else:
            # macOS loads no library from a descriptor. Who could put another there has to be the user or root, who
            # alone can write to the folder and to those above it.
            yield str(path)
    finally:
        os.close(descriptor)


def _renumbered(descriptor: int) -> int:
    """Move a descriptor to a number that no library has had.

    The loader and TensorFlow know libraries by their paths, and take one whose path they know for loaded.
    """
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _numbers[-1] + 1)
    _numbers.append(moved)
    os.close(descriptor)
    return moved


def _refusal(path: Path) -> CannotCompile:
    return CannotCompile(
        "other users can change this compiled library, and pyopbench would run it",
        received=path,
        hint=f"rm {shlex.quote(str(path))}: it will be compiled again",
    )
