"""sparse_conv_q: the loop of `ops/sparse_conv_q.py` with a table of numbers in place of its dict and its set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

FILTER = 2
CELLS = FILTER * FILTER
LARGEST = 2**31


PIXELS_PER_PAIR = 32
"""An image of at most so many pixels for each window that there may be is a table itself, which is quicker."""


@numba.njit(nogil=True, cache=True)
def _table(most: int, pixels: int) -> Any:
    """Return the keys of a table for at most so many entries, and what is at each place, which is -1.

    A table of all pixels has no keys; any other has a power of two of them and is at most half full.
    """
    if pixels > 0:
        return np.empty(0, np.int64), np.full(pixels, -1, np.int32)
    size = 16
    while size < 2 * most + 2:
        size *= 2
    return np.empty(size, np.int64), np.full(size, -1, np.int32)


@numba.njit(nogil=True, cache=True)
def _place(keys: Any, held: Any, row: int, col: int, width: int) -> Any:
    """Return where a pair is in a table, or the free place where it goes."""
    if keys.size == 0:
        return row * width + col
    key = (row << 32) ^ col
    mixed = key * 0x9E3779B97F4A7C1  # of a product it is the upper bits that all of the key's bits have a part in
    place = (mixed ^ (mixed >> 32)) & (keys.size - 1)
    while held[place] >= 0 and keys[place] != key:
        place = (place + 1) & (keys.size - 1)
    keys[place] = key
    return place


@numba.njit(nogil=True, cache=True)
def _all_inside(sites: Any, height: int, width: int) -> Any:
    for i in range(sites.shape[0]):
        if sites[i, 0] < 0 or sites[i, 1] < 0 or sites[i, 0] >= height or sites[i, 1] >= width:
            return False
    return True


@numba.njit(nogil=True, cache=True)
def _scan(sites: Any, height: int, width: int) -> Any:
    """Number the windows.

    Returns:
        The corners `(windows, 2)`; for each site the cells of Q that it fills `(sites, 4)`, -1 for a window that would
        leave the image; and the place of a site that is given twice, or -1.
    """
    count, windows = sites.shape[0], 0
    small = height * width <= PIXELS_PER_PAIR * count * CELLS and _all_inside(sites, height, width)
    pixels = height * width if small else 0
    site_keys, seen = _table(count, pixels)
    window_keys, numbers = _table(count * CELLS, pixels)
    corners, cells = np.empty((count * CELLS, 2), np.int64), np.full((count, CELLS), -1, np.int64)
    for i in range(count):
        row, col = sites[i, 0], sites[i, 1]
        place = _place(site_keys, seen, row, col, width)
        if seen[place] >= 0:
            return corners[:0], cells, i
        seen[place] = i
        for r in range(max(row - FILTER + 1, 0), min(row, height - FILTER) + 1):
            for c in range(max(col - FILTER + 1, 0), min(col, width - FILTER) + 1):
                place = _place(window_keys, numbers, r, c, width)
                if numbers[place] < 0:
                    numbers[place] = windows
                    corners[windows, 0], corners[windows, 1] = r, c
                    windows += 1
                cell = (row - r) * FILTER + (col - c)
                cells[i, cell] = numbers[place] * CELLS + cell
    return corners[:windows].copy(), cells, -1


@numba.njit(nogil=True, cache=True)
def _fill(cells: Any, windows: int, values: Any, ground_state: Any) -> Any:
    q = np.empty((windows * CELLS, values.shape[1]), values.dtype)
    for cell in range(q.shape[0]):
        for c in range(q.shape[1]):
            q[cell, c] = ground_state[c]
    for i in range(cells.shape[0]):
        for k in range(CELLS):
            if cells[i, k] >= 0:
                for c in range(q.shape[1]):
                    q[cells[i, k], c] = values[i, c]
    return q.reshape(windows, CELLS * values.shape[1])


@numba.njit(nogil=True, cache=True)
def _collect(cells: Any, d_cells: Any) -> Any:
    d_values = np.zeros((cells.shape[0], d_cells.shape[1]), d_cells.dtype)
    d_ground = np.zeros(d_cells.shape[1], np.float64)
    filled = np.zeros(d_cells.shape[0], np.bool_)
    for i in range(cells.shape[0]):
        for k in range(CELLS):
            if cells[i, k] >= 0:
                filled[cells[i, k]] = True
                for c in range(d_cells.shape[1]):
                    d_values[i, c] += d_cells[cells[i, k], c]
    for cell in range(d_cells.shape[0]):
        if not filled[cell]:
            for c in range(d_cells.shape[1]):
                d_ground[c] += d_cells[cell, c]
    return d_values, d_ground.astype(d_cells.dtype)


def _scanned(sites: Any, dense_shape: Any) -> tuple[Any, Any]:
    if np.abs(sites).max(initial=0) >= LARGEST:
        raise ValueError(f"a site is beyond 2^31 pixels: {np.abs(sites).max()}")
    corners, cells, twice = _scan(sites, dense_shape[0], dense_shape[1])
    if twice >= 0:
        raise ValueError(f"duplicate site ({sites[twice, 0]}, {sites[twice, 1]})")
    return corners, cells


def body(sites: Any, values: Any, dense_shape: Any, ground_state: Any) -> tuple[Any, Any]:
    """Return corners `(a_out, 2) int64` and Q `(a_out, 4 n)`, as the NumPy body does.

    Raises:
        ValueError: a site is given twice, or is beyond 2^31 pixels.
    """
    corners, cells = _scanned(sites, dense_shape)
    return corners, _fill(cells, len(corners), values, ground_state)


def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return the gradients of the values `(a, n)` and of the ground state `(n,)`."""
    (sites, values, dense_shape, _), (dq,) = inputs, output_gradients
    _, cells = _scanned(sites, dense_shape)
    d_values, d_ground = _collect(cells, dq.reshape(-1, values.shape[1]))
    return d_values, d_ground
