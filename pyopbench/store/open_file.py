"""The one way to read a file of results: as somebody else may have made it, so that it can neither hurt nor fool.

What is opened is a regular file, and no link: a named pipe would be waited for without end, a device has no end, and a
link in a folder that somebody else packed leads where they want. Each kind of file has a size that none of its kind
comes near, so that a file of gigabytes is refused before it fills the memory; `--settings file_limit` raises it.
Nothing else in the package opens a file of results.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pyopbench.model.errors import BadInput

MIB = 2**20
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
LONGEST_LINE_BYTES = 32 * MIB
"""Of samples: a line has those of one group in one launch, some kilobytes."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Attributes:
        name: for messages.
        most_bytes: a larger one is refused.
    """

    name: str
    most_bytes: int


RUN = Kind("a run.json", 32 * MIB)
SAMPLES = Kind("samples", 512 * MIB)
SIDES = Kind("a sides.json", MIB)
BESIDE = Kind("a file of a run", 32 * MIB)
CERTIFICATE = Kind("a certificate", MIB)
RECORDING = Kind("a part of a recording", 64 * MIB)
ADVICE_REPORT = Kind("the report of an advice", 64 * MIB)
MIX = Kind("a mix", 8 * MIB)
FOREIGN = Kind("results of another tool", 128 * MIB)
REPORT = Kind("a file of a report", 256 * MIB)
SOURCE = Kind("a Python source", 2 * MIB)  # of which Python's parser makes up to 1 GB
NOTEBOOK = Kind("a notebook", 64 * MIB)  # with pictures among its outputs
GRAPH = Kind("a stored graph", 512 * MIB)
CACHED = Kind("a file of the cache", 32 * MIB)


def open_file(path: Path, kind: Kind) -> IO[bytes]:
    """Open a file to be read.

    Raises:
        FileNotFoundError, NotADirectoryError: there is none.
        BadInput: it is a link or no regular file, too large, or may not be read.
    """
    try:
        descriptor = os.open(path, READ)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise _refusal(path, kind, "a link" if error.errno == errno.ELOOP else str(error.strerror)) from error
    except ValueError as error:  # a name with a null character
        raise _refusal(path, kind, str(error)) from error
    try:
        _check(path, kind, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_bytes(path: Path, kind: Kind) -> bytes:
    """Return what a file holds.

    Raises:
        FileNotFoundError, NotADirectoryError: there is none.
        BadInput: as `open_file`.
    """
    with open_file(path, kind) as stream:
        try:
            content = stream.read(kind.most_bytes + 1)
        except OSError as error:
            raise _refusal(path, kind, str(error.strerror)) from error
    if len(content) > kind.most_bytes:  # it has grown meanwhile
        raise _too_large(path, kind, len(content))
    return content


def read_lines(path: Path, kind: Kind) -> Iterator[bytes]:
    """Yield the lines of a file, each with its end, so that no more than one of them is held at a time.

    Raises:
        FileNotFoundError, NotADirectoryError: there is none.
        BadInput: as `open_file`; or a line is longer than any that is written.
    """
    most = LONGEST_LINE_BYTES
    with open_file(path, kind) as stream:
        number = 0
        try:
            while line := stream.readline(most + 1):
                number += 1
                if len(line) > most:
                    raise _refusal(path, kind, f"line {number} is longer than {most:,} bytes", limited=True)
                yield line
        except OSError as error:
            raise _refusal(path, kind, str(error.strerror)) from error


def _check(path: Path, kind: Kind, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _refusal(path, kind, _word_for(status.st_mode))
    if status.st_size > kind.most_bytes:
        raise _too_large(path, kind, status.st_size)


def _word_for(mode: int) -> str:
    """Return what something is that is no regular file."""
    words = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFSOCK: "a socket",
    }
    return words.get(stat.S_IFMT(mode), "no regular file")


def _too_large(path: Path, kind: Kind, size_bytes: int) -> BadInput:
    return _refusal(path, kind, f"{size_bytes:,} bytes, of at most {kind.most_bytes:,}", limited=True)


def _refusal(path: Path, kind: Kind, received: str, *, limited: bool = False) -> BadInput:
    raised = "--settings file_limit=4G raises the limit, if you trust the file"
    other = "name a file in its place" if received == "a folder" else "replace the link with the file"
    return BadInput(
        f"{kind.name} cannot be read",
        received=f"{path}: {received}",
        legal="a regular file that you can read, not a link",
        hint=raised if limited else other,
    )
