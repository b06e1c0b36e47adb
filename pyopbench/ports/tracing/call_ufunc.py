"""NumPy's protocol of ufuncs (NEP 13, https://numpy.org/neps/nep-0013-ufunc-overrides.html) for traced arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced, number, wrap
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.mixed_dtypes import LOGICAL, mixed_of
from pyopbench.ports.tracing.python_numbers import checked, pythons_numbers, real_power
from pyopbench.ports.tracing.storage import in_order_of
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.ufuncs import UFUNCS
from pyopbench.ports.tracing.untyped import np

OPERATORS = frozenset(
    {
        *("add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "power", "negative"),
        *("positive", "absolute", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "divmod"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
    }
)
"""What Python's operators call: of Python's numbers they return Python's numbers, which have no dtype of their own."""

COMPARISONS = frozenset({"greater", "greater_equal", "less", "less_equal", "equal", "not_equal"})
"""What NumPy decides by the value of a Python integer that the dtype of the other operand does not hold."""

REDUCTIONS = {
    "add": ("sum", "cumsum"),
    "multiply": ("prod", "cumprod"),
    "maximum": ("max", "maximum.accumulate"),
    "minimum": ("min", "minimum.accumulate"),
    "logical_and": ("all", ""),
    "logical_or": ("any", ""),
}
"""Ufuncs whose `reduce` and `accumulate` have functions, and their names."""


def call_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Do what a ufunc does to arrays of which at least one is traced.

    Args:
        ufunc: NumPy's or SciPy's.
        method: `__call__`, `reduce`, `accumulate`, `outer` or `at`.
        inputs: its positional arguments.
        options: its keyword arguments; `out` is a tuple.

    Raises:
        Refused: it has no counterpart.
    """
    options = dict(options)
    outputs = options.pop("out", None)
    spelled = _spelled(ufunc) if method == "__call__" else f"{_spelled(ufunc)}.{method}"
    if outputs is not None and not all(one is None or type(one) is TracedArray for one in outputs):
        raise refuse(
            f"{spelled}(..., out=array)",
            why="writes to an array of NumPy's that was made outside",
            fix="work on a .copy() of it",
        )
    if method == "__call__":
        found = _called(ufunc, inputs, options, spelled, outputs)
    elif method == "outer":
        found = _outer(ufunc, inputs, options)
    elif method == "at":
        return _at(ufunc, inputs, spelled)
    else:
        found = _reduced(ufunc, method, inputs, options, spelled)
    return found if outputs is None else _written(found, outputs)


def _spelled(ufunc: Any) -> str:
    name = ufunc.__name__
    return f"np.{name}" if getattr(np, name, None) is ufunc else f"scipy.special.{name}"


def _called(ufunc: Any, inputs: Sequence[Any], options: dict[str, Any], spelled: str, outputs: Any) -> Any:
    where = options.pop("where", True)
    dtype = options.pop("dtype", None)
    options.pop("casting", None), options.pop("order", None), options.pop("subok", None)
    if options:
        raise refuse(f"{spelled}(..., {next(iter(options))}=...)")
    operands = [as_traced(one) for one in inputs]
    if all(one.is_known for one in operands) and where is True:
        found = _plain(ufunc, operands, dtype)
    else:
        found = _traced(ufunc, operands, dtype, spelled)
    if where is True:
        return found
    if outputs is None:
        raise refuse(
            f"{spelled}(..., where=mask)", why="leaves elements undefined", fix="give it out=, or use np.where"
        )
    return np.where(where, found, outputs[0])


def _plain(ufunc: Any, operands: Sequence[TracedArray], dtype: Any) -> Any:
    given = [one.value.item() if one.weak else one.value for one in operands]
    found = ufunc(*given, dtype=dtype) if dtype is not None else ufunc(*given)
    is_weak = ufunc.__name__ in OPERATORS and all(one.weak for one in operands)
    if is_weak:
        return tuple(one.item() for one in found) if isinstance(found, tuple) else found.item()
    return wrap(found)


def implementation_of(ufunc: Any, spelled: str) -> Any:
    """Return a ufunc in TensorFlow ops.

    Raises:
        Refused: it is in no table.
    """
    name = ufunc.__name__
    if spelled.startswith("np.") and name in UFUNCS:
        return UFUNCS[name]
    if f"scipy.special.{name}" not in FUNCTIONS:
        raise refuse(spelled)
    return FUNCTIONS[f"scipy.special.{name}"].function


def _traced(ufunc: Any, operands: Sequence[TracedArray], dtype: Any, spelled: str) -> Any:
    implementation = implementation_of(ufunc, spelled)
    is_weak = ufunc.__name__ in OPERATORS and all(one.weak for one in operands)
    if is_weak:
        operands = pythons_numbers(ufunc.__name__, spelled, operands)
    mixed = mixed_of(ufunc, spelled, operands, pythons=ufunc.__name__ in OPERATORS) if dtype is None else ()
    # Among themselves Python's truth values are the integers 0 and 1.
    is_number = is_weak and not (ufunc.__name__ in LOGICAL and all(one.weak is bool for one in operands))
    examples = [1 if is_number and one.weak is bool else one.example for one in operands]
    given, returned = dtypes.loop(ufunc, examples, dtype)
    if ufunc.__name__ in COMPARISONS and not all(map(dtypes.holds, given, operands)):
        given = [np.dtype(np.int64)] * len(given)
    for one, kind in zip(operands, given, strict=True):
        dtypes.check_range(one, kind)
    if np.dtype(np.float16) in given and ufunc.__name__ == "nextafter":
        raise refuse(spelled, why="is not traced for float16")
    # As NumPy does: half precision is computed in single.
    given = [np.dtype(np.float32) if kind == np.float16 else kind for kind in given]
    values = [one.value for one in operands]
    if ufunc.signature is None:
        _check_shapes(operands)
    found = step(spelled, lambda: _computed(implementation, values, given, returned))
    result = _as_python(ufunc, found, operands, returned[0]) if is_weak else in_order_of(wrap(found), operands)
    for one in result if mixed and isinstance(result, tuple) else (result,):
        if mixed:
            one._mixed = mixed
    return result


def _as_python(ufunc: Any, found: Any, operands: Sequence[TracedArray], dtype: Any) -> Any:
    kind = type(np.zeros((), dtype).item())
    if isinstance(found, tuple):
        return tuple(number(one, kind) for one in found)
    if kind is float and ufunc.__name__ == "power":
        found = real_power(found, operands)
    return checked(ufunc.__name__, found, operands) if kind is int else number(found, kind)


def _check_shapes(operands: Sequence[TracedArray]) -> None:
    shapes = [one.static_shape for one in operands]
    if not any(None in shape for shape in shapes):
        np.broadcast_shapes(*shapes)


def _computed(implementation: Any, values: Sequence[Any], given: Sequence[Any], returned: Sequence[Any]) -> Any:
    tensors = [as_tensor(value, dtype) for value, dtype in zip(values, given, strict=True)]
    found = implementation(*tensors)
    if isinstance(found, tuple):
        return tuple(dtypes.cast(one, dtype) for one, dtype in zip(found, returned, strict=True))
    return dtypes.cast(found, returned[0])


def as_tensor(value: Any, dtype: Any) -> Any:
    """Return a tensor, or an array of NumPy's, as a tensor of a dtype."""
    return dtypes.cast(value, dtype) if is_tensor(value) else dtypes.constant(value, dtype)


def _written(found: Any, outputs: Sequence[TracedArray | None]) -> Any:
    several = found if isinstance(found, tuple) else (found,)
    for one, output in zip(several, outputs, strict=True):
        if output is not None:
            write_cast(output, as_traced(one))
    written = tuple(one if output is None else output for one, output in zip(several, outputs, strict=True))
    return written if isinstance(found, tuple) else written[0]


def write_cast(output: TracedArray, found: TracedArray) -> None:
    """Write a result to the array that was given for it, of another dtype only as NumPy lets it be.

    Raises:
        TypeError: the dtype is of another kind.
        ValueError: the shape is another one.
    """
    if not np.can_cast(found.dtype, output.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc output from dtype('{found.dtype}') to dtype('{output.dtype}') by the rule 'same_kind'"
        )
    if np.broadcast_shapes(*_static(found), *_static(output)) != tuple(
        one for shape in _static(output) for one in shape
    ):
        raise ValueError(
            f"non-broadcastable output operand with shape {output.static_shape} does not fit {found.static_shape}"
        )
    output[...] = found


def _static(array: TracedArray) -> list[tuple[int, ...]]:
    return [] if None in array.static_shape else [array._value.shape]


def _outer(ufunc: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    x, y = map(as_traced, inputs)
    return ufunc(x.reshape((*x.shape, *[1] * y.ndim)), y, **options)


def _at(ufunc: Any, inputs: Sequence[Any], spelled: str) -> None:
    array, key, *values = inputs
    if type(array) is not TracedArray:
        raise refuse(f"{spelled}(array, ...)", why="writes to an array of NumPy's that was made outside")
    from pyopbench.ports.tracing.scatter import scatter_at

    scatter_at(ufunc.__name__, spelled, array, key, *values)


def _reduced(ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any], spelled: str) -> Any:
    reduce, accumulate = REDUCTIONS.get(ufunc.__name__, ("", ""))
    name = {"reduce": reduce, "accumulate": accumulate}.get(method, "")
    if not name:
        raise refuse(spelled)
    from pyopbench.ports.tracing.functions import call_by_name

    array, *rest = inputs
    axis = rest[0] if rest else options.pop("axis", 0)
    return call_by_name(name, (array,), {"axis": axis, **options})
