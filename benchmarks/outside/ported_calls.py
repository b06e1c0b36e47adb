"""Arrays whose operations are ports of one line: `np.sum(x, axis=0)` is written by `port`, imported and compared.

Tests of other projects get such arrays in place of NumPy's. Each call of a function, a ufunc or a method, and each
subscript, is a body such as `def body(x): return np.sum(x, axis=0)`. The tests go on with NumPy's own results, so one
wrong call does not make others wrong. Calls that NumPy refuses, or whose arguments have no source, are not tried.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import BadInput, WrongResult
from pyopbench.model.failures import LONGEST_REASON, describe_error
from pyopbench.model.literals import NotWritable, source_parts
from pyopbench.ports import traced
from pyopbench.ports.arrays import as_array, as_outputs
from pyopbench.ports.porting.module_text import import_text
from pyopbench.worker.prepare.checks import require_equal

TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "complex128": 1e-9}
"""Tolerance relative to the largest magnitude: it is meant to find wrong values, not rounding."""

OUTCOMES = ("wrong", "failed", "refused", "right", "not tried")
"""What becomes of a call, the worst first."""

OPEN = ("linalg.svd", "linalg.eigh", "linalg.eig", "linalg.qr", "partition", "argpartition", "empty", "empty_like")
"""Functions whose values NumPy does not specify: signs of vectors, the order within a part, contents of memory. If
only values differ, they count as not tried."""

MOST_PORTS = 200
"""Bodies whose ports are kept."""

METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "astype", "choose", "clip", "compress", "conj",
    "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod",
    "ravel", "repeat", "reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace",
    "transpose", "var",
)  # fmt: skip
IN_PLACE = ("fill", "partition", "put", "sort")
"""Methods that change their array, of which a body returns a changed copy."""


Run: TypeAlias = Callable[[str, Sequence[Any]], list[Any]]
"""Runs the text of a body on arrays, and returns the resulting arrays."""


@dataclass
class Calls:
    """The outcomes of calls, each with its body and the reason.

    Attributes:
        run: the function that runs bodies.
        found: the outcome of each, its line and the reason.
    """

    run: Run
    found: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def worst(self) -> tuple[str, str, str]:
        """The first of the worst calls: what became of it, its body and the reason."""
        return min(self.found, key=lambda one: OUTCOMES.index(one[0]), default=("not tried", "", ""))


_NOTED: list[Calls] = []


@contextmanager
def noted(run: Run | None = None) -> Iterator[Calls]:
    """Record the outcomes of the calls in a block, which run as ports unless something else is passed.

    Outside of a block, arrays are NumPy's.
    """
    calls = Calls(run or by_port)
    _NOTED.append(calls)
    try:
        yield calls
    finally:
        _NOTED.remove(calls)


Write: TypeAlias = Callable[[list[str], str], list[str]]
"""The statements of a body, of the source of its positional arguments and of what else is in the brackets of a call."""


class PortedArray(np.ndarray):
    """An array whose operations are tried as ports."""

    def __array_function__(self, function: Any, kinds: Any, arguments: Any, options: Any) -> Any:
        """Call a function of NumPy's."""
        return _tried(function, lambda texts, rest: [_call(_name_of(function), texts, rest)], arguments, options)

    def __array_ufunc__(self, ufunc: Any, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a ufunc, or a method of one."""
        called, dotted = getattr(ufunc, method), "" if method == "__call__" else f".{method}"
        if method == "at":  # which writes to its argument
            return called(*map(plain, arguments), **_plain_options(options))
        return _tried(
            called, lambda texts, rest: [_call(f"{_name_of(ufunc)}{dotted}", texts, rest)], arguments, options
        )

    def __getitem__(self, key: Any) -> Any:
        """Return elements."""
        return _tried(
            lambda a, k: a[k.value], lambda texts, _: [f"return {texts[0]}[{texts[1]}]"], (self, _Key(key)), {}
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        """Replace elements."""

        def replace(array: Any, key: Any, value: Any) -> Any:
            array[key.value] = value
            return array

        def write(texts: list[str], rest: str) -> list[str]:
            return [f"{texts[0]} = {texts[0]}.copy()", f"{texts[0]}[{texts[1]}] = {texts[2]}", f"return {texts[0]}"]

        _note(replace, write, (self, _Key(key), value), {})
        self.view(np.ndarray)[plain(key)] = plain(value)


@dataclass(frozen=True)
class _Key:
    """What stands between square brackets."""

    value: Any


def _call(name: str, texts: list[str], rest: str) -> str:
    return f"return {name}({', '.join([*texts, *([rest] if rest else [])])})"


def _method(name: str) -> Callable[..., Any]:
    def call(self: PortedArray, *arguments: Any, **options: Any) -> Any:
        def method(array: Any, *given: Any, **named: Any) -> Any:
            return getattr(array, name)(*given, **named)

        def write(texts: list[str], rest: str) -> list[str]:
            return [_call(f"{texts[0]}.{name}", texts[1:], rest)]

        return _tried(method, write, (self, *arguments), options)

    return call


def _method_in_place(name: str) -> Callable[..., Any]:
    def call(self: PortedArray, *arguments: Any, **options: Any) -> None:
        def method(array: Any, *given: Any, **named: Any) -> Any:
            getattr(array, name)(*given, **named)
            return array

        def write(texts: list[str], rest: str) -> list[str]:
            changed = _call(f"{texts[0]}.{name}", texts[1:], rest).removeprefix("return ")
            return [f"{texts[0]} = {texts[0]}.copy()", changed, f"return {texts[0]}"]

        _note(method, write, (self, *arguments), options)
        method(self.view(np.ndarray), *map(plain, arguments), **_plain_options(options))

    return call


for _method_name in METHODS:
    setattr(PortedArray, _method_name, _method(_method_name))
for _method_name in IN_PLACE:
    setattr(PortedArray, _method_name, _method_in_place(_method_name))


def ported(value: Any) -> Any:
    """Return an array of numbers as one whose operations are tried, also in lists and tuples; all else as it is."""
    if type(value) is np.ndarray and value.ndim and value.dtype.kind in "biufc":
        return value.view(PortedArray)
    return type(value)(map(ported, value)) if type(value) in (list, tuple) else value


def plain(value: Any) -> Any:
    """Return NumPy's own array of one whose operations are tried, also in lists, tuples and slices."""
    if type(value) is PortedArray:
        return value.view(np.ndarray)
    if type(value) is _Key:
        return _Key(plain(value.value))
    return type(value)(map(plain, value)) if type(value) in (list, tuple) else value


def _plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in options.items()}


def _tried(function: Callable[..., Any], write: Write, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Return what NumPy returns, and note what becomes of the port."""
    out = options.get("out")
    if out is None:
        _note(function, write, arguments, options)
    returned = function(*map(plain, arguments), **_plain_options(options))
    if out is None:
        return ported(returned)
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _note(function: Callable[..., Any], write: Write, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Write the port of a call, run it and note how its result compares with NumPy's."""
    if not _NOTED:
        return
    try:
        expected = _numbers(function(*map(_copied, arguments), **{name: _copied(one) for name, one in options.items()}))
    except Exception:  # noqa: BLE001 - what NumPy refuses is no body
        return
    text, became, reason = "", "not tried", ""
    try:
        text, arrays = body_of(write, arguments, options)
        if expected is not None:
            found = _NOTED[-1].run(text, arrays)
            became, reason = _compared(found, expected)
            if became == "wrong" and _called(text) in OPEN and list(map(_kind, found)) == list(map(_kind, expected)):
                became, reason = "not tried", "NumPy does not specify these values"
    except NotWritable as error:
        reason = str(error)
    except BadInput as error:
        became, reason = "refused", error.message.partition(": ")[2] or error.message
    except Exception as error:  # noqa: BLE001 - a port may raise anything
        became, reason = "failed", describe_error(error)
    lines = text.partition("):\n")[2].splitlines()
    line = "".join(lines[-2:][:1]).strip().removeprefix("return ")  # of a body that changes an array, how
    _NOTED[-1].found.append((became, line[:LONGEST_REASON], " ".join(reason.split())[:LONGEST_REASON]))


def _called(text: str) -> str:
    """Return the name of the function that a body calls, without NumPy or the array in front."""
    return text.rpartition("return ")[2].partition("(")[0].partition(".")[2]


def _kind(array: Any) -> tuple[Any, ...]:
    return array.dtype, array.shape


def _copied(value: Any) -> Any:
    value = plain(value)
    return value.copy() if isinstance(value, np.ndarray) else value


def _numbers(returned: Any) -> list[Any] | None:
    """Return the arrays of what was returned; None where a port cannot return it."""
    # NumPy may be unable to make one array of a list in a tuple, as histogramdd returns it.
    several = tf.nest.flatten(list(returned)) if isinstance(returned, list | tuple) else as_outputs(returned)
    arrays = [as_array(one) for one in several]
    return arrays if arrays and all(_is_of_tensors(one.dtype) for one in arrays) else None


def _is_of_tensors(dtype: Any) -> bool:
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _compared(found: Sequence[Any], expected: Sequence[Any]) -> tuple[str, str]:
    if len(found) != len(expected):
        return "wrong", f"{len(found)} outputs instead of {len(expected)}"
    try:
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            require_equal(f"output {place}", one, other, TOLERANCE.get(other.dtype.name, 0.0))
    except WrongResult as error:
        return "wrong", error.message
    return "right", ""


def by_port(text: str, arrays: Sequence[Any]) -> list[Any]:
    """Run a body as the port to `traced` that is written for it."""
    return [np.asarray(one) for one in tf.nest.flatten(_port(text)(*map(tf.constant, arrays)))]


def by_torch(text: str, arrays: Sequence[Any]) -> list[Any]:
    """Run a body with torch._numpy in place of NumPy: a peer, which has to be installed.

    Raises:
        BadInput: it does not have a function or an option.
    """
    from torch import _numpy as namespace

    scope: dict[str, Any] = {}
    exec(text, scope)
    scope["np"] = namespace
    try:
        returned = scope["body"](*map(namespace.asarray, arrays))
    except (AttributeError, NotImplementedError) as error:
        raise BadInput(f"{type(error).__name__}: {error}") from error
    several = returned if isinstance(returned, (list, tuple)) else [returned]
    return [one.tensor.numpy() if isinstance(one, namespace.ndarray) else np.asarray(one) for one in several]


RUNS: dict[str, Run] = {"torch": by_torch}
"""Other ways to run the bodies."""


@functools.lru_cache(maxsize=MOST_PORTS)
def _port(text: str) -> Callable[..., Any]:
    return traced(import_text("one_line", text).body)


def body_of(write: Write, arguments: Sequence[Any], options: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the source of the body of a call, and the arrays that it takes.

    Args:
        write: returns its statements.
        arguments: of the call.
        options: of the call.

    Raises:
        NotWritable: an argument has no source.
    """
    arrays: list[Any] = []
    texts = [_text(one, arrays) for one in arguments]
    named = [f"{name}={_text(one, arrays)}" for name, one in options.items() if one is not np._NoValue]
    lines = "".join(f"    {one}\n" for one in write(texts, ", ".join(named)))
    return f"import numpy as np\n\n\ndef body({', '.join(map(_letter, range(len(arrays))))}):\n{lines}", arrays


def _letter(place: int) -> str:
    return f"x{place}"


def _text(value: Any, arrays: list[Any]) -> str:
    """Return the source of an argument; an array, also in a nest, is a parameter of the body."""
    if isinstance(value, np.ndarray | np.generic):
        if isinstance(value, np.ndarray) and type(value) not in (np.ndarray, PortedArray):
            raise NotWritable(f"a {type(value).__name__}, which is more than an array")
        array = np.asarray(value)
        if not _is_of_tensors(array.dtype):
            raise NotWritable(f"an array of dtype {array.dtype}, which tensors do not have")
        if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise NotWritable("a view whose truth values are neither 0 nor 1, which TensorFlow does not expect")
        arrays.append(array)
        return _letter(len(arrays) - 1)
    if type(value) in (list, tuple):
        items = [_text(one, arrays) for one in value]
        return f"[{', '.join(items)}]" if type(value) is list else f"({', '.join(items)}{',' * (len(items) == 1)})"
    if type(value) is _Key:
        several = value.value if type(value.value) is tuple else (value.value,)
        texts = [_range(one, arrays) if type(one) is slice else _text(one, arrays) for one in several]
        is_nested = len(several) == 1 and type(several[0]) is tuple  # x[(0, 1),] is not x[0, 1]
        return ", ".join(texts) + "," * is_nested or "()"
    if value is ...:
        return "..."
    return "".join(source_parts(value, _name_of))


def _range(value: slice, arrays: list[Any]) -> str:
    """Return the source of a slice between square brackets."""
    begin, end, step = ("" if one is None else _text(one, arrays) for one in (value.start, value.stop, value.step))
    return f"{begin}:{end}" + (f":{step}" if step else "")


def _name_of(value: Any) -> str:
    """Return the name under which NumPy has a function, a class or itself."""
    if value is np:
        return "np"
    name = str(getattr(value, "__name__", ""))
    for module in (np, sys.modules.get(str(getattr(value, "__module__", ""))), np.linalg, np.fft):
        if isinstance(module, types.ModuleType) and getattr(module, name, None) is value:
            home = module.__name__
            if home.partition(".")[0] in ("numpy", "builtins"):
                return f"{home}.{name}".removeprefix("builtins.").replace("numpy.", "np.", 1)
    raise NotWritable(f"{name or type(value).__name__}, which is no function of NumPy's")
