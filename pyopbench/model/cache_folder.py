"""Folders of the cache for what pyopbench makes once and then runs, and which therefore nobody else may write to.

What is asked of a folder, of those above it and of what is run from it is what `sshd` asks of keys (StrictModes): the
owner is the user or root, and nobody else may write to it.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shlex
import stat
from contextlib import suppress
from pathlib import Path

import platformdirs

from pyopbench.model.errors import BadInput

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
ROOT = 0
VARIABLE = "XDG_CACHE_HOME"


def folder_of(name: str) -> Path:
    """Return where a folder of the cache is, whether it is there or not.

    Root with the home of another user (`sudo` that keeps HOME) has the cache of its own home, as ssh has its keys: what
    lies in the user's would be run as root, and what root puts there the user could not take away.
    """
    folder = Path(platformdirs.user_cache_dir("pyopbench", appauthor=False))
    home = Path.home()
    if os.geteuid() == ROOT and not os.environ.get(VARIABLE) and home in folder.parents and _is_foreign(home):
        folder = Path(pwd.getpwuid(ROOT).pw_dir) / folder.relative_to(home)
    return folder / name


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
        _make_private(folder)
        exposed = exposed_part(folder)
    except OSError as error:
        raise BadInput(
            f"cannot create the folder for {what}: {error}",
            received=folder,
            hint="set XDG_CACHE_HOME to a folder that you can write to",
        ) from error
    if exposed is not None:
        raise refusal(exposed, what)
    return folder


def _make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for its owner alone.

    `mkdir(parents=True)` gives its mode to the last one only: with a umask of 002 those above could be written to by a
    group, and would then be refused.
    """
    missing = itertools.takewhile(lambda path: not path.exists(), folder.parents)
    for path in (*reversed(list(missing)), folder):
        path.mkdir(mode=0o700, exist_ok=True)


def private_tree(name: str, what: str) -> Path:
    """Return a folder of the cache as `private_folder`, whose files too nobody else has made or can write to.

    Raises:
        BadInput: as `private_folder`; or one of them is somebody else's.
    """
    folder = private_folder(name, what)
    exposed = exposed_inside(folder)
    if exposed is not None:
        raise refusal(exposed, what)
    return folder


def refusal(exposed: Path, what: str) -> BadInput:
    """Return the error of a path of the cache through which others can change `what` is run from there."""
    return BadInput(
        f"other users can write to the folder for {what}, and pyopbench runs what is in it",
        received=exposed,
        hint="it has to be a folder (not a link) that only you can write to, inside folders of yours or of root; "
        f"chmod go-w {shlex.quote(str(exposed))}, if it is yours, or set XDG_CACHE_HOME",
    )


def exposed_part(folder: Path) -> Path | None:
    """Return the first of a folder and those above it through which others can change what is in it; None if none is.

    Who may write to a folder above can put another in the place of this one.

    Raises:
        OSError: it cannot be looked at.
    """
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode) or not is_own(status):
        return folder
    above = dict.fromkeys((*folder.absolute().parents, *folder.resolve().parents))
    return next((path for path in above if not _is_kept(path.stat())), None)


def exposed_inside(folder: Path) -> Path | None:
    """Return the first file or folder below a folder that is another user's or that everybody can write to, or None.

    A group that may write is let pass: with a umask of 002 it is the user's own, and it does not get into a private
    folder. Links are looked at and not followed, and what cannot be looked at is exposed.
    """
    waiting = [folder]
    while waiting:
        looked_at = waiting.pop()
        try:
            with os.scandir(looked_at) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):  # another process has taken it away
                        status = entry.stat(follow_symlinks=False)
                        writable = status.st_mode & stat.S_IWOTH and not stat.S_ISLNK(status.st_mode)
                        if writable or not _is_owned(status):
                            return Path(entry)
                        if stat.S_ISDIR(status.st_mode):
                            waiting.append(Path(entry))
        except OSError:
            return looked_at
    return None


def is_own(status: os.stat_result) -> bool:
    """Whether a file or folder is the user's or root's, and nobody else may write to it."""
    return _is_owned(status) and not status.st_mode & OTHERS_WRITE


def _is_kept(status: os.stat_result) -> bool:
    """Whether a folder is one's own or the system's, in which nobody else can rename what is not theirs."""
    kept = not status.st_mode & OTHERS_WRITE or bool(status.st_mode & stat.S_ISVTX)  # such as /tmp
    return kept and _is_owned(status)


def _is_owned(status: os.stat_result) -> bool:
    return status.st_uid in (ROOT, os.geteuid())


def _is_foreign(folder: Path) -> bool:
    try:
        return not _is_owned(folder.stat())
    except OSError:  # it is not there yet
        return False
