"""Folders of the cache, for what pyopbench makes once and uses in later runs."""

from __future__ import annotations

from pathlib import Path

import platformdirs

from pyopbench.model.errors import BadInput

VARIABLE = "XDG_CACHE_HOME"


def folder_of(name: str) -> Path:
    """Return where a folder of the cache is, whether it is there or not."""
    return Path(platformdirs.user_cache_dir("pyopbench", appauthor=False)) / name


def make_folder(name: str, what: str) -> Path:
    """Return a folder of the cache, made if it is not there.

    Args:
        name: of the folder.
        what: is in it, for the message.

    Raises:
        BadInput: it cannot be made.
    """
    folder = folder_of(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"cannot create the folder for {what}: {error}",
            received=folder,
            hint="set XDG_CACHE_HOME to a folder that you can write to",
        ) from error
    return folder
