"""Folders of the cache for what pyopbench makes once and then runs, and which therefore nobody else may write to."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import platformdirs

from pyopbench.core.errors import BadInput


def folder_of(name: str) -> Path:
    """Return where a folder of the cache is, whether it is there or not."""
    return Path(platformdirs.user_cache_dir("pyopbench", appauthor=False)) / name


def private_folder(name: str, what: str) -> Path:
    """Return a folder of the cache, made if it is not there, which nobody else can write to.

    Args:
        name: of the folder.
        what: is in it, for the message.

    Raises:
        BadInput: it cannot be made, or it is somebody else's.
    """
    folder = folder_of(name)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise BadInput(
            f"the folder for {what} cannot be made: {error}",
            received=folder,
            legal="a folder that can be written to",
            next_step="set XDG_CACHE_HOME to one",
        ) from error
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise BadInput(
            f"others can write to the folder for {what}, and what is in there would be run",
            received=folder,
            legal="a folder of your own that nobody else may write to",
            next_step=f"chmod 700 {shlex.quote(str(folder))}, if it is yours, or set XDG_CACHE_HOME",
        )
    return folder
