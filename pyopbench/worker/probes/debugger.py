"""Does a breakpoint that a debugger has set stop in the body? Debuggers trace the threads that they know."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Fails, Probe, Seen, Subject

CALLS = 5


def run(subject: Subject) -> Seen:
    """Trace this thread by `sys.settrace`, as pdb does, and see in how many calls the body comes by."""
    subject.require_python()
    threads: list[str] = []
    entered: list[object] = []

    def body(x: Any) -> Any:
        threads.append(threading.current_thread().name)
        return x * x * x

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code is body.__code__:
            entered.append(event)

    function = subject.function(body, NO_GRADIENT)
    function(subject.x)
    threads.clear()
    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        for _ in range(CALLS):
            function(subject.x)
    finally:
        sys.settrace(usual)
    elsewhere = sum(name != threading.current_thread().name for name in threads)
    told = f"{elsewhere} of {len(threads)} calls of the body are in a thread of TensorFlow's"
    if len(entered) < CALLS:
        raise Fails(f"a debugger of the calling thread sees {len(entered)} of {CALLS} calls: {told}")
    return Seen(told)


PROBE = Probe("debugger", "a debugger's breakpoint in the body (sys.settrace)", run)
