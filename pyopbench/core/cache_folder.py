"""Folders of the cache for what pyopbench makes once and then runs, and which therefore nobody else may write to."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import platformdirs

from pyopbench.core.errors import BadInput

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


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
        exposed = _exposed(folder)
    except OSError as error:
        raise BadInput(
            f"the folder for {what} cannot be made: {error}",
            received=folder,
            legal="a folder that can be written to",
            next_step="set XDG_CACHE_HOME to one",
        ) from error
    if exposed is not None:
        raise BadInput(
            f"others can put something into the folder for {what}, and what is in there would be run",
            received=exposed,
            legal="a folder of your own and no link, that nobody else may write to, in folders of yours or of root",
            next_step=f"chmod go-w {shlex.quote(str(exposed))}, if it is yours, or set XDG_CACHE_HOME",
        )
    return folder


def _exposed(folder: Path) -> Path | None:
    """Return the first of a folder and those above it through which others can change what is in it; None if none is.

    Who may write to a folder above can put another in the place of this one; `sshd` asks the same before it takes keys.
    """
    own = folder.lstat()
    if stat.S_ISLNK(own.st_mode) or own.st_uid != os.getuid() or own.st_mode & OTHERS_WRITE:
        return folder
    above = dict.fromkeys((*folder.absolute().parents, *folder.resolve().parents))
    return next((path for path in above if not _is_kept(path.stat())), None)


def _is_kept(status: os.stat_result) -> bool:
    """Whether a folder is one's own or the system's, in which nobody else can rename what is not theirs."""
    kept = not status.st_mode & OTHERS_WRITE or bool(status.st_mode & stat.S_ISVTX)  # such as /tmp
    return kept and status.st_uid in (0, os.getuid())
