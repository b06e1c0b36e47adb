"""Each call of a recorded program, for a trace: what was called, when, by which thread and with what shapes.

Standard library only, like its neighbours. While this is on, bodies run inside `tf.profiler.experimental.Trace`, so
xprof and TensorBoard show their names, and inside an NVTX range if the program has the package `nvtx` and a GPU.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

MOST_SLICES = 1_000_000
"""Calls that are kept for a process, a few hundred bytes each; later ones are only counted."""

PROBE_SECONDS = 0.001
"""How long the GIL probe sleeps between two attempts; a thread holds the GIL for 5 ms (sys.getswitchinterval)."""

LEAST_WAIT_SECONDS = 0.0005
"""A probe that is later than this waited for the GIL or for a core; smaller delays are normal when Linux wakes it."""


class Slices:
    """The calls of this process that have not been written yet."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.reset()

    def reset(self) -> None:
        """Start with nothing, as a forked process must."""
        self.calls: deque[tuple[int, float, float, int, Any, bool]] = deque()
        self.waits: deque[tuple[float, float, int]] = deque()
        self.late: deque[tuple[float, float]] = deque()
        self.kept = 0
        self.is_probing = False

    def note_wait(self, start: float, end: float) -> None:
        """Record a wait for an element of the input."""
        self.waits.append((start, end, threading.get_native_id()))

    def wrap(self, function: Callable[..., Any], tally: Any, describe: Any, counted: Any) -> Callable[..., Any]:
        """Return a function that calls a counted one and records when."""
        clock, mark, thread = self.clock, id(tally), threading.get_native_id

        def sliced(*arguments: Any) -> Any:
            start = clock()
            raised = True
            try:
                found = counted(*arguments)
                raised = False
                return found
            finally:
                if self.kept < MOST_SLICES:
                    self.kept += 1
                    self.calls.append((mark, start, clock(), thread(), describe(arguments), raised))

        return sliced

    def named(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function that does the same under a name that profilers show."""

        def traced(*arguments: Any) -> Any:
            with _profiler_trace(name), _nvtx_range(name):
                return function(*arguments)

        return traced

    def start_probe(self) -> None:
        """Start to measure how long a thread waits for the GIL."""
        if not self.is_probing:
            self.is_probing = True
            threading.Thread(target=self._probe, name="pyopbench-gil-probe", daemon=True).start()

    def _probe(self) -> None:
        while True:
            start = self.clock()
            time.sleep(PROBE_SECONDS)
            end = self.clock()
            if end - start - PROBE_SECONDS >= LEAST_WAIT_SECONDS and self.kept < MOST_SLICES:
                self.late.append((start + PROBE_SECONDS, end))

    def take(self, sites: Mapping[int, Any], name_dtype: Callable[[Any], str]) -> Iterator[list[Any]]:
        """Yield what was recorded since the last time as rows: kind, start, end, thread, and details of a call."""
        while self.calls:
            mark, start, end, thread, key, raised = self.calls.popleft()
            site = sites.get(mark)
            shapes = [] if key is None else [[None if one is None else list(one), name_dtype(of)] for one, of in key]
            if site is not None:
                direction = "forward" if id(site.forward) == mark else "gradient"
                yield ["call", start, end, thread, *site.key, site.body, direction, shapes, raised]
        while self.waits:
            yield ["input", *self.waits.popleft()]
        while self.late:
            yield ["gil", *self.late.popleft(), os.getpid()]


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def _profiler_trace(name: str) -> Any:
    profiler = sys.modules.get("tensorflow.python.profiler.trace")
    return _Nothing() if profiler is None else profiler.Trace(name)


def _nvtx_range(name: str) -> Any:
    nvtx = _nvtx()
    return _Nothing() if nvtx is None else nvtx.annotate(name)


_FOUND: list[Any] = []


def _nvtx() -> Any:
    """Return the package `nvtx` if the program has it and the machine an NVIDIA GPU; checked once."""
    if not _FOUND:
        module = None
        if os.path.exists("/dev/nvidiactl"):
            try:
                module = importlib.import_module("nvtx")
            except ImportError:
                pass
        _FOUND.append(module)
    return _FOUND[0]
