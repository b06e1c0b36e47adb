"""Why a port that nobody wrote does not work, with the user's line that it fails at."""

from __future__ import annotations

import inspect
import linecache
import os
import re
import traceback
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pyopbench.model import formatting
from pyopbench.model.failures import describe_error, shorten_reason, tidy
from pyopbench.model.op import Op
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.typed import RENAMED
from pyopbench.ports.rebinding import BODY, files_reached
from pyopbench.ports.tensor_functions.sources import needed_by
from pyopbench.ports.tensor_functions.table import TABLE

PLACE = re.compile(r'File "?([^"\n]+?)"?[,:]? (?:line |\()(\d+)')
"""A line of source as tracebacks, TensorFlow and Numba quote it in their messages."""

FUNCTION_PLACE = re.compile(r'File "[^"\n]+", line \d+, in (\w+)')
"""A function that an error came through, as AutoGraph quotes it in its messages."""

SCOPE = re.compile(r"pyopbench\d+_\d+/")
"""The scope of a copy in pyopbench's graphs, which names of tensors begin with and nobody's source has."""

MODULE_PLACE = re.compile(r" from '[^']*'(?=>)| \w+ from /\S+ \(\d+\)|, defined at \S+ \(\d+\)")

ABOVE = re.compile(r"^(\.\.?/)+")
"""How Numba begins a path that is relative to another folder."""

NUMBA_SAYS = re.compile(
    r"(?:raised a specific error:\s*|Failed in nopython mode pipeline[^\n]*\n)(?!\S*Failed in nopython mode)([^\n]+)"
)
"""Of a long message of Numba's, what it says first and what its innermost check says, but for which step has failed."""

ADVICE = re.compile(
    r"(?<=\.) (You can attempt|This error may indicate|Please call) .*|(?<=[. ]Tensor) \([^)]*\)", re.DOTALL
)
"""TensorFlow's advice to who wrote the code for it, which nobody did here, and numbered names of tensors."""

ENDS = " .,:;"
"""How a message may end, which is left out where the place follows."""

NUMBA_WORDS = (
    (
        re.compile(r"(?:TypingError: )?missing a required argument: '(\w+)'"),
        r"its version of a function needs `\1` too",
    ),
    (
        re.compile(r"(?:TypingError: )?got an unexpected keyword argument '(\w+)'"),
        r"its version of a function takes no `\1`",
    ),
    (
        re.compile(r"(?:TypingError: )?not enough arguments: expected (\d+), got (\d+)"),
        r"its version of a function takes \1 arguments and not \2",
    ),
    (
        re.compile(
            r"No implementation of function Function\(<(?:class|(?:built-in )?function) '?([\w.]+).* found for.*"
        ),
        r"it has no version of `\1` for what that is given",
    ),
    (re.compile(r"(?:TypingError: )?too many positional arguments"), "its version of a function takes fewer arguments"),
)
"""What Numba says of the arguments of a function of NumPy's that it has a version of, and the same in words."""


def explain(error: BaseException, op: Op) -> str:
    """Return what went wrong in one line, with the place in the user's file where there is one."""
    if not op.is_own:
        return describe_error(error)
    place = place_of(error, op)
    where = "" if place is None else f", {_told(place)}"
    if isinstance(error, CannotPort) and error.fix:
        where += f" ({error.fix})"
    if isinstance(error, CannotPort):
        where += _other_lines(error)
    said = SCOPE.sub("", _option_text(error, place) or _said(error))
    return shorten_reason(said.rstrip(ENDS) if where else said, where)


def place_of(error: BaseException, op: Op) -> tuple[str, int] | None:
    """Return file and line of the user's that an error of a port of theirs came through; None for nowhere."""
    return error.place if isinstance(error, CannotPort) else place_in(error, _files_of(op))


def _other_lines(error: CannotPort) -> str:
    """Return on which lines other things cannot be written; empty if there are none."""
    lines = sorted({place[1] for one in error.others for place in [place_of_user(one.place)] if place is not None})
    return (
        f"; also line{'s' if len(lines) > 1 else ''} {formatting.listing([str(one) for one in lines])}" if lines else ""
    )


def _told(place: tuple[str, int]) -> str:
    file, line = place_of_user(place) or place
    return f"{Path(file).name} line {line}"


def _said(error: BaseException) -> str:
    # Where a module lies differs from machine to machine.
    of_numba = NUMBA_SAYS.findall(str(error))
    if not of_numba and isinstance(error, AssertionError) and not str(error) and _is_of_numba(error):
        return "Numba: an assertion of its own fails while it compiles the body"
    if not of_numba:
        return MODULE_PLACE.sub("", ADVICE.sub("", describe_error(error)))
    said = MODULE_PLACE.sub("", tidy(of_numba[-1].strip()))
    for pattern, words in NUMBA_WORDS:
        said = pattern.sub(words, said)
    return f"Numba: {said}"


def _option_text(error: BaseException, place: tuple[str, int] | None) -> str:
    """Return what a function on tensors says of an option that it does not support, with NumPy's name of the function.

    Empty for any other error. This one is raised inside such a function, and its message begins with a verb. Most such
    options are found when a port is written; the others depend on sizes, or the port could not be run then.
    """
    if not isinstance(error, NotImplementedError):
        return ""
    in_graph = FUNCTION_PLACE.findall(str(error))
    names = in_graph or [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    names = [one.removesuffix(RENAMED) for one in names]
    spelled = next((one for one in names if one in _names_by_spelling()), None)
    if spelled is None or names[-1] not in needed_by([spelled]):
        return ""
    line = "" if place is None else linecache.getline(*place)
    known = _names_by_spelling()[spelled]
    name = next((one for one in known if re.search(rf"\b{one.rpartition('.')[2]}\(", line)), known[0])
    said = describe_error(error).removeprefix(f"{NotImplementedError.__name__}: ")
    return f"`{name}` {said}"


@cache
def _names_by_spelling() -> dict[str, list[str]]:
    """Return NumPy's and SciPy's names of each function on tensors that a port may include."""
    found: dict[str, list[str]] = {}
    for name, entry in TABLE.items():
        if not entry.is_of_tensorflow:
            found.setdefault(entry.spelling, []).append(name)
    return found


def _is_of_numba(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and f"{os.sep}numba{os.sep}" in frames[-1].filename


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
    bodies = [op.py_function, op.numpy, op.tensor, op.python, op.numpy_gradient, op.tensor_gradient]
    own = {file for body in bodies if body is not None and (file := file_of(body)) is not None}
    return own.union(*(files_reached(body) for body in bodies if body is not None))


def file_of(body: Any) -> str | None:
    """Return the file that a body is written in, under whatever wraps it; None if that is not Python."""
    while hasattr(body, BODY):
        body = getattr(body, BODY)
    code = getattr(inspect.unwrap(body), "__code__", None)
    return None if code is None else str(code.co_filename)
