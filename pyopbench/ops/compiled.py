"""The NumPy body as it stands, compiled by Numba with all that it calls of the user's, behind `tf.numpy_function`."""

from __future__ import annotations

import inspect
import os
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.numba_bodies import why_no_numba
from pyopbench.ops.own.explain import explain, place_of
from pyopbench.ports.arrays import as_array, as_given
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import rebind_helpers, why_not_rebound, written


def compile_body(op: Op, *, parallel: bool = False) -> Body:
    """Return the body as Numba compiles it at the first call with inputs of a kind."""
    import numba

    if parallel:  # Numba warns where there is nothing to spread, and that is seen from the times
        warnings.filterwarnings("ignore", category=numba.NumbaPerformanceWarning)
    return rebind_helpers(op.numpy, numba.njit(parallel=parallel))


def call_compiled(compiled: Body, inputs: Sequence[Any]) -> Any:
    """Call a function that Numba compiles.

    Raises:
        TypeError: compiling it failed at an assertion of Numba's own, which has no words.
        Exception: whatever Numba or the function raises.
    """
    try:
        return compiled(*inputs)
    except AssertionError as error:
        if str(error) or not _is_of_numba(error):
            raise
        raise TypeError("an internal assertion of Numba fails while it compiles the body") from error


def check_compiled(op: Op, *, parallel: bool = False) -> None:
    """Compile a body and call it on an example: a port to Numba that fails would name a line of its own.

    Raises:
        CannotPort: Numba cannot compile it, or the example fails in it; with the user's line.
    """
    why = why_no_function(op)
    if why:
        raise CannotPort(why)
    example = tuple(as_array(one) for one in op.make_inputs(op.sizes[0], op.dtypes[0], np.random.default_rng(0)))
    try:
        call_compiled(compile_body(op, parallel=parallel), as_given(example))
    except Exception as error:
        raise CannotPort(explain(error, op), place=place_of(error, op)) from error


def _is_of_numba(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{os.sep}numba{os.sep}" in frames[-1].filename


def why_not_compiled(op: Op, case: Case) -> str | None:
    """Return why there is nothing to compile or nothing that compiles; None if there is both."""
    return why_no_function(op)


def why_no_function(op: Op) -> str | None:
    """Return why there is no Numba here, or no function that it could be asked to compile; None if there is both."""
    return why_no_numba() or why_not_rebound(op.numpy) or _why_no_type(written(op.numpy))


def _why_no_type(function: Any) -> str | None:
    """Return why Numba, which says "not enough arguments", cannot type the parameters of a function."""
    if function.__code__.co_flags & inspect.CO_VARKEYWORDS:
        name = inspect.getfullargspec(function).varkw
        return f"Numba has no type for `**{name}`: name the parameters"
    return None
