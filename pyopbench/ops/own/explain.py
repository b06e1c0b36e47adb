"""Why a port that nobody wrote does not work, with the user's line that it fails at."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyopbench.model.errors import describe_error, shorten_reason, tidy
from pyopbench.model.op import Op
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.rebinding import BODY, codes_reached

PLACE = re.compile(r'File "?([^"\n]+?)"?[,:]? (?:line |\()(\d+)')
"""A line of source as tracebacks, TensorFlow and Numba quote it in their messages."""

SCOPE = re.compile(r"pyopbench\d+_\d+/")
"""The scope of a copy in pyopbench's graphs, which names of tensors begin with and nobody's source has."""

ABOVE = re.compile(r"^(\.\.?/)+")
"""How Numba begins a path that is relative to another folder."""

NUMBA_SAYS = re.compile(
    r"(?:raised a specific error:\s*|Failed in nopython mode pipeline[^\n]*\n)(?!\S*Failed in nopython mode)([^\n]+)"
)
"""Of a long message of Numba's, what it says first and what its innermost check says, but for which step has failed."""

ENDS = " .,:;"
"""How a message may end, which is left out where the place follows."""


def explain(error: BaseException, op: Op) -> str:
    """Return what went wrong in one line, with the place in the user's file where there is one."""
    if not op.is_own:
        return describe_error(error)
    place = place_of(error, op)
    where = ""
    if place is not None:
        file, line = place_of_user(place) or place
        where = f", {Path(file).name} line {line}"
    if isinstance(error, CannotPort):
        where += f" ({error.fix})" if error.fix else ""
    of_numba = NUMBA_SAYS.findall(str(error))
    said = SCOPE.sub("", f"Numba: {tidy(of_numba[-1].strip())}" if of_numba else describe_error(error))
    return shorten_reason(said.rstrip(ENDS) if where else said, where)


def place_of(error: BaseException, op: Op) -> tuple[str, int] | None:
    """Return file and line of the user's that an error of a port of theirs came through; None for nowhere."""
    return error.place if isinstance(error, CannotPort) else place_in(error, _files_of(op))


def place_in(error: BaseException, files: Iterable[str]) -> tuple[str, int] | None:
    """Return file and line of the innermost place in some files that an error came through; None if in none.

    TensorFlow and Numba run the user's source under other names, and quote the place in the message instead.
    """
    own, of_ports = set(files), PORTS.places()
    if isinstance(error, SyntaxError) and error.filename in own:
        return error.filename, error.lineno or 1
    frames = [(frame.filename, frame.lineno or 1) for frame in traceback.extract_tb(error.__traceback__)]
    quoted = [(file, int(line)) for file, line in PLACE.findall(str(error))]
    by_tail = {tail: file for file in (*own, *{file for file, _ in of_ports}) for tail in _tails(file)}
    quoted = [(by_tail.get(ABOVE.sub("", file), file), line) for file, line in quoted]
    for places in (quoted, frames):
        found = [of_ports.get(place, place) for place in places if place in of_ports or place[0] in own]
        if found:
            return found[-1]
    return None


def _tails(file: str) -> list[str]:
    """Return the ends of a path, because Numba quotes it relative to some folder."""
    parts = Path(file).parts
    return ["/".join(parts[begin:]).lstrip("/") for begin in range(len(parts))]


def _files_of(op: Op) -> set[str]:
    every = [op.py_function, op.numpy, op.tensor, op.python, op.numpy_gradient, op.tensor_gradient]
    bodies = [body for body in every if body is not None]
    own = {file for body in bodies if (file := file_of(body)) is not None}
    return own | {code.co_filename for body in bodies for code in codes_reached(body)}


def file_of(body: Any) -> str | None:
    """Return the file that a body is written in, under whatever wraps it; None if that is not Python."""
    while hasattr(body, BODY):
        body = getattr(body, BODY)
    code = getattr(inspect.unwrap(body), "__code__", None)
    return None if code is None else str(code.co_filename)
