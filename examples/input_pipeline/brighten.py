"""A body that takes less time than the callback around it: brighter by one factor.

    pyopbench pipeline examples/input_pipeline/brighten.py --step-ms 2 --step-elements 32

The cost is the call into Python, which a batch makes once for all its elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench import OwnOp

SIDE = 8


def brighten(image: Any) -> Any:
    """Return an image or a batch of them half as bright again, at most 1: `(..., side, side, 3)` float32."""
    return np.minimum(image * np.float32(1.5), np.float32(1))


def images(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return an image of `size` pixels a side."""
    return (rng.random((size, size, 3), np.float32),)


OP = OwnOp(inputs=images, sizes=(SIDE,), size_unit="pixels a side", numpy=brighten, differentiable=())
