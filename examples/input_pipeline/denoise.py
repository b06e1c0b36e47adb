"""A body that releases the GIL: the median of each pixel and its neighbours in a row, by one large sort.

    pyopbench pipeline examples/input_pipeline/denoise.py --step-ms 20 --step-elements 32

Parallel calls run at the same time, so `num_parallel_calls` helps up to the number of cores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench import OwnOp

SIDE = 128


def denoise(image: Any) -> Any:
    """Return the median of five neighbours of each pixel, `(side, side, 3)` float32."""
    return np.sort(np.stack([np.roll(image, shift, axis=1) for shift in range(-2, 3)]), axis=0)[2]


def images(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return an image of `size` pixels a side."""
    return (rng.random((size, size, 3), np.float32),)


OP = OwnOp(inputs=images, sizes=(SIDE,), size_unit="pixels a side", numpy=denoise, differentiable=())
