"""Functions that make arrays out of what is no array, which NumPy's protocols leave alone.

A body's names for them are bound to these, so that what it makes can be written to with traced values, and be indexed
by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced, holds_traced, wrap
from pyopbench.ports.tracing.call_ufunc import as_tensor
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.joining import filled
from pyopbench.ports.tracing.methods import METHODS
from pyopbench.ports.tracing.mixed_dtypes import of_nest
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.untyped import np

UNSET: Any = object()


def stacked(nest: Any, dtype: Any = None) -> TracedArray:
    """Return a nest of lists that holds traced arrays as one array, as `np.array` does."""
    leaves, shape = _leaves(nest)
    kind = dtypes.check(np.result_type(*(one.dtype for one in leaves)) if dtype is None else dtype)
    shapes = {one.static_shape for one in leaves}
    if len(shapes) > 1:
        raise ValueError(f"setting an array element with a sequence: parts have shapes {sorted(map(str, shapes))}")
    inner = leaves[0].static_shape
    if None in inner:
        raise refuse("np.array([...])", why="of arrays whose shape only the graph knows", fix="use np.stack")
    values = [one.value for one in leaves]
    found = TracedArray(
        step("array", lambda: tf.reshape(tf.stack([as_tensor(one, kind) for one in values]), (*shape, *inner))),
        c_order=True,
    )
    found._mixed = of_nest(leaves) if dtype is None else ()
    return found


def _leaves(nest: Any) -> tuple[list[TracedArray], tuple[int, ...]]:
    if not isinstance(nest, list | tuple) or getattr(nest, "stacked", None) is not None:
        return [as_traced(nest)], ()
    parts = [_leaves(one) for one in nest]
    if len({shape for _, shape in parts}) > 1:
        raise ValueError("setting an array element with a sequence: the nest is of unequal depth")
    return [leaf for leaves, _ in parts for leaf in leaves], (len(nest), *parts[0][1])


def _known(value: Any) -> Any:
    """Return traced arrays in a nest as what they are known to be."""
    if type(value) is TracedArray:
        return value.value.item() if value.weak else value.value
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(_known, value))
    return value


def is_dynamic(value: Any) -> bool:
    """Is there an array in a nest whose value only the graph knows?"""
    if type(value) is TracedArray:
        return not value.is_known
    if is_tensor(value) or getattr(value, "stacked", None) is not None:
        return True
    if isinstance(value, dict):
        return any(map(is_dynamic, value.values()))
    return isinstance(value, list | tuple) and any(map(is_dynamic, value))


def array(object: Any, dtype: Any = None, *, copy: Any = True, order: str = "K", ndmin: int = 0, **options: Any) -> Any:
    """Return an array of its own, of anything that NumPy takes for one."""
    found = asarray(object, dtype, order)
    if copy or found is not object:
        in_c_order = order == "C" or (order != "F" and (type(found) is not TracedArray or found.gives_c_order))
        mixed = getattr(found, "_mixed", ())
        found = METHODS["copy"](found)
        if mixed:
            found._mixed = mixed
        if not in_c_order and type(found) is TracedArray:
            found._c_order = False
    found = TracedArray(found.value) if found.is_scalar else found
    while found.ndim < ndmin:
        found = found[None]
    return found


def asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """Return an array: itself if it is one of the dtype that is asked for."""
    if type(a) is TracedArray:
        plain = TracedArray(a.value) if a.is_scalar else a
        if dtype is not None and np.dtype(dtype) != a.dtype:
            plain = METHODS["astype"](plain, dtype)
        return METHODS["copy"](plain) if options.get("copy") else _ordered(plain, order)
    if is_tensor(a):
        return asarray(TracedArray(a), dtype)
    if isinstance(a, map | zip | filter | range):
        a = list(a) if isinstance(a, range) else a
    if getattr(a, "stacked", None) is not None:
        return asarray(a.array(), dtype)
    if isinstance(a, list | tuple) and holds_traced(a):
        if is_dynamic(a):
            return stacked(a, dtype)
        a = _known(a)
    return _outside(np.asarray(a, dtype))


def _ordered(x: TracedArray, order: Any) -> Any:
    """Return an array itself, or a copy where its elements lie in another order than the one that is asked for."""
    if order not in ("C", "F"):
        return x
    layout = x.layout
    if layout is None and not (x.is_in_c_order and (order == "C" or x.ndim < 2)):
        return x.maybe_view(f"order={order!r}", x.value)
    if layout is None or layout.flags["C_CONTIGUOUS" if order == "C" else "F_CONTIGUOUS"]:
        return x
    found = METHODS["copy"](x)
    found._c_order = order == "C" or x.ndim < 2
    return found


def ascontiguousarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """Return an array of at least one axis in C order: itself if it is."""
    return np.atleast_1d(asarray(a, dtype, "C"))


def asfortranarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    """Return an array in Fortran's order: itself if it is."""
    return asarray(a, dtype, "F")


def _outside(value: Any) -> Any:
    """Return an array of NumPy's traced; objects and text as they are."""
    return TracedArray(np.array(value)) if value.dtype.kind in dtypes.KINDS else value


def _filling(name: str, fill: Any) -> Callable[..., Any]:
    def make(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
        kind = np.dtype(float if dtype is None else dtype)
        if kind.kind not in dtypes.KINDS:
            return getattr(np, name)(_known(shape), kind)
        return filled(shape, fill, dtypes.check(kind))

    return make


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> Any:
    """Return an array of one value, which may be traced."""
    value = as_traced(fill_value)
    found = filled(shape, value, dtypes.check(value.dtype if dtype is None else dtype))
    if value._mixed and dtype is None:
        found._mixed = value._mixed
    return found


def arange(*arguments: Any, dtype: Any = None, **options: Any) -> Any:
    """Return numbers in even steps; bounds may be traced."""
    given = [options.get(name) for name in ("start", "stop", "step") if name in options]
    if not is_dynamic([*arguments, *given]):
        return wrap(np.arange(*_known(arguments), dtype=dtype, **{k: _known(v) for k, v in options.items()}))
    if options:
        raise refuse("np.arange(start=..., stop=...)", fix="give them by position")
    *start, stop = arguments[:2]
    each = as_traced(arguments[2] if len(arguments) > 2 else 1)
    first, last = as_traced(start[0] if start else 0), as_traced(stop)
    kind = dtypes.check(np.result_type(first.dtype, last.dtype, each.dtype) if dtype is None else dtype)
    if kind.kind not in "iu":
        raise refuse("np.arange of floats that are traced", fix="np.arange(n) * step")
    values = [one.value for one in (first, last, each)]
    return wrap(step("arange", lambda: tf.range(*(as_tensor(one, kind) for one in values))))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = float, **options: Any) -> Any:
    """Return ones on a diagonal; the size may be traced."""
    if not is_dynamic([N, M]):
        return wrap(np.eye(_known(N), _known(M), k, dtype))
    return (arange(N)[:, None] + k == arange(N if M is None else M)).astype(dtype)


def fromfunction(function: Any, shape: Any, *, dtype: Any = float, **options: Any) -> Any:
    """Return what a function gives for the indices of an array."""
    return function(*(TracedArray(one) for one in np.indices(_known(shape), dtype=dtype)), **options)


def fromiter(iter: Any, dtype: Any, count: int = -1, **options: Any) -> Any:
    """Return an array of what an iterator gives."""
    return asarray(list(iter), dtype)


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield indices and elements."""
    x = as_traced(arr)
    if None in x.static_shape:
        raise refuse("np.ndenumerate", why="needs a shape that is known before the graph runs")
    for place in np.ndindex(*x.static_shape):
        yield place, x[place]


def isscalar(element: Any) -> bool:
    """Is something a number?"""
    return element.is_scalar if type(element) is TracedArray else bool(np.isscalar(element))


class vectorize:  # noqa: N801 - NumPy's name
    """A function of numbers called for each element; the loop is unrolled."""

    def __init__(self, pyfunc: Any, otypes: Any = None, **options: Any) -> None:
        if options.get("signature") is not None:
            raise refuse("np.vectorize(..., signature=...)")
        self.pyfunc = pyfunc
        self.otypes = otypes

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function gives for each element."""
        arrays = np.broadcast_arrays(*(as_traced(one) for one in arguments))
        shape = arrays[0].static_shape
        if math.prod(shape) == 0:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        found = [self.pyfunc(*(one[place] for one in arrays)) for place in np.ndindex(*shape)]
        kind = None if self.otypes is None else np.dtype(self.otypes[0])
        several = isinstance(found[0], tuple)
        columns = [list(one) for one in zip(*found, strict=True)] if several else [found]
        # NumPy takes the dtype of the first result for all of them.
        joined = [
            asarray(column, as_traced(column[0]).dtype if kind is None else kind).reshape(shape) for column in columns
        ]
        return tuple(joined) if several else joined[0]


class _Joined:
    """`np.r_` and `np.c_`."""

    def __init__(self, numpys: Any, join: Any) -> None:
        self.numpys = numpys
        self.join = join

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not is_dynamic(list(parts)):
            return wrap(self.numpys[_known(key)])
        if any(isinstance(part, str) for part in parts):
            raise refuse("np.r_['...']", fix="use np.concatenate")
        ranges = [self.numpys[part] if isinstance(part, slice) else part for part in parts]
        return self.join([np.atleast_1d(as_traced(part)) for part in ranges])


class _Grid:
    """`np.mgrid` and `np.ogrid`."""

    def __init__(self, numpys: Any) -> None:
        self.numpys = numpys

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        plain = [slice(*map(_known, (part.start, part.stop, part.step))) for part in parts]
        return wrap(self.numpys[tuple(plain) if isinstance(key, tuple) else plain[0]])


def tensor(value: Any, dtype: Any = None, *more: Any, **options: Any) -> Any:
    """Return what `tf.convert_to_tensor` and `tf.constant` make of a value; numbers of Python's get 32 bits."""
    if not is_dynamic(value):
        with tf.init_scope():
            made = tf.constant(_known(value), dtype, **_shape_of(more, options))
        return _outside(made.numpy()) if made.dtype != tf.string else made.numpy()
    found = asarray(value)
    leaves = [] if isinstance(value, TracedArray) or is_tensor(value) else _leaves(value)[0]
    weak: Any = getattr(value, "weak", None) or (
        leaves[0].weak if leaves and len({one.weak for one in leaves}) == 1 else None
    )
    wanted = np.dtype(tf.as_dtype(dtype or SHORT.get(weak, found.dtype)).as_numpy_dtype)
    found = METHODS["astype"](found, wanted)
    shape = _shape_of(more, options).get("shape")
    return found if shape is None else np.reshape(found, shape)


def _shape_of(more: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the shape that `tf.constant` is given; of `tf.convert_to_tensor`, a hint of a dtype is by position."""
    given: list[Any] = [one for one in more if isinstance(one, list | tuple)] or [options.get("shape")]
    return {} if given[0] is None else {"shape": _known(given[0])}


def cast_tensor(x: Any, dtype: Any, name: Any = None) -> Any:
    """Return what `tf.cast` makes of a value, as an array."""
    return METHODS["astype"](as_traced(tensor(x)), tf.as_dtype(dtype).as_numpy_dtype)


SHORT = {int: np.int32, float: np.float32, complex: np.complex128}
"""What TensorFlow makes of numbers of Python's."""

TENSORS = {"convert_to_tensor": tensor, "constant": tensor, "cast": cast_tensor}
"""Functions of TensorFlow's that a body of `tf.py_function` has for an array, by name."""

CREATION: dict[str, Any] = {
    "array": array,
    "asarray": asarray,
    "asanyarray": asarray,
    "ascontiguousarray": ascontiguousarray,
    "asfortranarray": asfortranarray,
    "asarray_chkfinite": asarray,
    "zeros": _filling("zeros", 0),
    "ones": _filling("ones", 1),
    "empty": _filling("empty", 0),
    "full": full,
    "arange": arange,
    "eye": eye,
    "identity": lambda n, dtype=float, **options: eye(n, dtype=dtype),
    "fromfunction": fromfunction,
    "fromiter": fromiter,
    "ndenumerate": ndenumerate,
    "isscalar": isscalar,
    "vectorize": vectorize,
    "r_": _Joined(np.r_, np.concatenate),
    "c_": _Joined(np.c_, np.column_stack),
    "mgrid": _Grid(np.mgrid),
    "ogrid": _Grid(np.ogrid),
}
"""By NumPy's name."""
