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
    """Return the elements in order, where each is first, which of them each element is, and how often each is there."""
    values = np.unique(array)
    size = len(values)
    while size > 1 and values[size - 2] != values[size - 2]:  # of several NaN NumPy keeps one
        size -= 1
    values = values[:size]
    inverse = np.searchsorted(values, array.ravel())
    index, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for place in range(len(inverse) - 1, -1, -1):
        index[inverse[place]] = place
        counts[inverse[place]] += 1
    return values, index, inverse.reshape(array.shape), counts


@numba.njit  # type: ignore[untyped-decorator]
def _unique_rows(array: Any) -> Any:
    """Return the same of the rows of a matrix."""
    if np.any(np.isnan(array)):
        raise ValueError("rows with NaN are not compared here")
    order = np.arange(len(array))
    for column in range(array.shape[1] - 1, -1, -1):
        order = order[np.argsort(array[:, column][order], kind="mergesort")]
    inverse, begins = np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_)
    number = -1
    for place in range(len(order)):
        begins[place] = place == 0 or np.any(array[order[place]] != array[order[place - 1]])
        number += begins[place]
        inverse[order[place]] = number
    index, counts = order[begins], np.zeros(number + 1, np.int64)
    for one in inverse:
        counts[one] += 1
    return array[index], index, inverse, counts


@numba.njit  # type: ignore[untyped-decorator]
def _without_index(found: Any) -> Any:
    """Return what `_unique` does, but for where each element is first."""
    return found[0], found[2], found[3]


@numba.njit  # type: ignore[untyped-decorator]
def _without_inverse(found: Any) -> Any:
    """Return what `_unique` does, but for which of the elements each is."""
    return found[0], found[1], found[3]


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
def _tiled_once(array: Any, times: Any) -> Any:
    """Return an array repeated so many times along its last axis."""
    found = np.empty((*array.shape[:-1], times * array.shape[-1]), array.dtype)
    for place in range(times):
        found[..., place * array.shape[-1] : (place + 1) * array.shape[-1]] = array
    return found


@numba.njit  # type: ignore[untyped-decorator]
def _repeated(array: Any, times: Any, axis: Any) -> Any:
    """Return an array with each of its parts along an axis repeated, all as often or each as often as is said of it."""
    rows = _moved(array, axis, 0)
    return _moved(rows[np.repeat(np.arange(len(rows)), times)], 0, axis)


@numba.njit  # type: ignore[untyped-decorator]
def _squeezed(array: Any, axis: Any) -> Any:
    """Return an array without an axis of size 1."""
    rows = _moved(array, axis, 0)
    if len(rows) != 1:
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return rows[0]


@numba.njit  # type: ignore[untyped-decorator]
def _evenly_spaced(start: Any, stop: Any, num: Any, ends_with_stop: Any) -> Any:
    """Return `np.linspace` in 64 bits, rounded in the same places."""
    steps = num - 1 if ends_with_stop else num
    found = np.arange(num) * 1.0
    if steps > 0:
        step = (stop - start) / steps
        found = found / steps * (stop - start) if step == 0 else found * step
    found = found + start
    if ends_with_stop and num > 1:
        found[-1] = stop
    return found


@numba.njit  # type: ignore[untyped-decorator]
def _grid(begin: Any, end: Any, other_begin: Any, other_end: Any) -> Any:
    """Return the row and the column of each place of a grid."""
    rows, columns = np.arange(begin, end), np.arange(other_begin, other_end)
    shape = (len(rows), len(columns))
    return np.broadcast_to(rows, (shape[1], shape[0])).T.copy(), np.broadcast_to(columns, shape).copy()


@numba.njit  # type: ignore[untyped-decorator]
def _percentile_along(function: Any, array: Any, q: Any, axis: Any) -> Any:
    """Return percentiles of each vector along an axis; those of several `q` along a new first axis."""
    vectors, several = _moved(array, axis, -1), np.asarray(q).ravel()
    found = np.empty((len(several), *vectors.shape[:-1]), (np.ones(1, array.dtype) / 2).dtype)
    for place in range(len(several)):
        for at in np.ndindex(vectors.shape[:-1]):
            found[(place, *at)] = function(vectors[at], several[place])
    return _first_if_number(found, q)


def _first_if_number(array: Any, number: Any) -> Any:
    """Return the first part of an array where one number was given, and all of it where several were."""


@numba.extending.overload(_first_if_number)  # type: ignore[untyped-decorator]
def _first_if_number_typed(array: Any, number: Any) -> Any:
    def the_first(array: Any, number: Any) -> Any:
        return array[0]

    def all_of_it(array: Any, number: Any) -> Any:
        return array

    return the_first if isinstance(number, numba.types.Number) else all_of_it


def _before_axes(array: Any, other: Any) -> Any:
    """Return an array with as many axes of size 1 behind its own as another one has."""


@numba.extending.overload(_before_axes)  # type: ignore[untyped-decorator]
def _before_axes_typed(array: Any, other: Any) -> Any:
    if not isinstance(array, numba.types.Array) or not isinstance(other, numba.types.Array):
        return None
    ones = (1,) * other.ndim

    def of_arrays(array: Any, other: Any) -> Any:
        return np.ascontiguousarray(array).reshape(array.shape + ones)

    return of_arrays


def _in_order(array: Any) -> Any:
    """Return an array whose elements lie one after another, a copy where they do not."""


@numba.extending.overload(_in_order)  # type: ignore[untyped-decorator]
def _in_order_typed(array: Any) -> Any:
    if not isinstance(array, numba.types.Array):
        return None

    def as_it_is(array: Any) -> Any:
        return array

    def copied(array: Any) -> Any:
        return np.ascontiguousarray(array)

    return as_it_is if array.layout == "C" else copied


def _clipped(array: Any, low: Any, high: Any) -> Any:
    """Return `np.clip`, also of a number."""


@numba.extending.overload(_clipped)  # type: ignore[untyped-decorator]
def _clipped_typed(array: Any, low: Any, high: Any) -> Any:
    def of_arrays(array: Any, low: Any, high: Any) -> Any:
        return np.clip(array, low, high)

    def of_numbers(array: Any, low: Any, high: Any) -> Any:
        return np.minimum(np.maximum(array, low), high)

    are_numbers = all(isinstance(one, numba.types.Number) for one in (array, low, high))
    return of_numbers if are_numbers else of_arrays


def _as_list(array: Any) -> Any:
    """Return the numbers of a vector as a list."""


@numba.extending.overload(_as_list)  # type: ignore[untyped-decorator]
def _as_list_typed(array: Any) -> Any:
    def of_vector(array: Any) -> Any:
        return [one for one in array]  # noqa: C416 - Numba has no `list` of some arrays

    return of_vector if isinstance(array, numba.types.Array) and array.ndim == 1 else None


def _histogram(array: Any, bins: Any, low: Any, high: Any, weights: Any) -> Any:
    """Return `np.histogram`, whose bins are what its edges say, of so many bins of one width or between edges."""


@numba.extending.overload(_histogram)  # type: ignore[untyped-decorator]
def _histogram_typed(array: Any, bins: Any, low: Any, high: Any, weights: Any) -> Any:
    if not isinstance(array, numba.types.Array):
        return None
    kind = numba.np.numpy_support.as_dtype(array.dtype)
    has_weights = isinstance(weights, numba.types.Array)
    counted = weights.dtype if has_weights else numba.types.int64
    edged = numba.types.float32 if kind == np.float32 else numba.types.float64
    has_range = not isinstance(low, numba.types.NoneType)
    if kind.name not in ("float32", "float64", "int32", "int64", "uint8"):
        return None

    def edges_of(array: Any, bins: Any, low: Any, high: Any) -> Any:
        first, last = edged(0), edged(1)
        if has_range:
            first, last = edged(low), edged(high)
        elif array.size > 0:
            first, last = edged(array.min()), edged(array.max())
        if not (np.isfinite(first) and np.isfinite(last)) or first > last:
            raise ValueError("the range is not finite, or not ascending")
        if first == last:
            first, last = edged(first - edged(0.5)), edged(last + edged(0.5))
        steps = np.arange(bins + 1).astype(edged)
        found = steps * edged(edged(last - first) / edged(bins)) + first
        found[-1] = last
        return found

    def between(array: Any, bins: Any, low: Any, high: Any) -> Any:
        return np.asarray(bins)

    is_even = isinstance(bins, numba.types.Integer)
    edges = numba.njit(edges_of if is_even else between)

    def counts(array: Any, bins: Any, low: Any, high: Any, weights: Any) -> Any:
        limits = edges(array, bins, low, high)
        last = len(limits) - 2
        found = np.zeros(last + 1, counted)
        each = (last + 1) / (limits[-1] - limits[0])
        is_guessed = is_even and np.isfinite(each)
        values = array.ravel()
        for place in range(values.size):
            one = values[place]
            if one >= limits[0] and one <= limits[-1]:
                if is_guessed:  # rounding may give a neighbouring bin, so compare with the edges
                    where = min(int((one - limits[0]) * each), last)
                    while one < limits[where]:
                        where -= 1
                    while where < last and one >= limits[where + 1]:
                        where += 1
                else:
                    where = min(np.searchsorted(limits, one, side="right") - 1, last)
                found[where] += weights.flat[place] if has_weights else 1
        return found, limits

    return counts


def _picked(array: Any, mask: Any) -> Any:
    """Return the elements of an array where a mask is true."""


@numba.extending.overload(_picked)  # type: ignore[untyped-decorator]
def _picked_typed(array: Any, mask: Any) -> Any:
    def by_numba(array: Any, mask: Any) -> Any:
        return array[mask]

    def of_elements(array: Any, mask: Any) -> Any:
        if array.shape[: mask.ndim] != mask.shape:
            raise IndexError("boolean index did not match indexed array")
        found = np.empty((np.sum(mask), *array.shape[mask.ndim :]), array.dtype)
        place = 0
        for at in np.ndindex(mask.shape):
            if mask[at]:
                found[place] = array[at]
                place += 1
        return found

    is_mask = isinstance(mask, numba.types.Array) and mask.dtype == numba.types.boolean
    return of_elements if is_mask and mask.ndim > 1 and isinstance(array, numba.types.Array) else by_numba


def _put(array: Any, mask: Any, values: Any) -> None:
    """Write a value, or one for each, to the elements of an array where a mask is true."""


@numba.extending.overload(_put)  # type: ignore[untyped-decorator]
def _put_typed(array: Any, mask: Any, values: Any) -> Any:
    def by_numba(array: Any, mask: Any, values: Any) -> None:
        array[mask] = values

    def of_one(array: Any, mask: Any, values: Any) -> None:
        if array.shape[: mask.ndim] != mask.shape:
            raise IndexError("boolean index did not match indexed array")
        for at in np.ndindex(mask.shape):
            if mask[at]:
                array[at] = values

    def of_each(array: Any, mask: Any, values: Any) -> None:
        count = np.sum(mask)
        if array.shape[: mask.ndim] != mask.shape:
            raise IndexError("boolean index did not match indexed array")
        if len(values) not in (1, count):
            raise ValueError("cannot assign so many values where the mask is true")
        place = 0
        for at in np.ndindex(mask.shape):
            if mask[at]:
                array[at] = values[place if len(values) == count else 0]
                place += 1

    is_mask = isinstance(mask, numba.types.Array) and mask.dtype == numba.types.boolean
    if not is_mask or mask.ndim < 2 or not isinstance(array, numba.types.Array):
        return by_numba
    axes = values.ndim if isinstance(values, numba.types.Array) else 0
    return of_each if axes > array.ndim - mask.ndim else of_one


@numba.njit  # type: ignore[untyped-decorator]
def _picked_of_last(array: Any, mask: Any, place: Any) -> Any:
    """Return `array[mask, place]`, where the place is along the last axis."""
    return _picked(array[..., place], mask)


@numba.njit  # type: ignore[untyped-decorator]
def _put_of_last(array: Any, mask: Any, place: Any, values: Any) -> None:
    """Write to `array[mask, place]`."""
    _put(array[..., place], mask, values)


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


def _hstack(arrays: Any) -> Any:
    """Return the arrays of a list beside one another: vectors one behind another."""


@numba.extending.overload(_hstack)  # type: ignore[untyped-decorator]
def _hstack_typed(arrays: Any) -> Any:
    def of_vectors(arrays: Any) -> Any:
        return _joined(arrays)

    def of_more(arrays: Any) -> Any:
        return _moved(_joined([_moved(one, 1, 0) for one in arrays]), 0, 1)

    return of_vectors if arrays.dtype.ndim == 1 else of_more


def _vstack(arrays: Any) -> Any:
    """Return the arrays of a list below one another: vectors as rows."""


@numba.extending.overload(_vstack)  # type: ignore[untyped-decorator]
def _vstack_typed(arrays: Any) -> Any:
    def of_vectors(arrays: Any) -> Any:
        return _array_of(arrays)

    def of_more(arrays: Any) -> Any:
        return _joined(arrays)

    return of_vectors if arrays.dtype.ndim == 1 else of_more


def _column_stack(arrays: Any) -> Any:
    """Return the arrays of a list beside one another: vectors as columns."""


@numba.extending.overload(_column_stack)  # type: ignore[untyped-decorator]
def _column_stack_typed(arrays: Any) -> Any:
    def of_vectors(arrays: Any) -> Any:
        return _array_of(arrays).T

    def of_more(arrays: Any) -> Any:
        return _hstack(arrays)

    return of_vectors if arrays.dtype.ndim == 1 else of_more


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


def _einsum(subscripts: Any, *arrays: Any) -> Any:
    """Return `np.einsum` of one or two arrays."""


@numba.extending.overload(_einsum, prefer_literal=True)  # type: ignore[untyped-decorator]
def _einsum_typed(subscripts: Any, *arrays: Any) -> Any:
    if len(arrays) == 1 and isinstance(arrays[0], numba.types.BaseTuple):
        arrays = tuple(arrays[0])  # as Numba may pass them
    if not isinstance(subscripts, numba.types.StringLiteral):
        return None
    given, out = subscripts.literal_value.split("->")
    operands = given.split(",")
    if any(one.ndim != len(letters) for one, letters in zip(arrays, operands, strict=True)):
        return None
    dtypes = [numba.np.numpy_support.as_dtype(one.dtype) for one in arrays]
    dtype = numba.np.numpy_support.from_dtype(np.result_type(*dtypes))
    sized: dict[str, str] = {}
    lines = ["def summed(arrays):"]
    for number, letters in enumerate(operands):
        for axis, letter in enumerate(letters):
            size = f"arrays[{number}].shape[{axis}]"
            if letter in sized:
                lines += [f"    if {size} != size_{letter}:", "        raise ValueError('sizes of operands differ')"]
            else:
                lines.append(f"    size_{letter} = {size}")
                sized[letter] = size
    shape = "".join(f"size_{letter}, " for letter in out)
    lines.append(f"    found = np.zeros(({shape}), dtype)")
    indent = "    "
    for letter in [*out, *(one for one in sized if one not in out)]:
        lines.append(f"{indent}for {letter}_ in range(size_{letter}):")
        indent += "    "
    read = " * ".join(
        f"dtype(arrays[{number}][{', '.join(f'{letter}_' for letter in letters)}])"
        for number, letters in enumerate(operands)
    )
    at = ", ".join(f"{letter}_" for letter in out) or "()"
    lines += [f"{indent}found[{at}] += {read}", f"    return found{'' if out else '[()]'}"]
    scope = {"np": np, "dtype": dtype}
    exec("\n".join(lines), scope)
    summed = numba.njit(scope["summed"])

    def by_loops(subscripts: Any, *arrays: Any) -> Any:
        return summed(arrays)

    return by_loops


def _product(a: Any, b: Any) -> Any:
    """Return `a @ b`, also of different dtypes."""


@numba.extending.overload(_product)  # type: ignore[untyped-decorator]
def _product_typed(a: Any, b: Any) -> Any:
    def of_one_dtype(a: Any, b: Any) -> Any:
        return np.dot(a, b)

    def of_rows(a: Any, b: Any) -> Any:
        return _product(a.copy().reshape(-1, a.shape[-1]), b).reshape(a.shape[:-1])

    def of_matrices(a: Any, b: Any) -> Any:
        rows = np.ascontiguousarray(a).reshape(-1, a.shape[-1])
        return _product(rows, b).reshape((*a.shape[:-1], b.shape[1]))

    if not all(isinstance(one, numba.types.Array) for one in (a, b)):
        return of_one_dtype
    if a.ndim > 2 and b.ndim == 1:
        return of_rows
    if a.ndim > 2 and b.ndim == 2:
        return of_matrices
    if a.ndim > 2 or b.ndim > 2:
        return None
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
