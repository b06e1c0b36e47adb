"""A process pool; each file of an arrangement with processes has a copy of this code.

It uses only NumPy and the standard library: `subprocess` starts the processes, a `Connection` carries a few bytes for
each call, and arrays go through memory that both sides share. Each name that is defined here is defined in the copies.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import mmap
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from multiprocessing.connection import Connection
from queue import SimpleQueue
from signal import SIGKILL  # `signal` alone would be SciPy's in many files
from typing import Any

import numpy as np

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Environment variables that limit the threads of OpenMP and of linear algebra libraries."""


class Memory:
    """Memory that two processes share: an unnamed file, which is gone when they end, however they end."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: Any = None

    def put(self, values: Any) -> list[Any]:
        """Copy arrays into the memory and return their positions; text is returned with these."""
        parcel: list[Any] = []
        end = 0
        for one in values:
            if isinstance(one, (bytes, str)) or np.asarray(one).dtype.hasobject:
                parcel.append(one)
            else:
                array = np.asarray(one)
                parcel.append((array.dtype, array.shape, end))
                end += -(-array.nbytes // 64) * 64
        self._map_bytes(end)
        for one, place in zip(values, parcel, strict=True):
            if isinstance(place, tuple):
                self._array(*place)[...] = one
        return parcel

    def take(self, parcel: Any) -> list[Any]:
        """Return copies of the arrays that the other process has put there."""
        self._map_bytes(os.fstat(self.descriptor).st_size)
        return [self._array(*one).copy()[()] if isinstance(one, tuple) else one for one in parcel]

    def close(self) -> None:
        """Release the memory. May be called twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _map_bytes(self, size: int) -> None:
        if size > (0 if self._map is None else len(self._map)):
            os.truncate(self.descriptor, max(size, os.fstat(self.descriptor).st_size))
            self._map = mmap.mmap(self.descriptor, 0)

    def _array(self, dtype: Any, shape: tuple[int, ...], place: int) -> Any:
        if not np.prod(shape):
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self._map, place)


class Worker:
    """A process that runs this file."""

    def __init__(self, number: int, threads: int, seed: int | str) -> None:
        folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryFile(dir=folder) as file:
            self._memory = Memory(os.dup(file.fileno()))
        mine, theirs = socket.socketpair()
        with theirs:
            descriptors = (theirs.fileno(), self._memory.descriptor)
            command = [sys.executable, os.path.abspath(__file__), *map(str, (*descriptors, threads, number, seed))]
            limits = dict.fromkeys(THREAD_LIMITS, str(threads))
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=descriptors, env={**os.environ, **limits}
            )
        self._connection = Connection(mine.detach())

    def call(self, values: Any) -> list[Any]:
        """Return what the body returns for arrays, as a list of arrays."""
        try:
            self._connection.send(self._memory.put(values))
        except OSError:
            raise self._has_ended() from None
        return self.receive()

    def receive(self) -> list[Any]:
        """Return the answer to the last message, or to the start of the process."""
        try:
            error, parcel = self._connection.recv()
        except (EOFError, OSError):
            raise self._has_ended() from None
        if error:
            raise RuntimeError(f"in a process of the pool:\n{error}")
        return self._memory.take(parcel)

    def _has_ended(self) -> RuntimeError:
        return RuntimeError(f"a process of the pool ended with code {self._process.wait(5)}")

    def close(self) -> None:
        """End the process and free the memory. May be called twice."""
        self._process.kill()
        self._process.wait()
        self._memory.close()


class Pool:
    """Processes that call the body at the same time, each with its own interpreter lock.

    They end with `close`, at the end of a `with` statement, and with the program, even if it is killed.
    """

    def __init__(self, processes: int | None = None, threads: int = 1, seed: int | None = None) -> None:
        """Start them.

        Args:
            processes: how many; None for one per core, but at least two.
            threads: how many OpenCV, OpenMP and linear algebra libraries may use in each process.
            seed: for `np.random` and `random`; each process gets its own seed from it. None for a random one.
        """
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.processes = processes or max(cores, 2)
        self._workers: list[Worker] = []
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        self._is_started, self._is_closed = threading.Event(), threading.Event()
        # Linux ends the processes when the thread that started them ends: this one lives as long as the pool.
        threading.Thread(target=self._keep, args=(threads, seed), daemon=True).start()
        self._is_started.wait()
        atexit.register(self.close)
        try:
            if len(self._workers) < self.processes:
                raise RuntimeError(f"{len(self._workers)} of {self.processes} processes could be started")
            for worker in self._workers:
                worker.receive()
                self._idle.put(worker)
        except BaseException:
            self.close()
            raise

    def _keep(self, threads: int, seed: int | None) -> None:
        try:
            for number in range(self.processes):
                self._workers.append(Worker(number, threads, "" if seed is None else seed))
        finally:
            self._is_started.set()
        self._is_closed.wait()

    def call(self, *values: Any) -> list[Any]:
        """Call the body in the next idle process; return a list of arrays. Any thread may call this."""
        worker = self._idle.get()
        try:
            return worker.call(values)
        finally:
            self._idle.put(worker)

    @property
    def is_busy(self) -> bool:
        """Is any process at work?"""
        return self._idle.qsize() < self.processes

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.close()
        self._is_closed.set()
        atexit.unregister(self.close)

    def __enter__(self) -> Any:
        """Return the pool."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all processes."""
        self.close()


@functools.cache
def usual_pool() -> Pool:
    """Return a pool that ends with the program."""
    return Pool()


def serve(body: Any, *arguments: str) -> None:
    """Answer the calls of a pool, in a process of it.

    Args:
        body: takes arrays and returns a list of arrays.
        arguments: descriptors of the connection and of the memory, and the settings that `Pool` passes on.
    """
    connection, memory, threads, number, seed = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, SIGKILL)  # PR_SET_PDEATHSIG: end with the program, even inside the body
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(int(threads))
    if seed:
        np.random.seed([int(seed), int(number)])  # noqa: NPY002 - what bodies draw from that are given none
        random.seed(f"{seed} {number}")
    pipe, shared, process = Connection(int(connection)), Memory(int(memory)), os.getpid()
    try:
        pipe.send(("", []))
        while True:
            arrays = shared.take(pipe.recv())
            try:
                error, outputs = "", body(*arrays)
            except Exception:  # noqa: BLE001 - a body may raise anything
                error, outputs = traceback.format_exc(), []
            if os.getpid() != process:  # the body has forked, and this is the child, which shares the memory
                os.kill(os.getpid(), SIGKILL)
            pipe.send((error, shared.put(outputs)))
    except (EOFError, OSError):  # the program has ended, or its pool
        pass
