"""What a body does that has no counterpart in a graph: what it is, why, what would work, and the user's line."""

from __future__ import annotations

import ast
import dis
import linecache
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.discover import BUILTIN, PACKAGE
from pyopbench.model.errors import PyopbenchError

STANDARD_LIBRARY = str(Path(sysconfig.get_paths()["stdlib"]))
PACKAGES = "site-packages"
FOREIGN = (str(Path(np.__file__).parent), str(Path(tf.__file__).parent), "<")
"""Where the frames between the user's line and a refusal lie."""
OURS, OPS = (f"{folder}{os.sep}" for folder in (PACKAGE, BUILTIN))


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
    frame = _frame_of_user(sys._getframe(1))
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def going_over(noun: str) -> str:
    """Return what the user's line does that goes over the elements of something, as `for x in list` or `tuple(list)`.

    Args:
        noun: what it goes over, `list` or `array`.
    """
    frame = _frame_of_user(sys._getframe(1))
    steps = [] if frame is None else [one for one in dis.get_instructions(frame.f_code) if one.offset <= frame.f_lasti]
    if not steps:
        return f"for x in {noun}"
    step = steps[-1]  # while a function of Python's is called, the place is in the cache behind the instruction
    if step.opname.startswith(("GET_ITER", "FOR_ITER")):
        return f"for x in {noun}"
    if step.opname.startswith("UNPACK"):
        return f"a, b = {noun}"
    if step.opname.startswith(("LIST_EXTEND", "SET_UPDATE", "CALL_FUNCTION_EX")):
        return f"*{noun}"
    tree = _written_at(frame, step)
    if isinstance(tree, ast.Call):
        return f"{ast.unparse(tree.func)}({noun})"
    return f"for x in {noun}" if isinstance(tree, ast.For | ast.comprehension) or tree is None else noun


def _written_at(frame: Any, step: Any) -> ast.AST | None:
    """Return the loop or the call that an instruction is of, as it is written; None where that is not known."""
    file, line = frame.f_code.co_filename, frame.f_lineno
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    nodes = [one for one in ast.walk(tree) if isinstance(one, ast.Call | ast.For) and one.lineno == line]
    position = getattr(step, "positions", None)  # from Python 3.11 on
    if position is not None and position.col_offset is not None:
        end = (position.end_lineno, position.end_col_offset)
        exact = [
            one
            for one in nodes
            if one.col_offset == position.col_offset and (one.end_lineno, one.end_col_offset) == end
        ]
        nodes = exact or nodes
    return nodes[0] if nodes else None


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


def _frame_of_user(frame: Any) -> Any:
    """Return the innermost frame that is the user's, one of a package only where no other is; None for none."""
    frames = [one for one in _frames(frame) if not is_foreign(one.f_code.co_filename)]
    of_users = [one for one in frames if not _is_of_package(one.f_code.co_filename)]
    return next(iter(of_users or frames), None)


def _is_of_package(file: str) -> bool:
    return PACKAGES in file or file.startswith(STANDARD_LIBRARY)


def _frames(frame: Any) -> Iterator[Any]:
    while frame is not None:
        yield frame
        frame = frame.f_back
