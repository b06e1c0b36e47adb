"""Is what is traced compiled by XLA? It has to know when it compiles which elements `TensorStridedSliceUpdate` takes.

It refuses one whose bounds only the graph knows (TensorFlow 2.21: `must be a compile-time constant`), and one with
another step than 1 or -1. `TensorScatterUpdate` it compiles, with any indices.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOR_XLA: ContextVar[bool] = ContextVar("for_xla", default=False)


def is_for_xla() -> bool:
    """Is a graph built that XLA compiles?"""
    return _FOR_XLA.get()


@contextmanager
def for_xla() -> Iterator[None]:
    """A context in which graphs are built that XLA compiles."""
    token = _FOR_XLA.set(True)
    try:
        yield
    finally:
        _FOR_XLA.reset(token)
