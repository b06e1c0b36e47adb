"""Functions for Numba, for what it has no version of in NumPy; a written port has the source of those that it calls."""

import numba
import numpy as np


@numba.njit
def _moved(array, axis, to):
    """Return `np.moveaxis` of one axis: Numba's takes eight seconds to compile, as it sorts and formats messages."""
    axes, replace = array.ndim, numba.cpython.unsafe.tuple.tuple_setitem
    if not (-axes <= axis < axes and -axes <= to < axes):
        raise ValueError("axis is out of bounds")
    sizes, steps = array.shape, array.strides
    for place in range(axes):
        other = place - int(place > to % axes)  # among the other axes
        old = axis % axes if place == to % axes else other + int(other >= axis % axes)
        sizes = replace(sizes, place, array.shape[old])
        steps = replace(steps, place, array.strides[old])
    return np.lib.stride_tricks.as_strided(array, sizes, steps)


@numba.njit
def _each_along(function, array, axis):
    """Return an array with each vector along one of several axes replaced by what a function makes of it."""
    vectors = _moved(array, axis, -1)
    found = np.empty(vectors.shape, function(np.ones(1, vectors.dtype)).dtype)
    for place in np.ndindex(vectors.shape[:-1]):
        found[place] = function(vectors[place])
    return _moved(found, -1, axis)


@numba.njit
def _rolled(array, shift, axis):
    """Return `np.roll` along one axis."""
    rows = _moved(array, axis, 0)
    found = np.empty_like(array)
    to = _moved(found, axis, 0)
    for place in range(len(rows)):
        to[(place + shift) % len(rows)] = rows[place]
    return found


@numba.njit
def _padded(array, axis, before, after, has_edge):
    """Return an array with a margin along an axis: of zeros, or of its outermost elements."""
    rows = _moved(array, axis, 0)
    found = np.zeros((before + len(rows) + after, *rows.shape[1:]), array.dtype)
    found[before : before + len(rows)] = rows
    if has_edge:
        found[:before] = rows[0]
        found[before + len(rows) :] = rows[-1]
    return _moved(found, 0, axis)


@numba.njit
def _unique(array):
    """Return the elements in order, which of them each element is, and how often each is there."""
    values = np.unique(array)
    size = len(values)
    while size > 1 and values[size - 2] != values[size - 2]:  # of several NaN NumPy keeps one
        size -= 1
    values = values[:size]
    inverse = np.searchsorted(values, array.ravel())
    return values, inverse.reshape(array.shape), np.bincount(inverse, minlength=size)


@numba.njit
def _unique_rows(array):
    """Return the same of the rows of a matrix."""
    if np.any(np.isnan(array)):
        raise ValueError("rows with NaN are not compared here")
    order = np.arange(len(array))
    for column in range(array.shape[1] - 1, -1, -1):
        order = order[np.argsort(array[:, column][order], kind="mergesort")]
    rows, inverse = array[order], np.zeros(len(array), np.int64)
    begins = np.ones(len(rows), np.int64)
    for place in range(1, len(rows)):
        begins[place] = np.any(rows[place] != rows[place - 1])
    inverse[order] = np.cumsum(begins) - 1
    return rows[begins == 1], inverse, np.bincount(inverse)


@numba.njit
def _tiled(array, rows, columns):
    """Return a vector or a matrix repeated so many times downwards and to the right."""
    block = np.atleast_2d(array)
    height, width = block.shape
    blocks = np.broadcast_to(block.copy().reshape((height, 1, width)), (rows, height, columns, width))
    return blocks.copy().reshape((rows * height, columns * width))


@numba.njit
def _repeated(array, times, axis):
    """Return an array with each of its parts along an axis repeated, all as often or each as often as is said of it."""
    rows = _moved(array, axis, 0)
    return _moved(rows[np.repeat(np.arange(len(rows)), times)], 0, axis)


@numba.njit
def _evenly_spaced(start, stop, num):
    """Return `np.linspace` in 64 bits, rounded in the same places."""
    found = np.arange(num) * ((stop - start) / max(num - 1, 1)) + start
    if num > 1:
        found[-1] = stop
    return found


@numba.njit
def _meshgrid(x, y):
    """Return the coordinates of a grid of two vectors."""
    shape = (len(y), len(x))
    return np.broadcast_to(x, shape).copy(), np.broadcast_to(y, (len(x), len(y))).T.copy()


@numba.njit
def _add_at(array, places, values):
    """Add values to rows of an array, as often as a row is named."""
    spread = np.broadcast_to(np.asarray(values), (len(places), *array.shape[1:]))
    for row in range(len(places)):
        array[places[row]] += spread[row]


@numba.njit
def _divisor(number):
    """Return a divisor of a number of Python's, which must not be 0; NumPy's may."""
    if number == 0:
        raise ZeroDivisionError("division by zero")
    return number


@numba.njit
def _mean(items):
    """Return the mean of all numbers, summed in 64 bits: NumPy sums in pairs, and Numba one after another."""
    array = np.asarray(items)
    return np.divide(np.sum(array, dtype=(np.ones(1, array.dtype) * np.float64(1)).dtype), array.size)


@numba.njit
def _along(reduce, array, axis):
    """Return what a function of a vector returns for each vector along an axis of several."""
    vectors = _moved(array, axis, -1)
    found = np.empty(vectors.shape[:-1], np.asarray(reduce(np.ones(1, array.dtype))).dtype)
    for place in np.ndindex(found.shape):
        found[place] = reduce(vectors[place])
    return found


@numba.njit
def _percentile_along(function, array, several, axis):
    """Return percentiles of each vector along an axis, those of one `q` after another along a new first axis."""
    vectors = _moved(array, axis, -1)
    found = np.empty((len(several), *vectors.shape[:-1]), np.float64)
    for at in np.ndindex(found.shape):
        found[at] = function(vectors[at[1:]], several[at[0]])
    return found


@numba.njit
def _edges_of(array, bins):
    """Return the edges of so many bins of one width between the smallest and the greatest element."""
    first, last = (array.min() * 1.0, array.max() * 1.0) if array.size > 0 else (0.0, 1.0)
    return _edges_between(first, last, bins)


@numba.njit
def _edges_in_float32(edges):
    """Return evenly spaced edges, (n,) float32, computed in float32 like `np.linspace` between float32 ends."""
    count, first, last = len(edges) - 1, np.float32(edges[0]), np.float32(edges[-1])
    found = np.arange(count + 1).astype(np.float32) * np.float32((last - first) / np.float32(count)) + first
    found[-1] = last
    return found


@numba.njit
def _edges_between(first, last, bins):
    """Return the edges of so many bins of one width between two numbers."""
    if not (np.isfinite(first) and np.isfinite(last)):
        raise ValueError("the range is not finite")
    if first == last:
        return _evenly_spaced(first - 0.5, last + 0.5, bins + 1)
    return _evenly_spaced(first, last, bins + 1)


@numba.njit
def _histogram(array, edges, weights):
    """Return the weight of the elements between evenly spaced edges, of which the last counts, too; and the edges."""
    found, values, weights = np.zeros(len(edges) - 1, weights.dtype), array.ravel(), weights.ravel()
    last, each = len(edges) - 2, int(weights.size > 1)
    scale = (last + 1) / (edges[-1] - edges[0])
    for place in range(values.size):
        value = values[place]
        if edges[0] <= value <= edges[-1]:
            at = max(min(int((value - edges[0]) * scale), last), 0)
            while edges[at] > value:  # rounding may miss
                at -= 1
            while at < last and edges[at + 1] <= value:
                at += 1
            found[at] += weights[place * each]
    return found, edges


@numba.njit
def _picked(array, mask):
    """Return the elements of an array where a mask is true."""
    if array.shape[: mask.ndim] != mask.shape:
        raise IndexError("boolean index did not match indexed array")
    rows = np.ascontiguousarray(array).reshape((mask.size, *array.shape[mask.ndim :]))
    return rows[mask.ravel()]


@numba.njit
def _put(array, mask, values):
    """Write a value, or one for each, to the elements of an array where a mask is true."""
    if array.shape[: mask.ndim] != mask.shape:
        raise IndexError("boolean index did not match indexed array")
    spread = np.broadcast_to(np.asarray(values), (np.sum(mask), *array.shape[mask.ndim :]))
    place = 0
    for at in np.ndindex(mask.shape):
        if mask[at]:
            array[at] = spread[place]
            place += 1


@numba.njit
def _joined(arrays, axis):
    """Return the arrays of a list one behind another along an axis."""
    size = 0
    for one in arrays:
        size += len(_moved(one, axis, 0))
    found = np.empty((size, *_moved(arrays[0], axis, 0).shape[1:]), arrays[0].dtype)
    begin = 0
    for one in arrays:
        part = _moved(one, axis, 0)
        found[begin : begin + len(part)] = part
        begin += len(part)
    return _moved(found, 0, axis)


@numba.njit
def _array_of(arrays):
    """Return a list of arrays of one shape as an array."""
    found = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for place in range(len(arrays)):
        found[place] = arrays[place]
    return found


@numba.njit
def _numbers_of(items):
    """Return a list of numbers as an array; if the list has another use, Numba takes the list itself for one."""
    return np.array(items)


@numba.njit
def _product(a, b):
    """Return `a @ b` of an array with more than two axes."""
    rows = np.ascontiguousarray(a).reshape(-1, a.shape[-1])
    return np.dot(rows, np.ascontiguousarray(b)).reshape(a.shape[:-1] + b.shape[1:])
