"""Functions for Numba, for what it has no version of in NumPy; a written port has the source of those that it calls."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit  # type: ignore[untyped-decorator]
def _mean(items: Any) -> Any:
    """Return the mean of all numbers, summed in 64 bits: NumPy sums in pairs, and Numba one after another."""
    array = np.asarray(items)
    sample = np.ones(1, array.dtype)
    total = np.sum(array, dtype=(sample * np.float64(1)).dtype)
    return np.asarray(np.divide(total, array.size)).astype(np.asarray(np.mean(sample)).dtype)[()]


@numba.njit  # type: ignore[untyped-decorator]
def _checked(axis: Any, axes: Any) -> Any:
    """Return an axis counted from the first one, where it may be given from the last; ValueError if it is not there."""
    if axis < -axes or axis >= axes:
        raise ValueError("axis is out of bounds")
    return axis % axes


def _moved(array: Any, axis: Any, to: Any) -> Any:
    """Return `np.moveaxis` of one axis: Numba's takes eight seconds to compile, as it sorts and formats messages."""


@numba.extending.overload(_moved)  # type: ignore[untyped-decorator]
def _moved_typed(array: Any, axis: Any, to: Any) -> Any:
    are_integers = all(isinstance(place, numba.types.Integer) for place in (axis, to))
    if not isinstance(array, numba.types.Array) or not are_integers:
        return None  # so that Numba's error has the user's line
    axes = array.ndim
    others = [[other for other in range(axes) if other != moved] for moved in range(axes)]
    orders = [(*others[moved][:at], moved, *others[moved][at:]) for moved in range(axes) for at in range(axes)]
    order_of = tuple(orders)

    def of_vector(array: Any, axis: Any, to: Any) -> Any:
        return array[_checked(axis, 1) + _checked(to, 1) :]  # both are 0, and only checked

    def of_matrix(array: Any, axis: Any, to: Any) -> Any:
        return array[:, :] if _checked(axis, 2) == _checked(to, 2) else array.T

    def of_three(array: Any, axis: Any, to: Any) -> Any:  # `transpose` takes four seconds to compile
        a, b, c = order_of[_checked(axis, 3) * 3 + _checked(to, 3)]
        sizes, steps = array.shape, array.strides
        of_sizes, of_steps = (sizes[a], sizes[b], sizes[c]), (steps[a], steps[b], steps[c])
        return np.lib.stride_tricks.as_strided(array, of_sizes, of_steps)

    def of_more(array: Any, axis: Any, to: Any) -> Any:
        return array.transpose(order_of[_checked(axis, axes) * axes + _checked(to, axes)])

    return {1: of_vector, 2: of_matrix, 3: of_three}.get(axes, of_more)


@numba.njit  # type: ignore[untyped-decorator]
def _along(reduce: Any, array: Any, axis: Any) -> Any:
    """Return what a function of a vector returns for each vector along an axis."""
    sample = np.asarray(reduce(np.ones(1, array.dtype)))
    return _of_vectors(reduce, _moved(array, axis, -1), sample)


@numba.njit  # type: ignore[untyped-decorator]
def _average_along(reduce: Any, array: Any, axis: Any) -> Any:
    """Do the same for a kind of average, which has the dtype of a mean."""
    sample = np.asarray(np.mean(np.ones(1, array.dtype)))
    return _of_vectors(reduce, _moved(array, axis, -1), sample)


@numba.njit  # type: ignore[untyped-decorator]
def _of_vectors(reduce: Any, vectors: Any, sample: Any) -> Any:
    """Return what a function of a vector returns for each along the last axis, in the dtype of a sample."""
    if vectors.ndim == 1:
        return np.asarray(reduce(vectors)).astype(sample.dtype)[()]
    found = np.empty(vectors.shape[:-1], sample.dtype)
    for place in np.ndindex(found.shape):
        found[place] = reduce(vectors[place])
    return found


@numba.njit  # type: ignore[untyped-decorator]
def _each_along(function: Any, array: Any, axis: Any) -> Any:
    """Return an array with each vector along an axis replaced by what a function makes of it."""
    return _moved(_each_vector(function, _moved(array, axis, -1)), -1, axis)


@numba.njit  # type: ignore[untyped-decorator]
def _each_vector(function: Any, vectors: Any) -> Any:
    """Return an array with each vector along the last axis replaced by what a function makes of it."""
    if vectors.ndim == 1:
        return function(vectors)
    found = np.empty(vectors.shape, function(np.ones(1, vectors.dtype)).dtype)
    for place in np.ndindex(vectors.shape[:-1]):
        found[place] = function(vectors[place])
    return found


@numba.njit  # type: ignore[untyped-decorator]
def _rolled(array: Any, shift: Any, axis: Any) -> Any:
    """Return `np.roll` along one axis."""
    rows = _moved(array, axis, 0)
    found = np.empty_like(array)
    to = _moved(found, axis, 0)
    for place in range(len(rows)):
        to[(place + shift) % len(rows)] = rows[place]
    return found


@numba.njit  # type: ignore[untyped-decorator]
def _padded(array: Any, axis: Any, before: Any, after: Any, value: Any) -> Any:
    """Return an array with a margin of one value along an axis."""
    rows = _moved(array, axis, 0)
    found = np.empty((before + len(rows) + after, *rows.shape[1:]), array.dtype)
    found[:before] = value
    found[before : before + len(rows)] = rows
    found[before + len(rows) :] = value
    return _moved(found, 0, axis)


@numba.njit  # type: ignore[untyped-decorator]
def _padded_with_edge(array: Any, axis: Any, before: Any, after: Any) -> Any:
    """Return an array with a margin along an axis in which its outermost elements are repeated."""
    rows = _moved(array, axis, 0)
    places = np.arange(-before, len(rows) + after)
    return _moved(rows[np.minimum(np.maximum(places, 0), len(rows) - 1)], 0, axis)


@numba.njit  # type: ignore[untyped-decorator]
def _norm(array: Any, axis: Any) -> Any:
    """Return the length of each vector along an axis."""
    sizes = np.abs(array)
    return np.sqrt(np.sum(sizes * sizes, axis))


@numba.njit  # type: ignore[untyped-decorator]
def _unique(array: Any) -> Any:
    """Return the elements in order, which of them each element is, and how often each is there."""
    values = np.unique(array)
    size = len(values)
    while size > 1 and values[size - 2] != values[size - 2]:  # of several NaN NumPy keeps one
        size -= 1
    values = values[:size]
    inverse = np.searchsorted(values, array.ravel())
    counts = np.zeros(size, np.int64)
    for place in inverse:
        counts[place] += 1
    return values, inverse.reshape(array.shape), counts


@numba.njit  # type: ignore[untyped-decorator]
def _tiled(array: Any, rows: Any, columns: Any) -> Any:
    """Return a vector or a matrix repeated so many times downwards and to the right."""
    block = np.atleast_2d(array)
    height, width = block.shape
    found = np.empty((rows * height, columns * width), array.dtype)
    for row in range(rows):
        for column in range(columns):
            found[row * height : (row + 1) * height, column * width : (column + 1) * width] = block
    return found


@numba.njit  # type: ignore[untyped-decorator]
def _meshgrid(x: Any, y: Any) -> Any:
    """Return the coordinates of a grid of two vectors."""
    shape = (len(y), len(x))
    return np.broadcast_to(x, shape).copy(), np.broadcast_to(y, (len(x), len(y))).T.copy()


@numba.njit  # type: ignore[untyped-decorator]
def _add_at(array: Any, places: Any, values: Any) -> None:
    """Add values to rows of an array, as often as a row is named."""
    spread = np.broadcast_to(np.asarray(values), (len(places), *array.shape[1:]))
    for row in range(len(places)):
        array[places[row]] += spread[row]


@numba.njit  # type: ignore[untyped-decorator]
def _joined(arrays: Any) -> Any:
    """Return the arrays of a list one behind another."""
    size = 0
    for one in arrays:
        size += len(one)
    found = np.empty((size, *arrays[0].shape[1:]), arrays[0].dtype)
    begin = 0
    for one in arrays:
        found[begin : begin + len(one)] = one
        begin += len(one)
    return found


def _array_of(items: Any) -> Any:
    """Return a list of numbers, or of arrays of one shape, as an array."""


@numba.extending.overload(_array_of)  # type: ignore[untyped-decorator]
def _array_of_typed(items: Any) -> Any:
    def of_numbers(items: Any) -> Any:
        return np.array(items)

    def of_arrays(items: Any) -> Any:
        found = np.empty((len(items), *items[0].shape), items[0].dtype)
        for place in range(len(items)):
            found[place] = items[place]
        return found

    return of_arrays if isinstance(items.dtype, numba.types.Array) else of_numbers


def _product(a: Any, b: Any) -> Any:
    """Return `a @ b`, also of different dtypes."""


@numba.extending.overload(_product)  # type: ignore[untyped-decorator]
def _product_typed(a: Any, b: Any) -> Any:
    def of_one_dtype(a: Any, b: Any) -> Any:
        return np.dot(a, b)

    def of_rows(a: Any, b: Any) -> Any:
        return _product(a.copy().reshape(-1, a.shape[-1]), b).reshape(a.shape[:-1])

    if not all(isinstance(one, numba.types.Array) for one in (a, b)):
        return of_one_dtype
    if a.ndim > 2 and b.ndim == 1:
        return of_rows
    dtypes = [numba.np.numpy_support.as_dtype(one.dtype) for one in (a, b)]
    if dtypes[0] == dtypes[1] and dtypes[0].kind in "fc":
        return of_one_dtype
    dtype = numba.np.numpy_support.from_dtype(np.result_type(*dtypes))
    computed = numba.np.numpy_support.from_dtype(np.result_type(*dtypes, np.float32))

    def mixed(a: Any, b: Any) -> Any:
        return np.asarray(np.dot(a.astype(computed), b.astype(computed))).astype(dtype)[()]

    return mixed


def _like(number: Any, *others: Any) -> Any:
    """Return a Python number in the dtype of the arrays in the same operation, as NumPy 2 treats it.

    With None as the first of the others, the operand is computed from these arrays and may have more bits than they
    have, as `x.mean()` does. A whole number then stays as it is next to integers.
    """
    return number


@numba.extending.overload(_like)  # type: ignore[untyped-decorator]
def _like_typed(number: Any, *others: Any) -> Any:
    def as_it_is(number: Any, *others: Any) -> Any:
        return number

    def of_dtype(number: Any, *others: Any) -> Any:
        return dtype(number)

    if len(others) == 1 and isinstance(others[0], numba.types.BaseTuple):
        others = tuple(others[0])  # as Numba may pass them
    are_wider = bool(others) and isinstance(others[0], numba.types.NoneType)
    others = others[are_wider:]
    arrays = [one for one in others if isinstance(one, numba.types.Array)]
    scalars = [one for one in others if isinstance(one, numba.types.Number | numba.types.Boolean)]
    if not isinstance(number, numba.types.Number) or len(arrays) + len(scalars) < len(others):
        return as_it_is
    # Before version 2, NumPy took numbers without axes for numbers of Python's.
    if not arrays and np.__version__.startswith("1."):
        return as_it_is
    dtypes = [numba.np.numpy_support.as_dtype(one) for one in (*(one.dtype for one in arrays), *scalars)]
    shared, given = np.result_type(*dtypes), numba.np.numpy_support.as_dtype(numba.types.unliteral(number))
    # Numba computes scalars in 64 bits.
    if given.kind in "iu" and shared.kind in "iub" and (are_wider or not arrays):
        return as_it_is
    weak = {"i": 1, "u": 1, "f": 1.0, "c": 1j}[given.kind]
    dtype = numba.np.numpy_support.from_dtype(np.result_type(np.ones(1, shared), weak))
    return of_dtype
