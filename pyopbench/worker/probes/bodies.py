"""Probes of Python bodies: what they are given, what becomes of errors, and what debuggers, threads and memory see."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model import formatting
from pyopbench.model.case import NO_GRADIENT
from pyopbench.model.failures import describe_error
from pyopbench.model.op import Body
from pyopbench.worker.subject import (
    VALUES,
    Differs,
    Fails,
    Inapplicable,
    Seen,
    Subject,
    first_derivative,
    gradient_of,
    load_subject,
    require_equal,
)

BREAKPOINT_CALLS = 2


def breakpoints(subject: Subject) -> Seen:
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
        require_equal("the result", function(subject.x), subject.expected)
        before = len(stops)
        for _ in range(BREAKPOINT_CALLS):
            function(subject.x)
    finally:
        sys.breakpointhook = usual
    later = len(stops) - before
    if later < BREAKPOINT_CALLS:
        raise Fails(f"stops while it is traced: {before}; in {BREAKPOINT_CALLS} calls after that: {later}")
    require_equal("the value at the breakpoint", np.asarray(stops[-1]), subject.numbers)
    return Seen("in every call, with values")


THREADS, THREADED_CALLS = 4, 24


class Overlap:
    """Counts how many threads are in a body at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.most = 0

    def cube(self, x: Any) -> Any:
        """Return x cubed, after a while in which other threads may come."""
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.001)
        with self.lock:
            self.inside -= 1
        return x * x * x


def concurrent_calls(subject: Subject) -> Seen:
    """Take values and gradients in four threads, of one `tf.function`, each of an input of its own."""
    overlap = Overlap()
    function = subject.function(overlap.cube if subject.is_python else None)
    gradient_of(function, subject.x)

    def outcome(place: int) -> tuple[str, str]:
        try:
            _call_once(function, subject, place)
        except Differs as difference:
            return "silently wrong", str(difference)
        except Exception as error:  # noqa: BLE001 - what one call raises is one of many outcomes
            return "failed", describe_error(error)
        return "", ""

    with ThreadPoolExecutor(THREADS) as threads:
        outcomes = list(threads.map(outcome, range(THREADED_CALLS)))
    told = {how: words for how, words in reversed(outcomes) if how}
    counts = Counter(how for how, _ in outcomes)
    summary = "; ".join(f"{counts[how]} of {THREADED_CALLS} {how}: {words}" for how, words in sorted(told.items()))
    if "silently wrong" in told:
        raise Differs(summary)
    if told:
        raise Fails(summary)
    return Seen(f"up to {overlap.most} bodies at once" if subject.is_python else "")


def _call_once(function: Any, subject: Subject, place: int) -> None:
    factor = 1 + place / THREADED_CALLS
    x, numbers = subject.x * factor, np.array(VALUES) * factor
    require_equal(f"the result of call {place}", function(x), numbers**3)
    require_equal(f"the gradient of call {place}", gradient_of(function, x), first_derivative(numbers))


DEBUGGER_CALLS = 5


def debugger(subject: Subject) -> Seen:
    """Trace this thread by `sys.settrace`, as pdb does, and see in how many calls the body comes by.

    Debuggers trace the threads that they know.
    """
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
        for _ in range(DEBUGGER_CALLS):
            function(subject.x)
    finally:
        sys.settrace(usual)
    elsewhere = sum(name != threading.current_thread().name for name in threads)
    told = f"{elsewhere} of {len(threads)} calls of the body are in a thread of TensorFlow's"
    if len(entered) < DEBUGGER_CALLS:
        raise Fails(f"a debugger of the calling thread sees {len(entered)} of {DEBUGGER_CALLS} calls: {told}")
    return Seen(told)


LARGE = 1e300
"""What float64 holds and float32 does not."""


def dtype_mismatch(subject: Subject) -> Seen:
    """Return float64 where float32 is declared, in a `tf.function` and eagerly."""
    subject.require_python()

    def body(x: Any) -> Any:
        return (tf.cast(x, tf.float64) if subject.given_tensors else x.astype(np.float64)) * LARGE

    ways = {"in a tf.function": subject.function(body, NO_GRADIENT), "eager": subject.build(body, NO_GRADIENT)}
    found = {name: _outcome(way, subject) for name, way in ways.items()}
    wrong = [f"{name}: {told}" for name, (is_told, told) in found.items() if not is_told]
    if wrong:
        raise Differs("; ".join(wrong))
    return Seen("; ".join(f"{name}: {told}" for name, (_, told) in found.items()))


def _outcome(function: Body, subject: Subject) -> tuple[bool, str]:
    """Return whether the mismatch was told, and in which words, or what came instead."""
    try:
        result = function(subject.x)
    except Exception as error:  # noqa: BLE001 - that it is reported at all is the question
        return True, describe_error(error)
    return False, f"{LARGE:g} comes back as {result.dtype.name} {np.max(np.asarray(result)):g}, without an error"


EXCEPTIONS = (ValueError, TypeError, KeyError, StopIteration, MemoryError, NotImplementedError, ZeroDivisionError)
EXCEPTION_WORDS = "words of the body"


def exceptions(subject: Subject) -> Seen:
    """Raise each of some exceptions in the body, and catch what arrives at the call of the `tf.function`."""
    subject.require_python()
    return Seen(", ".join(f"{kind.__name__} → {_arrives_as(subject, kind)}" for kind in EXCEPTIONS))


def _arrives_as(subject: Subject, kind: type[Exception]) -> str:
    def body(x: Any) -> Any:
        raise kind(EXCEPTION_WORDS)

    try:
        subject.function(body, NO_GRADIENT)(subject.x)
    except Exception as error:
        if EXCEPTION_WORDS not in str(error):
            raise Fails(f"{kind.__name__} arrives as {type(error).__name__}, without its words: {error}") from error
        return type(error).__name__
    raise Differs(f"{kind.__name__} in the body never reaches the caller")


WARM_CALLS = 200
GROWTH_CALLS, GROWTH_TURNS = 400, 3
MOST_BYTES = 100_000
"""Per 1,000 calls: what allocators keep for themselves is less, an object kept by each call is more."""


def memory_growth(subject: Subject) -> Seen:
    """Compare the memory of a process before and after calls: traced, eager, and under tapes nobody asks."""
    return seen_growth(lambda: subject.elsewhere(grow, subject.variant.name, subject.gradient, peer="memory"))


def seen_growth(grow: Callable[[], Mapping[str, float]]) -> Seen:
    """Judge by how many bytes 1,000 calls let a process grow, for each way of calling; it is called on Linux only."""
    if sys.platform != "linux":
        raise Inapplicable("the memory of the process is read from /proc, which only Linux has")
    grown = grow()
    figures = {f"bytes_per_1000_calls_{name.replace(' ', '_')}": value for name, value in grown.items()}
    growing = [f"{formatting.byte_count(round(value))} {name}" for name, value in grown.items() if value > MOST_BYTES]
    if growing:
        raise Fails(f"per 1,000 calls the process grows by {formatting.listing(growing)}")
    return Seen(f"less than {formatting.byte_count(MOST_BYTES)} per 1,000 calls", figures)


def grow(variant: str, gradient: str) -> dict[str, float]:
    """Return by how many bytes 1,000 calls let this process grow, for each way of calling the variant."""
    subject = load_subject(variant, gradient, Path())
    function, with_gradient, x = subject.function(gradient=NO_GRADIENT), subject.function(), subject.x

    def taped() -> None:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with_gradient(x)

    ways: dict[str, Callable[[], object]] = {"in a tf.function": lambda: function(x), "under a tape": taped}
    if "eager" in subject.variant.modes:
        built = subject.build(gradient=NO_GRADIENT)
        ways["eager"] = lambda: built(x)

    def calling(call: Callable[[], object]) -> Callable[[int], None]:
        def several(calls: int) -> None:
            for _ in range(calls):
                call()

        return several

    return {name: growth(calling(call), WARM_CALLS, GROWTH_CALLS, GROWTH_TURNS) for name, call in ways.items()}


def growth(call: Callable[[int], None], warm: int, calls: int, turns: int) -> float:
    """Return by how many bytes 1,000 calls let the process grow, in the long run.

    That is the least of some turns: what a process needs once, it takes in one of them.

    Args:
        call: makes so many calls.
        warm: calls before the first turn.
        calls: of a turn.
        turns: how many.
    """
    call(warm)
    sizes = [resident_bytes()]
    for _ in range(turns):
        call(calls)
        sizes.append(resident_bytes())
    return float(min(np.diff(sizes))) * 1000 / calls


def resident_bytes() -> int:
    """Return the memory that this process has in use, without what is only garbage of Python's."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mutates_input(subject: Subject) -> Seen:
    """Write zeros into what the body is given, in a `tf.function` and eagerly, and look at the caller's tensor."""
    subject.require_python()

    def body(x: Any) -> Any:
        array = x.numpy() if subject.given_tensors else x
        array[...] = 0
        return array

    changed = []
    ways = {"in a tf.function": subject.function(body, NO_GRADIENT), "eager": subject.build(body, NO_GRADIENT)}
    for name, call in ways.items():
        x = subject.x
        call(x)
        if not np.array_equal(x.numpy(), subject.numbers):
            changed.append(name)
    if changed:
        raise Differs(f"{' and '.join(changed)}: the caller's tensor is changed, without an error")
    return Seen("the body writes to a copy")


def numpy_arrays(subject: Subject) -> Seen:
    """Look at the type of what the body is given."""
    if subject.variant.body in ("kernel", "numba"):
        raise Inapplicable("its body is machine code")
    given: list[type] = []

    def body(x: Any) -> Any:
        given.append(type(x))
        return x * x * x

    subject.function(body, NO_GRADIENT)(subject.x)
    if not issubclass(given[-1], np.ndarray):
        raise Fails(f"the body is given {given[-1].__name__}")
    return Seen("" if subject.variant.body == "numpy" else "by .numpy()")
