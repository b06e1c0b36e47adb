"""From a NumPy body to ports: what it does, its source in TensorFlow, its rewriting for Numba.

`from pyopbench.ports import traced` is for those who would rather decorate a function than merge a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def traced(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors that does what a NumPy function does, for `tf.function` and `Dataset.map`.

    The function is called with arrays that stand for tensors while a graph is built (docs/tracing.md). What was traced
    is not compared with the function. `pyopbench port` writes a file that is, and that needs no pyopbench.

    Args:
        body: takes arrays of any shapes and returns an array, a number or a tuple of them.

    Raises:
        Refused: when it is called, at what cannot be traced; names the line.
    """
    import functools

    import tensorflow as tf

    from pyopbench.ports.tracing.trace import traced as on_tensors

    # AutoGraph would convert what makes the graph by itself.
    call: Callable[..., Any] = functools.wraps(body)(tf.autograph.experimental.do_not_convert(on_tensors(body)))
    return call
