"""What a body does that has no counterpart in a graph: what it is, why, what would work, and the user's line."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.core.discover import CATALOGUE, PACKAGE
from pyopbench.core.errors import PyopbenchError

STANDARD_LIBRARY = str(Path(sysconfig.get_paths()["stdlib"]))
PACKAGES = "site-packages"
FOREIGN = (str(Path(np.__file__).parent), str(Path(tf.__file__).parent), str(CATALOGUE / "traced"), "<")
"""Where the frames between the user's line and a refusal lie."""
OURS, OPS = (f"{folder}{os.sep}" for folder in (PACKAGE, CATALOGUE / "ops"))


class Refused(PyopbenchError):
    """A body does what cannot be traced.

    Attributes:
        missing: what it does, as it is spelled in code.
        why: the reason, empty where there is simply no counterpart.
        fix: what works in its place, empty where nothing is known.
        place: file and line of the user's code; None if it is in no Python file.
    """

    def __init__(self, missing: str, *, why: str = "", fix: str = "") -> None:
        self.missing = missing
        self.why = why
        self.fix = fix
        self.place = place_of_user()
        said = f"`{missing}` {why or 'has no counterpart in TensorFlow that is known to be equal'}"
        super().__init__(f"{said} ({fix})" if fix else said)


def place_of_user() -> tuple[str, int] | None:
    """Return file and line of the innermost frame that is the user's, one of a package only where no other is."""
    frames = [place for place in _frames(sys._getframe(1)) if not (place[0].startswith(FOREIGN) or _is_ours(place[0]))]
    of_users = [one for one in frames if PACKAGES not in one[0] and not one[0].startswith(STANDARD_LIBRARY)]
    return next(iter(of_users or frames), None)


def _is_ours(path: str) -> bool:
    """Whether a file is of pyopbench and no op, so that no user could change a line of it."""
    return path.startswith(OURS) and not path.startswith(OPS)


def _frames(frame: Any) -> Iterator[tuple[str, int]]:
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
