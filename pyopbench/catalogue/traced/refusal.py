"""What a body does that has no counterpart in a graph: what it is, why, what would work, and the user's line."""

from __future__ import annotations

import dis
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
FOREIGN = (str(Path(np.__file__).parent), str(Path(tf.__file__).parent), "<")
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
    frames = [place for place in _frames(sys._getframe(1)) if not is_foreign(place[0])]
    of_users = [one for one in frames if PACKAGES not in one[0] and not one[0].startswith(STANDARD_LIBRARY)]
    return next(iter(of_users or frames), None)


def where_unbound(error: NameError) -> tuple[str, tuple[str, int] | None]:
    """Return the name that was unbound where it was read, and file and line of that."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return "a name", None
    code = last.tb_frame.f_code
    read = [one.argval for one in dis.get_instructions(code) if one.offset == last.tb_lasti]
    return str(read[0]) if read else "a name", (code.co_filename, last.tb_lineno)


def is_of_tensorflow(error: BaseException) -> bool:
    """Was an error raised by TensorFlow's own code, and not by what stands for NumPy's?"""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and last.tb_frame.f_code.co_filename.startswith(str(Path(tf.__file__).parent))


def is_foreign(path: str) -> bool:
    """Whether a file is of NumPy, of TensorFlow, or of pyopbench and no op: no user could change a line of it."""
    return path.startswith(FOREIGN) or (path.startswith(OURS) and not path.startswith(OPS))


def _frames(frame: Any) -> Iterator[tuple[str, int]]:
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
