"""Files are written whole or not at all: a reader, or a crash, sees all of a file or what was there before."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

MODE = 0o666
"""Less what the umask of whoever runs it takes off."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file by a temporary one next to it. A link of that name is replaced, and what it leads to stays as it is.

    Raises:
        OSError: it cannot be written; what was there is as it was.
    """
    descriptor, scratch = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(scratch, MODE & ~_umask())
        os.replace(scratch, path)
    except BaseException:  # the disk is full, for example: what there is of it would only take more
        os.unlink(scratch)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is not there yet; a link of that name counts as there, wherever it leads.

    Raises:
        FileExistsError: something of that name is there.
    """
    with path.open("xb") as stream:
        stream.write(content)
