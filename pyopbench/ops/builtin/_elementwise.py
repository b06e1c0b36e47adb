"""What the ops from one array to one array of the same shape have in common: sizes, inputs, traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

SIZES = tuple(10**exponent for exponent in range(7))
"""Elements: from one, where a call is all overhead, to 1e6, which no longer fits a core's cache (4 MB, 8 MB)."""

QUICK_SIZES = (1_000, 1_000_000)
"""Elements: where an op is all overhead, and where its body is what it costs."""

MakeInputs = Callable[[int, str, np.random.Generator], tuple[npt.NDArray[Any], ...]]


def uniform(low: float, high: float) -> MakeInputs:
    """Return a `make_inputs` that draws one `(size,)` array, uniform in `[low, high)`."""

    def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
        return (rng.uniform(low, high, size).astype(dtype),)

    return make_inputs


def signed(low: float, high: float) -> MakeInputs:
    """Return a `make_inputs` that draws one `(size,)` array of either sign, magnitudes uniform in `[low, high)`."""

    def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
        return ((rng.uniform(low, high, size) * rng.choice([-1.0, 1.0], size)).astype(dtype),)

    return make_inputs


def bytes_moved(size: int, dtype: str) -> int:
    """Return the bytes of one array read and one written, `size` elements each."""
    return 2 * size * np.dtype(dtype).itemsize
