"""What a body makes of traced arrays, held against what it makes of NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.names import rebound
from pyopbench.ports.tracing.trace import traced


def flat(nest: Any) -> list[Any]:
    """Return arrays of a nest."""
    if type(nest) is TracedArray:
        return [np.asarray(nest)]
    return [one for part in nest for one in flat(part)] if isinstance(nest, list | tuple) else [np.asarray(nest)]


def difference(body: Callable[..., Any], *arrays: Any) -> str:
    """Return how what is traced differs from NumPy's; empty where it does not, or where NumPy raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = flat(body(*(array.copy() for array in arrays)))
        except Exception:  # noqa: BLE001 - what NumPy refuses is not compared
            return ""
        found = flat(rebound(body)(*(TracedArray(tf.constant(array), c_order=True) for array in arrays)))
    return told(found, expected)


def difference_in_graph(body: Callable[..., Any], *arrays: Any, dynamic: bool = False) -> str:
    """Return how a graph of a body differs from NumPy's, of inputs whose sizes it knows, or does not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = flat(body(*(array.copy() for array in arrays)))
    found = graph(body, *arrays, dynamic=dynamic)(*map(tf.constant, arrays))
    return told([one.numpy() for one in (found if isinstance(found, list | tuple) else [found])], expected)


def graph(body: Callable[..., Any], *arrays: Any, dynamic: bool = False) -> Any:
    """Return a body as a graph, for inputs like some arrays."""
    signature = [tf.TensorSpec([None] * one.ndim if dynamic else one.shape, one.dtype) for one in arrays]
    return tf.function(traced(body), input_signature=signature, autograph=False)


def told(found: list[Any], expected: list[Any]) -> str:
    for one, other in zip(found, expected, strict=True):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{one.dtype} {one.shape}, not {other.dtype} {other.shape}"
        if other.dtype.kind in "fc":
            close = {"float16": 2e-3, "float32": 1e-4, "complex64": 1e-4}.get(other.dtype.name, 1e-9)
            if not np.allclose(one, other, rtol=close, atol=close, equal_nan=True):
                return f"{one}, not {other}"
        elif not np.array_equal(one, other):
            return f"{one}, not {other}"
    return ""
