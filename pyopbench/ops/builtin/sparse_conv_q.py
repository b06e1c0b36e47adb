"""sparse_conv_q: gather the windows of a sparse image that see an active site, as rows of a matrix Q."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import CASE_DTYPE, Op

FILTER = 2
"""Rows and columns of a window, in pixels: the smallest that overlaps its neighbours, as in the source's example."""

CELLS = FILTER * FILTER
"""Pixels of a window."""

CHANNELS = 2
"""Channels of the image, as in the first layer of the source's example."""

DENSITY = 0.05
"""Share of active sites. Scattered, they wake 1 - 0.95**4 = 19% of the windows: sparse enough to be worth the trouble,
dense enough that windows are shared."""

ROW_STRIDE = 2**32
"""Packs (row, column) into one int64 key, unique for every |row| and |column| below 2**31."""

LARGEST_LOOP = 100
"""Active sites: the most for which a call of the AutoGraph loops stays below about 0.3 s with its gradient. Reading
one element of a tensor in a loop has a gradient as long as the tensor, so that time grows with the square."""

TOLERANCE = {"float32": 1e-4, "float64": 1e-12}
"""The gradient of the ground state sums over every cell without a site (some 1e5 at 10 000 sites): added up one after
the other in float32 that is off by about sqrt(1e5) times the unit roundoff, 2e-5."""


def side(size: int) -> int:
    """Return the rows, and columns, of the square image with `size` active sites."""
    return max(FILTER, math.ceil(math.sqrt(size / DENSITY)))


def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
    """Draw `size` distinct sites in random order, their values, and a ground state.

    Returns:
        sites `(size, 2) int64` as (row, column); values `(size, 2)`; dense shape `(3,) int64` as (height, width,
        channels); ground state `(2,)`, the value of every other pixel.
    """
    n = side(size)
    flat = rng.choice(n * n, size, replace=False)
    sites = np.stack([flat // n, flat % n], axis=1).astype(np.int64)
    values = rng.standard_normal((size, CHANNELS)).astype(dtype)
    ground_state = rng.uniform(0.5, 1.0, CHANNELS).astype(dtype)
    return (sites, values, np.array([n, n, CHANNELS], dtype=np.int64), ground_state)


def windows_of(row: int, col: int, height: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield the top-left corner of each window that sees the site, row by row; none for a site off the image."""
    for window_row in range(max(row - FILTER + 1, 0), min(row, height - FILTER) + 1):
        for window_col in range(max(col - FILTER + 1, 0), min(col, width - FILTER) + 1):
            yield window_row, window_col


def numpy_body(sites: Any, values: Any, dense_shape: Any, ground_state: Any) -> tuple[Any, Any]:
    """Number the windows in the order in which a scan of the sites first meets them, and fill their rows.

    Args:
        sites: `(a, 2) int64`, (row, column) of each active site, all distinct.
        values: `(a, n)`, the channels of each active site.
        dense_shape: `(3,) int64`, (height, width, n).
        ground_state: `(n,)`, the channels of every other pixel.

    Returns:
        The corners of the windows, `(a_out, 2) int64`, and Q, `(a_out, 4 n)`: the pixels of each window, row by row.

    Raises:
        ValueError: a site is given twice.
    """
    height, width, n = (int(extent) for extent in dense_shape)
    background = np.tile(ground_state, CELLS)
    seen: set[tuple[int, int]] = set()
    index: dict[tuple[int, int], int] = {}
    rows: list[Any] = []
    for (row, col), value in zip(sites.tolist(), values, strict=True):
        if (row, col) in seen:
            raise ValueError(f"duplicate site ({row}, {col})")
        seen.add((row, col))
        for window in windows_of(row, col, height, width):
            if window not in index:
                index[window] = len(rows)
                rows.append(background.copy())
            start = ((row - window[0]) * FILTER + (col - window[1])) * n
            rows[index[window]][start : start + n] = value
    corners = np.array(list(index), dtype=np.int64).reshape(len(index), 2)
    return corners, np.array(rows, dtype=values.dtype).reshape(len(rows), CELLS * n)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients of the values `(a, n)` and of the ground state `(n,)`.

    A site's is the sum of dQ over the cells that it fills; the ground state's the sum over the cells that none fills.
    """
    (sites, values, dense_shape, ground_state), (corners, _), (dq,) = inputs, outputs, output_gradients
    height, width, n = (int(extent) for extent in dense_shape)
    index = {tuple(corner): i for i, corner in enumerate(corners.tolist())}
    d_cells = dq.reshape(len(index), CELLS, n)
    free = np.ones((len(index), CELLS), dtype=bool)
    d_values = np.zeros_like(values)
    for i, (row, col) in enumerate(sites.tolist()):
        for window in windows_of(row, col, height, width):
            cell = index[window], (row - window[0]) * FILTER + (col - window[1])
            d_values[i] += d_cells[cell]
            free[cell] = False
    return d_values, d_cells[free].sum(axis=0, dtype=ground_state.dtype)


def without_duplicates(sites: Any) -> Any:
    """Return `sites` `(a, 2) int64` once it is asserted that they are distinct.

    The assertion is a control dependency of the result, so that it runs in every kind of graph.
    """
    first_seen = tf.unique(sites[:, 0] * ROW_STRIDE + sites[:, 1], out_idx=tf.int64).idx
    repeated = tf.not_equal(first_seen, tf.range(tf.shape(sites, out_type=tf.int64)[0]))
    assertion = tf.debugging.Assert(
        tf.logical_not(tf.reduce_any(repeated)),
        ["duplicate site", tf.boolean_mask(sites, repeated)[:1]],
    )
    with tf.control_dependencies([assertion]):
        return tf.identity(sites)


def visits(sites: Any, dense_shape: Any) -> tuple[Any, Any, Any]:
    """Pair every site with the windows that see it, in scan order.

    Returns:
        pairs `(v, 2) int64`, the number of a site and which of its 4 possible windows; cells `(v,) int64`, the row
        of Q's cells, 4 to a window, that the site fills there; corners `(a_out, 2) int64` of the windows.
    """
    steps = tf.constant([(i, j) for i in range(FILTER) for j in range(FILTER)], dtype=tf.int64)
    windows = sites[:, tf.newaxis, :] - (FILTER - 1) + steps
    fits = tf.logical_and(windows >= 0, windows <= dense_shape[:2] - FILTER)
    pairs = tf.where(tf.reduce_all(fits, axis=-1))
    window = tf.gather_nd(windows, pairs)
    # tf.unique keeps the order of first occurrence, which is the order of the scan.
    keys, number = tf.unique(window[:, 0] * ROW_STRIDE + window[:, 1], out_idx=tf.int64)
    corners = tf.stack([keys // ROW_STRIDE, keys % ROW_STRIDE], axis=1)
    return pairs, number * CELLS + (CELLS - 1 - pairs[:, 1]), corners


def tensor_body(sites: Any, values: Any, dense_shape: Any, ground_state: Any) -> tuple[Any, Any]:
    """Do what `numpy_body` does, without a loop; a duplicate site is an `InvalidArgumentError`."""
    pairs, cells, corners = visits(without_duplicates(sites), dense_shape)
    n, n_windows = tf.shape(values)[1], tf.shape(corners)[0]
    background = tf.broadcast_to(ground_state, [n_windows * CELLS, n])
    spread = tf.broadcast_to(values[:, tf.newaxis, :], [tf.shape(values)[0], CELLS, n])
    filled = tf.tensor_scatter_nd_update(background, cells[:, tf.newaxis], tf.gather_nd(spread, pairs))
    return corners, tf.reshape(filled, [n_windows, CELLS * n])


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients of the values `(a, n)` and of the ground state `(n,)`: those of `numpy_gradient`."""
    (sites, values, dense_shape, _), (dq,) = inputs, output_gradients
    pairs, cells, corners = visits(sites, dense_shape)
    d_cells = tf.reshape(dq, [tf.shape(corners)[0] * CELLS, tf.shape(values)[1]])
    d_filled = tf.gather(d_cells, cells)
    d_values = tf.math.unsorted_segment_sum(d_filled, pairs[:, 0], tf.shape(values)[0])
    d_free = tf.tensor_scatter_nd_update(d_cells, cells[:, tf.newaxis], tf.zeros_like(d_filled))
    return d_values, tf.reduce_sum(d_free, axis=0)


def python_body(sites: Any, values: Any, dense_shape: Any, ground_state: Any) -> tuple[Any, Any]:
    """Do what `numpy_body` does with loops on tensors; a table of all windows stands in for the dict."""
    sites = without_duplicates(sites)
    last_row, last_col = dense_shape[0] - FILTER, dense_shape[1] - FILTER
    columns = tf.maximum(last_col + 1, 0)
    table = tf.fill([tf.maximum(last_row + 1, 0) * columns], tf.constant(-1, tf.int32))
    index = tf.TensorArray(tf.int32, size=tf.size(table), element_shape=(), clear_after_read=False).unstack(table)
    corners = tf.TensorArray(tf.int64, size=0, dynamic_size=True, element_shape=(2,))
    cells = tf.TensorArray(values.dtype, size=0, dynamic_size=True, element_shape=ground_state.shape)
    count = tf.constant(0)
    for i in tf.range(tf.shape(sites)[0]):
        row, col, value = sites[i, 0], sites[i, 1], values[i]
        window_row = tf.maximum(row - FILTER + 1, 0)
        while window_row <= tf.minimum(row, last_row):
            window_col = tf.maximum(col - FILTER + 1, 0)
            while window_col <= tf.minimum(col, last_col):
                slot = tf.cast(window_row * columns + window_col, tf.int32)
                number = index.read(slot)
                if number < 0:
                    number = count
                    index = index.write(slot, number)
                    corners = corners.write(number, tf.stack([window_row, window_col]))
                    for cell in range(CELLS):
                        cells = cells.write(number * CELLS + cell, ground_state)
                    count += 1
                place = tf.cast((row - window_row) * FILTER + (col - window_col), tf.int32)
                cells = cells.write(number * CELLS + place, value)
                window_col += 1
            window_row += 1
    return corners.stack(), tf.reshape(cells.stack(), [count, CELLS * tf.shape(values)[1]])


OP = Op(
    name="sparse_conv_q",
    summary="the windows of a sparse 2 x 2 convolution, gathered into the rows of a matrix",
    source="Graham, Spatially-sparse convolutional neural networks, arXiv:1409.6070; "
    "https://github.com/IdRatherBeCoding/sparse_cnn",
    make_inputs=make_inputs,
    numpy=numpy_body,
    sizes=(1, 10, 100, 1_000, 10_000),
    quick_sizes=(10, 1_000),
    size_unit="active sites",
    outputs=("int64", CASE_DTYPE),
    differentiable=(1, 3),
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    python=python_body,
    kernel=KERNELS / "sparse_conv_q.cc",
    largest={"python": LARGEST_LOOP},
    not_ported={
        "numba_op": "Numba does not compile its loop over a list of lists",
        **dict.fromkeys(("traced", "traced_xla"), "its loop over a list of values has no counterpart in TensorFlow"),
    },
    tolerance=TOLERANCE,
)
