"""Whether Numba compiles a body, asked before a port to it is written: what it says has the user's line then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyopbench.model.op import Op
from pyopbench.ops.arrays import as_given
from pyopbench.ops.compiled import call_compiled, compile_body, why_no_function
from pyopbench.ops.own.explain import explain, place_of
from pyopbench.ops.porting.refusal import CannotPort


def require_compiled(op: Op, example: Sequence[Any], *, parallel: bool = False) -> None:
    """Compile a body and call it on an example.

    Raises:
        CannotPort: Numba cannot compile it, or the example fails in it.
    """
    why = why_no_function(op)
    if why:
        raise CannotPort(why)
    try:
        call_compiled(compile_body(op, parallel=parallel), as_given(example))
    except Exception as error:
        raise CannotPort(explain(error, op), place=place_of(error, op)) from error
