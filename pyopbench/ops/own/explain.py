"""Why a port that nobody wrote does not work, with the user's line that it fails at and the shortest change that helps.

What TensorFlow says of an obstacle is looked for in its messages, and the change is made in the syntax tree of the
line. Each kind of change has a test that applies it to a body and sees the port succeed.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow.experimental.numpy as tnp

from pyopbench.model import formatting
from pyopbench.model.case import SourceChange
from pyopbench.model.extracted_module import place_of_user
from pyopbench.model.failures import describe_error, shorten_reason, tidy
from pyopbench.model.op import Op
from pyopbench.ops.port_file import PORTS
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

NOT_IN_TNP = re.compile(r"module '(?:tensorflow|keras)[\w.]*numpy[\w.]*' has no attribute '(\w+)'")
"""What Python says of a name that TensorFlow's NumPy has not got; AutoGraph quotes it in an error of its own."""

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

FUNCTIONS = {"T": "transpose", "copy": "copy", "flatten": "ravel"}
"""Attributes of NumPy's arrays that are functions of another name in TensorFlow's NumPy."""


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
    said = SCOPE.sub("", _option_text(error, place) or _said(error, place))
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


def _said(error: BaseException, place: tuple[str, int] | None) -> str:
    lacking = place and _lacking(error, *place)
    if lacking:
        return f"`{lacking}` has no tnp counterpart"
    library = _compiled_library(error)
    if library:
        return (
            f"`{library}` is compiled code, which takes arrays of NumPy's and no tensors: keep the callback, or write "
            f"this step with TensorFlow's ops"
        )
    elsewhere = NOT_IN_TNP.search(str(error))
    if elsewhere:
        return f"`np.{elsewhere[1]}` has no tnp counterpart"
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
    said, prefix = describe_error(error), f"{NotImplementedError.__name__}: "
    if not said.startswith(prefix):
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
    return f"`{name}` {said.removeprefix(prefix)}"


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


def _compiled_library(error: BaseException) -> str:
    """Return the library whose compiled code raised an error of its own, as `cv2.error`; empty for any other error."""
    home = type(error).__module__.split(".")[0]
    is_of_compiled = type(error).__name__ == "error" and home not in sys.stdlib_module_names
    return home if is_of_compiled else ""


def _lacking(error: BaseException, file: str, line: int) -> str | None:
    """Return what TensorFlow's NumPy has not got, as it is spelled in the source."""
    found = NOT_IN_TNP.search(str(error))
    if found is None:
        return None
    lacking = found[1]
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return lacking
    chains = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _spans(node, line)]
    whole = [chain for chain in chains if lacking in chain.split(".")[1:] and re.fullmatch(r"[\w.]+", chain)]
    return max(whole, key=len, default=lacking)


def _spans(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


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


@dataclass(frozen=True)
class _Line:
    """The line that a port failed at.

    Attributes:
        source: of the whole file.
        nodes: what stands on the line.
        numpy: what the file calls NumPy.
        found: the name that the message gives, "" where it gives none.
    """

    source: str
    nodes: tuple[ast.AST, ...]
    numpy: str
    found: str

    def of(self, kind: Any) -> Iterator[Any]:
        """Yield the nodes of a kind, the outermost first."""
        return (node for node in self.nodes if isinstance(node, kind))

    def text(self, node: ast.AST) -> str:
        """Return a node as it is written."""
        return ast.get_source_segment(self.source, node) or ""


Found = tuple[str, str]
"""What is written, and what to write in its place."""


def change_for(error: BaseException, place: tuple[str, int] | None) -> SourceChange | None:
    """Return the shortest change with which a port gets past an error.

    Args:
        error: what building or calling the port has raised.
        place: file and line of the user's that it came through; None for nowhere.

    Returns:
        The change, or None where none is known to work.
    """
    if place is None:
        return None
    file, number = place
    source = "".join(linecache.getlines(file))
    numpy, nodes = _numpy_of(source), _nodes_on(source, number)
    for kind, found in _obstacles(error):
        made = _KINDS[kind](_Line(source, nodes, numpy, found)) if numpy is not None else None
        if made is not None:
            return SourceChange(kind, number, *made)
    return None


def _obstacles(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield the kinds of obstacle that an error is of, each with the name that stands in it, if any."""
    if isinstance(error, CannotPort):
        if error.obstacle:
            yield error.obstacle, ""
        return
    for kind, pattern in SAID.items():
        found = pattern.search(str(error))
        if found is not None:
            yield kind, found[1] if pattern.groups else ""


@cache
def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _nodes_on(source: str, line: int) -> tuple[ast.AST, ...]:
    """Return the statements that begin on a line, and the expressions that reach over it."""
    tree = _tree(source)
    if tree is None:
        return ()
    return tuple(
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.stmt) and node.lineno == line)
        or (isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or line))
    )


def _numpy_of(source: str) -> str | None:
    tree = _tree(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)] if tree is not None else []
    names = [alias.asname or alias.name for node in imports for alias in node.names if alias.name == "numpy"]
    return names[0] if names else None


def _method(line: _Line) -> Found | None:
    """`x.mean(axis=1)`: `np.mean(x, axis=1)`, and `x.T`: `np.transpose(x)`."""
    name = line.found
    calls = [node for node in line.of(ast.Call) if isinstance(node.func, ast.Attribute) and node.func.attr == name]
    if name == "astype":
        calls = [node for node in calls if len(node.args) == 1 and not node.keywords]
        return next(
            (
                (line.text(node), f"{line.numpy}.array({_of(line, node)}, dtype={line.text(node.args[0])})")
                for node in calls
            ),
            None,
        )
    function = FUNCTIONS.get(name, name)
    if not hasattr(tnp, function):
        return None
    for node in calls:
        given = ", ".join([_of(line, node), *map(line.text, node.args), *(line.text(one) for one in node.keywords)])
        return line.text(node), f"{line.numpy}.{function}({given})"
    for node in line.of(ast.Attribute):
        if node.attr == name == "T":
            return line.text(node), f"{line.numpy}.{function}({line.text(node.value)})"
    return None


def _of(line: _Line, call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return line.text(call.func.value)


def _length(line: _Line) -> Found | None:
    """`len(x)`: `x.shape[0]`."""
    for node in line.of(ast.Call):
        if _is_call_of(node, "len"):
            return line.text(node), f"{line.text(node.args[0])}.shape[0]"
    return None


def _rows(line: _Line) -> Found | None:
    """`for row in x`: `for row in [x[i] for i in range(x.shape[0])]`, because the length of a tensor is known."""
    for node in line.of(ast.For):
        if isinstance(node.iter, ast.Name):
            rows, target = node.iter.id, line.text(node.target)
            place = "i" if target != "i" else "j"
            return (
                f"for {target} in {rows}:",
                f"for {target} in [{rows}[{place}] for {place} in range({rows}.shape[0])]:",
            )
    for node in line.of(ast.Assign):
        (several,) = node.targets if len(node.targets) == 1 else (None,)
        if isinstance(several, ast.Tuple) and isinstance(node.value, ast.Name):
            rows = node.value.id
            parts = ", ".join(f"{rows}[{place}]" for place in range(len(several.elts)))
            return line.text(node), f"{line.text(several)} = {parts}"
    return None


def _masked(line: _Line) -> Found | None:
    """`x[x < 0] = 0`: `x = np.where(x < 0, 0, x)`; the mask is of the shape of the array, as it is made of it."""
    for node in line.of(ast.Assign):
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
            continue
        mask, array = target.slice, target.value.id
        is_own = isinstance(mask, ast.Compare) and isinstance(mask.left, ast.Name) and mask.left.id == array
        is_number = isinstance(mask, ast.Compare) and all(isinstance(one, ast.Constant) for one in mask.comparators)
        if is_own and is_number and isinstance(node.value, ast.Constant):
            value = line.text(node.value)
            return line.text(node), f"{array} = {line.numpy}.where({line.text(mask)}, {value}, {array})"
    return None


def _is_call_of(node: Any, name: str) -> bool:
    """Is it a call of a function, by its name and with one argument?"""
    is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    return is_named and len(node.args) == 1 and not node.keywords


SAID = {
    "method": re.compile(r"Tensor'? object has no attribute '(\w+)'"),
    "length": re.compile("len is not well defined for a symbolic Tensor"),
    "rows": re.compile("Iterating over a symbolic `tf.Tensor` is not allowed"),
    "masked": re.compile("'SymbolicTensor' object does not support item assignment"),
}
"""What TensorFlow says of an obstacle, by the kind of change that gets past it."""

_KINDS: dict[str, Callable[[_Line], Found | None]] = {
    "method": _method,
    "length": _length,
    "rows": _rows,
    "masked": _masked,
}
"""What makes the change of a kind."""
