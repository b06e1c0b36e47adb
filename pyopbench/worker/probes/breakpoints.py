"""Does `breakpoint()` in the body stop in every call, with the values there?"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Fails, Inapplicable, Probe, Seen, Subject, require_equal

CALLS = 2


def run(subject: Subject) -> Seen:
    """Call a body with `breakpoint()` in it, with a hook in place of the debugger that reads the caller's locals."""
    if subject.variant.body in ("kernel", "numba"):
        raise Inapplicable("its body is machine code")
    stops: list[Any] = []

    def stop(*_: Any, **__: Any) -> None:
        stops.append(sys._getframe(1).f_locals.get("x"))

    def body(x: Any) -> Any:
        breakpoint()
        return x * x * x

    usual, sys.breakpointhook = sys.breakpointhook, stop
    try:
        function = subject.function(body, NO_GRADIENT)
        require_equal("what it computes", function(subject.x), subject.expected)
        before = len(stops)
        for _ in range(CALLS):
            function(subject.x)
    finally:
        sys.breakpointhook = usual
    later = len(stops) - before
    if later < CALLS:
        raise Fails(f"stops while it is traced: {before}; in {CALLS} calls after that: {later}")
    require_equal("what the breakpoint sees", np.asarray(stops[-1]), subject.numbers)
    return Seen("in every call, with values")


PROBE = Probe("breakpoints", "breakpoint() in the body", run)
