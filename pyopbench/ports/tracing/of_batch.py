"""Is what is traced one example of a batch, which `tf.vectorized_map` takes at once?

It makes of each op one over the batch. Of `TensorStridedSliceUpdate` it has none, nor of a slice whose bounds are not
the same for all examples; of `TensorScatterUpdate` and of a gather it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_OF_BATCH: ContextVar[bool] = ContextVar("of_batch", default=False)


def is_of_batch() -> bool:
    """Is a graph built that becomes one over a batch?"""
    return _OF_BATCH.get()


@contextmanager
def of_batch() -> Iterator[None]:
    """A context in which graphs are built that become ones over a batch."""
    token = _OF_BATCH.set(True)
    try:
        yield
    finally:
        _OF_BATCH.reset(token)
