"""Paths as users give them."""

from __future__ import annotations

import os
from pathlib import Path


def real_path(path: str | os.PathLike[str]) -> Path:
    """Return a path with its links followed, as far as they lead anywhere.

    `Path.resolve` raises a `RuntimeError` at links that lead to each other (before Python 3.13); here such a path
    stays as it is, and whoever opens it gets the system's error.
    """
    return Path(os.path.realpath(path))
