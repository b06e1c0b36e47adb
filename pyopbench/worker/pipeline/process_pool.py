"""A pool of processes that call the body, each with memory that it shares with this one.

Nothing but the standard library: `subprocess` starts the processes, a `Connection` carries a few bytes for each call,
and arrays go through a `Slot`. A process ends when its connection does, when its parent does (Linux tells it), or with
the group that the measuring process leads, whichever comes first.
"""

from __future__ import annotations

import multiprocessing
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from typing import TYPE_CHECKING, Any

import numpy as np

from pyopbench.worker.pipeline.process import Slot, bytes_for

NANOSECONDS = 1e9


def cpu_seconds() -> float:
    """Return what all of them together have used so far; 0 where Linux does not tell.

    `times` tells of children only when they have ended, and /proc/PID/stat in hundredths of a second.
    """
    used = 0
    for child in multiprocessing.active_children():
        for path in Path(f"/proc/{child.pid}/task").glob("*/schedstat"):
            with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile, or the kernel has no such figures
                used += int(path.read_text(encoding="ascii").split()[0])
    return used / NANOSECONDS


if TYPE_CHECKING:
    from pyopbench.worker.pipeline.elements import Elements

COMMAND = (sys.executable, "-m", "pyopbench.worker.pipeline.process")

MOST_ROWS = 32
"""Elements of one call that memory is made for; more of them go through the connection."""
LOOPED_ELEMENTS = 8
END_SECONDS = 5.0
"""How long a process that closed its connection may take to end."""


class BodyRaised(RuntimeError):
    """The body raised in a process of the pool, which goes on."""


class PoolBroken(RuntimeError):
    """A process of the pool has ended."""


class PoolProcess:
    """One process that has the body, and the memory that it shares with this one."""

    def __init__(self, elements: Elements) -> None:
        """Start the process; it may be asked when `wait_until_ready` has returned."""
        rows = min(MOST_ROWS, len(elements.inputs))
        size = rows * max(bytes_for(row) for row in (*elements.inputs, *elements.outputs))
        self._slot = Slot(size)
        mine, other = socketpair()
        with other:
            self._process = subprocess.Popen(
                (
                    *COMMAND,
                    ",".join(elements.dtypes),
                    str(other.fileno()),
                    str(self._slot.descriptor),
                    str(size),
                ),
                stdin=subprocess.DEVNULL,
                pass_fds=(other.fileno(), self._slot.descriptor),
            )
        self._connection = Connection(mine.detach())
        with suppress(OSError):  # the process has ended already, which `wait_until_ready` says
            self._connection.send((elements.case.op, elements.target))

    def wait_until_ready(self) -> None:
        """Wait until the process has loaded the body.

        Raises:
            BodyRaised: the body cannot be loaded.
            PoolBroken: it ended before.
        """
        self._receive()

    def call(self, columns: Sequence[Any]) -> tuple[Any, ...]:
        """Return what the body makes of each row of a batch: `(rows, ...)` of each input and output.

        Raises:
            BodyRaised: the body raised.
            PoolBroken: the process ended.
        """
        self.send(columns)
        return self.receive()

    def send(self, columns: Sequence[Any]) -> None:
        """Send a batch, whose outputs `receive` returns; raises as `start_loop`."""
        self._send(("call", self._slot.put([np.asarray(one) for one in columns])))

    def _send(self, request: tuple[str, Any]) -> None:
        try:
            self._connection.send(request)
        except OSError:  # no cause beside it: the end of the process says more than that nobody listens
            raise self._ended() from None

    def receive(self) -> tuple[Any, ...]:
        """Return the outputs of the batch that was sent.

        Raises:
            BodyRaised: the body raised.
            PoolBroken: the process ended.
        """
        return self._slot.take(self._receive())

    def start_loop(self, seconds: float) -> None:
        """Have the process call the body on element after element for some time.

        Raises:
            PoolBroken: the process ended.
        """
        self._send(("loop", seconds))

    def end_loop(self) -> float:
        """Return how many calls a second it came to; raises as `call`."""
        return float(self._receive())

    def _receive(self) -> Any:
        """Return the content of an answer; raises as `call`."""
        try:
            kind, content = self._connection.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if kind == "raised":
            raise BodyRaised(content)
        return content

    def _ended(self) -> PoolBroken:
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return PoolBroken("a process of the pool closed its connection")
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return PoolBroken(f"a process of the pool ended {how}")

    def close(self) -> None:
        """End the process and free the memory."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        self._slot.close()


class ProcessPool:
    """Processes that are asked one call each at a time, by any thread.

    Attributes:
        start_seconds: what starting all of them took, until each had loaded the body.
        is_broken: has one of them ended?
    """

    def __init__(self, elements: Elements, processes: int) -> None:
        """Start the processes and wait for them.

        Raises:
            PoolBroken: one of them ended.
        """
        start = time.perf_counter()
        self.is_broken = False
        self._rows = elements.inputs
        self._all = [PoolProcess(elements) for _ in range(processes)]
        self._free: queue.SimpleQueue[PoolProcess] = queue.SimpleQueue()
        self._lock, self._at_work = threading.Lock(), 0
        try:
            for one in self._all:
                one.wait_until_ready()
                self._free.put(one)
        except BaseException:
            self.close()
            raise
        self.start_seconds = time.perf_counter() - start

    @property
    def is_busy(self) -> bool:
        """Is any process at work?"""
        return self._at_work > 0

    def _count(self, change: int) -> None:
        with self._lock:
            self._at_work += change

    def call(self, columns: Sequence[Any]) -> tuple[Any, ...]:
        """Have the next process that is free call the body on each row of a batch, and return `(rows, ...)`.

        Raises:
            BodyRaised: the body raised.
            PoolBroken: the process ended.
        """
        process = self._free.get()
        self._count(1)
        try:
            with self._noting_end():
                return process.call(columns)
        finally:
            self._count(-1)
            self._free.put(process)

    def rate(self, processes: int, seconds: float) -> float:
        """Return calls of the body a second by so many processes at once, each over and over; raises as `call`."""
        chosen = self._all[:processes]
        rows = tuple(np.stack(column) for column in zip(*self._rows[:LOOPED_ELEMENTS], strict=True))
        with self._noting_end():
            for one in chosen:
                one.call(rows)  # the last batch is what is looped over
                one.start_loop(seconds)
            return sum(one.end_loop() for one in chosen)

    @contextmanager
    def _noting_end(self) -> Iterator[None]:
        try:
            yield
        except PoolBroken:
            self.is_broken = True
            raise

    def close(self) -> None:
        """End all processes. May be called twice."""
        while self._all:
            self._all.pop().close()
