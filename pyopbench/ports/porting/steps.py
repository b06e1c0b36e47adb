"""Steps of a body that stay in NumPy: calls without a TensorFlow equivalent, each in its own function of the port.

A step is a call of a library's function on arrays. When the body is observed, its result depends on an input, and its
sizes are known if they are the same for all examples. In the port it is a function that calls the library through
`tf.numpy_function`; everything before and after it consists of TensorFlow ops.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.definitions import is_file_of_user, is_module_of_user
from pyopbench.model.function_source import every_name
from pyopbench.ports.conversions import conversion_of
from pyopbench.ports.porting.units import Unit
from pyopbench.ports.porting.watched_values import WatchedArray, depending, named_like, plain

MOST_STEPS = 8
"""Most steps of a port; a body with more of them is left in NumPy."""

TAKES_TENSORS = ("einops", "keras", "opt_einsum", "tensorflow", "tensorflow_probability", "tf_keras")
"""Packages whose functions take tensors."""

Part: TypeAlias = tuple[int | str, int]
"""An argument, by position or name, and an axis of it."""


@dataclass
class Result:
    """One of the results of a step, on all examples.

    Attributes:
        seen: what it was.
        sizes: for each call, the sizes of its axes.
        given: for each call, the shapes of the arrays that were passed to the step, by position or name.
    """

    seen: set[Any] = field(default_factory=set)
    sizes: list[tuple[int, ...]] = field(default_factory=list)
    given: list[dict[int | str, tuple[int, ...]]] = field(default_factory=list)

    def size_of(self, axis: int) -> int | Part | None:
        """Return what the size of an axis always is: a number, that of an axis of an argument, or unknown."""
        like = next((key for key in self.given[0] if all(self._is_like(key, call) for call in range(self.calls))), None)
        if like is not None:
            return (like, axis)
        sizes = [one[axis] for one in self.sizes]
        if len({str(one) for one in self.given}) < 2:
            return None  # it may be the same by chance
        if len(set(sizes)) == 1:
            return sizes[0]
        for key, shape in self.given[0].items():
            for place in range(len(shape)):
                if [len(one[key]) > place and one[key][place] for one in self.given] == sizes:
                    return (key, place)
        return None

    @property
    def calls(self) -> int:
        """How often it was seen."""
        return len(self.sizes)

    def _is_like(self, key: int | str, call: int) -> bool:
        """Does it have the shape of an argument with several axes?"""
        return len(self.sizes[call]) > 1 and self.given[call].get(key) == self.sizes[call]


@dataclass
class Step:
    """A call that stays in NumPy, on all examples.

    Attributes:
        results: each of what it returns, by attribute of an object, else by number.
        counts: how many results it had.
        fields: names of attributes, of an object or a named tuple.
        left_out: the numbers of the results that cannot be tensors.
        is_copied: does it want arrays that can be written to?
        why_not: why it cannot be a step; empty if it can.
    """

    results: dict[str, Result] = field(default_factory=dict)
    counts: set[int] = field(default_factory=set)
    fields: tuple[str, ...] = ()
    left_out: set[int] = field(default_factory=set)
    is_copied: bool = False
    why_not: str = ""

    def sizes(self) -> dict[str, list[int | Part | None]]:
        """Return what is known about the sizes."""
        return {name: [one.size_of(axis) for axis in range(len(one.sizes[0]))] for name, one in self.results.items()}

    def run(self, function: Any, arguments: Any, options: Any, seen_as: Callable[[Any], Any]) -> Any:
        """Return what the call returns, as what depends on an input."""
        receiver = getattr(function, "__self__", None)
        given = {**dict(enumerate(arguments)), **options}
        if isinstance(receiver, WatchedArray):
            function, given = getattr(type(plain(receiver)), function.__name__), {-1: receiver, **given}
        if any(callable(one) and not isinstance(one, type | np.ufunc) for one in given.values()):
            self.why_not = self.why_not or "one of its arguments is a function"
        found = self._call(function, [one for key, one in given.items() if isinstance(key, int)], options)
        shapes = {key: np.shape(plain(one)) for key, one in given.items() if isinstance(one, WatchedArray)}
        unknown = {key: one.unknown for key, one in given.items() if isinstance(one, WatchedArray)}
        if isinstance(found, tuple | list) and not getattr(found, "_fields", ()):
            self.counts.add(len(found))
            self.left_out |= {place for place, one in enumerate(found) if not _is_numeric(one)}
            return tuple(
                one if place in self.left_out else self._result(str(place), one, shapes, unknown, seen_as)
                for place, one in enumerate(found)
            )
        if isinstance(found, tuple):
            self.fields = tuple(found._fields)  # type: ignore[attr-defined]
            self.counts.add(len(found))
            parts = zip(self.fields, found, strict=True)
            made = [self._result(name, one, shapes, unknown, seen_as) for name, one in parts]
            return named_like(found, made)
        if isinstance(found, np.ndarray | np.generic | bool | int | float | complex):
            self.counts.add(1)
            return self._result("0", found, shapes, unknown, seen_as)
        return _Object(self, found, lambda name, one: self._result(name, one, shapes, unknown, seen_as))

    def _call(self, function: Any, arguments: Any, options: Any) -> Any:
        """Return what it returns, and find out whether it writes to its arguments."""
        arrays = [one for one in [*plain(arguments), *plain(options).values()] if isinstance(one, np.ndarray)]
        before = [np.array(one) for one in arrays]
        try:
            return function(*_protected(plain(arguments)), **_protected(plain(options)))
        except Exception:  # noqa: BLE001 - a library may fail in any way if it cannot write
            self.is_copied = True
            found = function(*plain(arguments), **plain(options))
        if not all(
            np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
            for one, other in zip(arrays, before, strict=True)
        ):
            self.why_not = self.why_not or "it writes to its arguments"
        return found

    def _result(self, name: str, value: Any, shapes: Any, unknown: Any, seen_as: Callable[[Any], Any]) -> Any:
        if not _is_numeric(value):
            self.why_not = self.why_not or "it returns something that cannot be a tensor"
            return value
        result = self.results.setdefault(name, Result())
        result.sizes.append(np.shape(value))
        result.given.append(shapes)
        found = depending(value)
        if isinstance(found, WatchedArray) and len({len(one) for one in result.sizes}) == 1:
            sizes = [result.size_of(axis) for axis in range(found.ndim)]
            found.unknown = frozenset(
                axis
                for axis, size in enumerate(sizes)
                if size is None or (isinstance(size, tuple) and size[1] in unknown.get(size[0], ()))
            )
        result.seen.add(seen_as(found))
        return found


def _is_numeric(value: Any) -> bool:
    """Is it of numbers, and nothing else? A masked array also has a mask, and a matrix its own `*`."""
    if isinstance(value, np.ma.MaskedArray | np.matrix):
        return False
    is_of_numbers = getattr(value, "dtype", np.dtype(float)).kind in "biufc"
    return isinstance(value, np.ndarray | np.generic | bool | int | float | complex) and is_of_numbers


def _protected(value: Any) -> Any:
    """Return arrays that cannot be written to."""
    if isinstance(value, np.ndarray):
        found = value.view()
        found.flags.writeable = False
        return found
    if type(value) is dict:
        return {key: _protected(one) for key, one in value.items()}
    return type(value)(map(_protected, value)) if type(value) in (list, tuple) else value


class _Object:
    """What a step returns, of which attributes are read."""

    def __init__(self, step: Step, found: Any, result: Callable[[str, Any], Any]) -> None:
        self.__dict__.update(_step=step, _found=found, _result=result)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._step.fields:
            self._step.fields = (*self._step.fields, name)
        return self._result(name, getattr(self._found, name))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self._step.why_not = self._step.why_not or "its result is called"
        return depending(self._found(*plain(arguments), **plain(options)))


# Which calls can be steps.


def is_of_library(function: Any) -> bool:
    """Is it a library's function that takes arrays, not one of Python, of TensorFlow or of the user?"""
    if isinstance(function, WatchedArray):
        return False
    home = str(getattr(function, "__module__", "") or getattr(type(function), "__module__", "")).split(".")[0]
    if isinstance(getattr(function, "__self__", None), np.ufunc) or isinstance(function, np.ufunc):
        return True
    if not callable(function) or not home or home in (*TAKES_TENSORS, "builtins", "math", "cmath"):
        return False
    body, module = getattr(function, "__code__", None), sys.modules.get(str(function.__module__))
    if body is not None:
        return not is_file_of_user(body.co_filename)
    return module is None or not is_module_of_user(module)


def can_be_step(code: Any, node: ast.Call) -> bool:
    """Is it a call of a library's function, or of an array's method, on tensors?"""
    function = node.func
    is_method = isinstance(function, ast.Attribute) and code.is_tensor(function.value)
    given = [*node.args, *(one.value for one in node.keywords)]
    if code.observed.step(code.source, node) is not None or not (is_method or any(map(code.holds_tensors, given))):
        return False
    return is_method or is_of_library(code.value_of(function))


# The text of a step.


def write_step(code: Any, node: ast.Call) -> str:
    """Return the call of a step's function in the port, and have that function written.

    Raises:
        CannotPort: the call cannot be a step, with the reason.
    """
    step: Step = code.observed.step(code.source, node)
    _check(code, node, step)
    arguments = _Arguments(code, node)
    inner = arguments.text()
    called = ast.unparse(node.func)
    last = called.rpartition(".")[2]
    dtypes = ", ".join(f"tf.{_dtype(one)}" for one in step.results.values())
    shapes = ", ".join(_shape(one, arguments.by_key) for one in step.results.values())
    fields = f", fields={step.fields!r}" if step.fields else ""
    copied = ", copied=True" if step.is_copied else ""
    left_out = f", left_out={sorted(step.left_out)}" if step.left_out else ""
    tensors = ", ".join(arguments.tensors)
    lines = [
        f"({', '.join(arguments.parameters)}):",
        f'    """Return `{called}` of arrays. It runs on the CPU, holds the GIL, and has no gradient.',
        "",
        "    XLA cannot compile it, and a SavedModel that contains it cannot be served.",
        '    """',
        "",
        f"    def {last}_of_arrays({tensors}):",
        f"        return {inner}",
        "",
        f"    return np_step({last}_of_arrays, [{tensors}], [{dtypes}], [{shapes}]{fields}{copied}{left_out})",
    ]
    code.use("np_step")
    name = _written(code, f"numpy_{last}", "\n".join(lines))
    return f"{name}({', '.join(arguments.given)})"


def _written(code: Any, base: str, text: str) -> str:
    """Return the name of the function with a given text; each is written once."""
    taken = every_name(*(unit.node for unit in code.units.in_order()))
    taken |= {unit.name for unit in code.units.in_order()}
    name, number = base, 1
    while True:
        whole = f"@tf.autograph.experimental.do_not_convert\ndef {name}{text}"
        if name not in taken and code.step_functions.setdefault(name, whole) == whole:
            return name
        number += 1
        name = f"{base}_{number}"


def _check(code: Any, node: ast.Call, step: Step) -> None:
    several = len(step.counts) > 1 or any(
        len({(one.dtype, one.weak, one.rank) for one in result.seen}) > 1 for result in step.results.values()
    )
    why = step.why_not or ("its results differ in number, dtype or axes" if several else "")
    if why or not step.results:
        why = why or "none of its results is used"
        raise code.refusal(
            node, f"`{ast.unparse(node.func)}` has no counterpart in TensorFlow and cannot stay in NumPy: {why}"
        )


def _dtype(result: Result) -> str:
    one = next(iter(result.seen))
    return str(one.dtype or np.dtype(one.weak).name)


def _shape(result: Result, names: dict[int | str, str]) -> str:
    def text(size: int | Part | None) -> str:
        if not isinstance(size, tuple):
            return str(size)
        return f"{names[size[0]]}.shape[{size[1]}]" if size[0] in names else "None"

    return f"[{', '.join(text(result.size_of(axis)) for axis in range(len(result.sizes[0])))}]"


class _Arguments:
    """The arguments of a step: tensors under new names, other values under their own, and the rest unchanged.

    Attributes:
        parameters: names of the parameters of the written function.
        given: the arguments of the call.
        tensors: the parameters that are tensors.
        by_key: these by the position or the name of the argument.
    """

    def __init__(self, code: Any, node: ast.Call) -> None:
        self.code = code
        self.node = node
        self.parameters: list[str] = []
        self.given: list[str] = []
        self.tensors: list[str] = []
        self.by_key: dict[int | str, str] = {}

    def text(self) -> str:
        """Return the call on arrays."""
        code, node, source = self.code, self.node, self.code.source
        parts = []
        function = node.func
        if isinstance(function, ast.Attribute) and code.is_tensor(function.value):
            parts.append((*source.span(function.value), self._part(function.value, -1, "array")))
        for place, one in enumerate(node.args):
            parts.append((*source.span(one), self._part(one, place, "array")))
        for keyword in node.keywords:
            key = str(keyword.arg)
            parts.append((*source.span(keyword.value), self._part(keyword.value, key, key)))
        text = source.replaced(*source.span(node), parts)
        return " ".join(text.split()) if "\n" in text and "#" not in text else str(text)

    def _part(self, node: ast.expr, key: int | str, name: str) -> str:
        code = self.code
        if isinstance(node, ast.Starred) or key == "None":
            raise code.refusal(self.node, f"`{ast.unparse(self.node)}` is called with `*`", "write the arguments")
        if code.is_tensor(node):
            named = self._parameter(node, name, code.tensor(node))
            self.tensors.append(named)
            self.by_key[key] = named
            return f"{named}.item()" if all(one.weak is not None for one in code.seen(node)) else named
        if code.holds_tensors(node):
            if not isinstance(node, ast.List | ast.Tuple):
                raise code.refusal(self.node, f"`{ast.unparse(node)}` is a list of tensors", "write it in the call")
            items = [self._part(one, "", "array") for one in node.elts]
            brackets = "[]" if isinstance(node, ast.List) else "()"
            return f"{brackets[0]}{', '.join(items)}{',' if len(items) == 1 else ''}{brackets[1]}"
        self._refuse_functions(node)
        return self._parameter(node, name, code.write(node)) if self._is_local(node) else str(code.write(node))

    def _parameter(self, node: ast.expr, name: str, given: str) -> str:
        base = node.id if isinstance(node, ast.Name) else name
        if base in self.parameters and isinstance(node, ast.Name) and self.given[self.parameters.index(base)] == given:
            return base
        taken = every_name(self.node) - {base}
        found, number = base, 1
        while found in self.parameters or found in taken or hasattr(builtins, found):
            number += 1
            found = f"{base}_{number}"
        self.parameters.append(found)
        self.given.append(given)
        return found

    def _is_local(self, node: ast.expr) -> bool:
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        return any(not self.code.is_global(one) and not hasattr(builtins, one.id) for one in names)

    def _refuse_functions(self, node: ast.expr) -> None:
        for one in ast.walk(node):
            is_own = isinstance(one, ast.Name) and isinstance(self.code._resolved(one), Unit)
            if isinstance(one, ast.Lambda) or (is_own and callable(self.code.value_of(one))):
                raise self.code.refusal(self.node, f"an argument of `{ast.unparse(self.node.func)}` is your function")


def computes_besides(code: Any) -> bool:
    """Does the port compute anything besides its steps?"""
    return any(_computes(code, source, function) for source, function in code.observed.functions.values())


COMPUTING = (ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.IfExp, ast.Subscript, ast.UnaryOp, ast.AugAssign)


def _computes(code: Any, source: Any, function: ast.AST) -> bool:
    for node in ast.walk(function):
        if not isinstance(node, COMPUTING):
            continue
        seen = code.observed.of(source, node.target if isinstance(node, ast.AugAssign) else node)
        if not any(one.kind == "tensor" for one in seen) or code.observed.step(source, node) is not None:
            continue
        is_conversion = isinstance(node, ast.Call) and (
            conversion_of(node, lambda one: code.units.value(source, one.id) if isinstance(one, ast.Name) else None)
            or getattr(node.func, "attr", "") in ("astype", "asarray", "ascontiguousarray", "numpy", "copy")
        )
        is_user = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in code.units.by_name
        if not is_conversion and not is_user:
            return True
    return False
