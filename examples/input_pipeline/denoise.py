"""A body that releases the GIL: the median of each pixel and its neighbours in a row, by a filter of SciPy.

    pyopbench pipeline examples/input_pipeline/denoise.py --step-ms 20 --step-elements 32

The filter is compiled, and TensorFlow has none like it, so there is no port. It takes much longer than a callback
does, so parallel calls run at the same time: `num_parallel_calls` helps up to the number of cores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from pyopbench import OwnOp

SIDE = 96


def denoise(image: Any) -> Any:
    """Return the median of fifteen neighbours of each pixel in its row, `(side, side, 3)` float32."""
    return ndimage.median_filter(image, size=(1, 15, 1), mode="wrap")


def images(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return an image of `size` pixels a side."""
    return (rng.random((size, size, 3), np.float32),)


OP = OwnOp(inputs=images, sizes=(SIDE,), size_unit="pixels a side", numpy=denoise, differentiable=())
