"""From a NumPy body to ports: what it does, its source in TensorFlow, its rewriting for Numba.

`from pyopbench.ports import traced` is for those who would rather decorate a function than merge a file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any


def traced(
    body: Callable[..., Any] | None = None, *, examples: tuple[Any, ...] | list[tuple[Any, ...]] = ()
) -> Callable[..., Any]:
    """Return a function of tensors that does what a NumPy function does, also in `tf.function` and `Dataset.map`.

    It calls the port that `pyopbench port FUNCTION --to traced` would write, which is written at the first call for
    each set of dtypes and shapes (docs/decorator.md). What it is written from are the values of a call outside of a
    graph, and `examples`. A graph has no values: there, an example with these dtypes and numbers of axes has to be
    known. The port is not compared with the function. `pyopbench port` writes one with its test, that needs no
    pyopbench.

    Args:
        body: takes arrays and returns an array, a number or a tuple of them. Arguments that are neither tensors nor
            arrays are constants of the port: for each value, another port is written.
        examples: the positional arguments of one call as a tuple, or a list of such tuples.

    Raises:
        BadInput: when it is called. The function cannot be written as a port, with its line; or in a graph, no example
            has these dtypes and numbers of axes.
    """
    if body is None:
        return partial(traced, examples=examples)
    from pyopbench.ports.decorator import decorate  # only here, because it imports TensorFlow

    is_none = isinstance(examples, tuple) and not examples
    return decorate(body, examples if isinstance(examples, list) else [] if is_none else [examples])
