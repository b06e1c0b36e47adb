"""The one way to write a file: whole or not at all, and never through a link that somebody else may have laid.

A folder that one was given may hold anything, links under any name too. So a name that is about to be made is random
and has to be new, what is opened to be appended to is no link, and everything happens in the folder as it was opened:
nobody can put another in its place on the way.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a named pipe in place of a file would be waited for without end.
THERE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MODE = 0o666
"""Less what the umask of whoever runs it takes off."""
NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
"""What file systems say that cannot write a folder to the disk, and need not."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, sees all of it or nothing.

    A link of that name is replaced, and what it leads to is left as it is.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    with written_atomically(path) as stream:
        stream.write(content)


@contextmanager
def written_atomically(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to, which has its name only when all of it is on the disk, as `write_atomically`.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    with _naming(path), opened_folder(path.parent) as folder:
        scratch = f".{path.name[:100]}.{secrets.token_hex(8)}"
        descriptor = os.open(scratch, NEW, MODE, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(scratch, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:  # the disk is full, for example: what there is of it would only take more
            with suppress(FileNotFoundError):
                os.unlink(scratch, dir_fd=folder)
            raise
        sync_folder(folder)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet; a link of that name counts as there, wherever it leads.

    Raises:
        FileExistsError: something of that name is there.
        OSError: it cannot be written.
    """
    with _naming(path), opened_folder(path.parent) as folder:
        descriptor = os.open(path.name, NEW, MODE, dir_fd=folder)
        try:
            _fill(descriptor, content)
        except BaseException:
            os.unlink(path.name, dir_fd=folder)
            raise
        sync_folder(folder)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the path of the file to errors: otherwise they name no file, or a scratch file without its folder."""
    try:
        yield
    except OSError as error:
        if error.filename is None or os.sep not in str(error.filename):
            error.filename = str(path)
            del error.filename2  # if it were set to None, the message would end in `-> None`
        raise


@contextmanager
def opened_folder(path: Path) -> Iterator[int]:
    """Give the descriptor of a folder: what is done with it is done there, whatever becomes of the path."""
    descriptor = os.open(path, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_to_change(name: str, folder: int, flags: int) -> int:
    """Open a file that is written to in place, and return its descriptor.

    Args:
        name: of the file.
        folder: descriptor of its folder.
        flags: of `os.open`, such as `os.O_WRONLY | os.O_APPEND | os.O_CREAT`.

    Raises:
        OSError: it is a link, no regular file, or a file that has a second name, under which it would change too.
    """
    descriptor = os.open(name, flags | THERE, MODE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        if status.st_nlink > 1:
            raise OSError(
                errno.EMLINK, "the file has another name (a hard link), under which it would change too", name
            )
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def sync_folder(folder: int) -> None:
    """Have the names in a folder on the disk, where its file system can."""
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def _fill(descriptor: int, content: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
