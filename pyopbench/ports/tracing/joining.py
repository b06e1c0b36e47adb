"""Arrays joined to larger ones, and arrays like others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced
from pyopbench.ports.tracing.call_ufunc import as_tensor
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.reductions import axes_of
from pyopbench.ports.tracing.registry import in_numpy, in_tensors
from pyopbench.ports.tracing.shaping import sizes_of
from pyopbench.ports.tracing.tape import step
from pyopbench.ports.tracing.untyped import np
from pyopbench.ports.tracing.views import _packed


def _common(arrays: Sequence[TracedArray], dtype: Any = None) -> list[Any]:
    """Return arrays as tensors of one dtype; a Python number has that of an array made of it."""
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*(one.dtype for one in arrays))
    return [as_tensor(one.value, kind) for one in arrays]


@in_tensors("concatenate", "concat")
def concatenate(arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return arrays one behind the other along an axis; along None all elements."""
    tensors = _common([as_traced(one) for one in arrays], dtype)
    if axis is None:
        return tf.concat([tf.reshape(one, [-1]) for one in tensors], 0)
    return tf.concat(tensors, axes_of(axis, tensors[0].shape.rank)[0])


@in_tensors("stack")
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return arrays side by side along a new axis."""
    tensors = _common([as_traced(one) for one in arrays], dtype)
    return tf.stack(tensors, axes_of(axis, tensors[0].shape.rank + 1)[0])


def _like(name: str, fill: Any) -> None:
    @in_numpy(name)
    def function(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        return filled_like(as_traced(a), fill, dtype, shape)


_like("zeros_like", 0)
_like("ones_like", 1)
_like("empty_like", 0)


def filled_like(x: TracedArray, fill: Any, dtype: Any, shape: Any) -> TracedArray:
    """Return an array of one value; a shape that is known makes a known array."""
    kind = dtypes.check(x.dtype if dtype is None else dtype)
    found = filled(x.shape if shape is None else shape, fill, kind)
    found._c_order = shape is not None or x.gives_c_order
    return found


def filled(shape: Any, fill: Any, dtype: Any) -> TracedArray:
    """Return an array of one value, which may be traced, as may be the sizes of its axes."""
    sizes, value = sizes_of(shape), as_traced(fill)
    if not any(map(is_tensor, sizes)) and value.is_known:
        return TracedArray(np.full(sizes, value.value.item() if value.weak else value.value, dtype))
    inner = value.value
    spread = step("full", lambda: tf.broadcast_to(as_tensor(inner, dtype), _packed(sizes)))
    return TracedArray(spread, c_order=True)
