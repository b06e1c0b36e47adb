"""Whether Numba compiles a body, asked before a port to it is written: what it says has the user's line then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyopbench.catalogue.arrays import as_given
from pyopbench.catalogue.compiled import call_compiled, compile_body, why_no_function
from pyopbench.catalogue.own.explain import explain, place_of
from pyopbench.catalogue.porting.refusal import CannotPort
from pyopbench.core.op import Op


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
