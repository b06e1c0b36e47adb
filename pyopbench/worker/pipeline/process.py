"""A process of a pool: loads the body of an op and calls it for its parent, until the connection ends."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.failures import describe_error
from pyopbench.model.op import Body
from pyopbench.model.own_op import OwnOp
from pyopbench.model.own_target import Target
from pyopbench.ops.own.modules import module_of
from pyopbench.ports.arrays import as_array

IN_MEMORY = Path("/dev/shm")
"""Where files are memory; elsewhere they are in the folder for temporary files, and in the page cache."""
ALIGNMENT = 64
"""Bytes: what TensorFlow takes over without a copy begins at a multiple of it."""
SLACK = 4096

Parcel: TypeAlias = "list[tuple[str, tuple[int, ...], int | bytes | list[Any]]]"
"""For each array its dtype and shape and where it begins in the memory; or the array itself, where it cannot be there
(text) or does not fit."""


class Slot:
    """Memory of a fixed size, of which one process makes the file and hands its descriptor to the other."""

    def __init__(self, size: int, descriptor: int | None = None) -> None:
        """Make memory of `size` bytes, or map that of a descriptor."""
        if descriptor is None:
            folder = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None
            with tempfile.TemporaryFile(dir=folder) as file:
                file.truncate(size)
                descriptor = os.dup(file.fileno())
        self.descriptor = descriptor
        self.size = size
        self._memory = mmap.mmap(descriptor, size)

    def put(self, arrays: Sequence[Any]) -> Parcel:
        """Copy arrays into the memory and return what the other process needs to find them."""
        parcel: Parcel = []
        free = 0
        for array in arrays:
            if array.dtype.kind == "O":
                parcel.append(("object", array.shape, list(array.ravel())))
            elif free + array.nbytes > self.size:
                parcel.append((array.dtype.str, array.shape, array.tobytes()))
            else:
                self._at(array.dtype, array.shape, free)[...] = array
                parcel.append((array.dtype.str, array.shape, free))
                free += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        return parcel

    def take(self, parcel: Parcel) -> tuple[Any, ...]:
        """Return what the other process has put, as arrays of this one's own."""
        return tuple(self._array(*one) for one in parcel)

    def _array(self, dtype: str, shape: tuple[int, ...], place: int | bytes | list[Any]) -> Any:
        if isinstance(place, list):
            array = np.empty(len(place), object)
            array[:] = place
            return array.reshape(shape)
        if isinstance(place, bytes):
            return np.frombuffer(place, dtype).reshape(shape).copy()
        return self._at(np.dtype(dtype), shape, place).copy()

    def _at(self, dtype: Any, shape: tuple[int, ...], place: int) -> Any:
        return np.ndarray(shape, dtype, self._memory, place)

    def close(self) -> None:
        """Let go of the memory. May be called twice."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
            self._memory.close()


def bytes_for(arrays: Sequence[Any]) -> int:
    """Return how large a slot has to be for arrays."""
    return SLACK + int(sum(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays))


PR_SET_PDEATHSIG = 1
"""Of `prctl` (linux/prctl.h): a signal for this process when the thread that started it ends."""


def load(name: str, target: Target | None) -> Body:
    """Return the NumPy body of an op: where a user's file brings it as it is, with no more than that file imports.

    TensorFlow takes seconds to import, which no process needs whose body does not.

    Args:
        name: of the op.
        target: the own op of that name; None for a built-in one.
    """
    if target is None:
        from pyopbench.ops.load import load_op

        return load_op(name).numpy
    if not target.function and not target.seed_with:
        found = getattr(module_of(target), "OP", None)
        if isinstance(found, OwnOp) and found.numpy is not None and _is_plain(found):
            return found.numpy
    from pyopbench.ops.own.load import load_own

    return load_own(target).numpy


def _is_plain(own: OwnOp) -> bool:
    return not (own.keywords or own.as_python or own.seed_with)


Load: TypeAlias = Callable[[str, "Target | None"], Body]


def main(arguments: Sequence[str], load: Load = load) -> None:
    """Serve one connection.

    Args:
        arguments: the dtypes of the op's outputs, separated by commas, the descriptors of the connection and of the
            memory, and the memory's bytes.
        load: returns the body of an op, with the arguments of `load`, which the connection brings first.
    """
    dtypes, connection, memory, size = arguments
    _end_with_parent()
    server = Server(dtypes.split(","), Connection(int(connection)), Slot(int(size), int(memory)))
    with suppress(EOFError, OSError):  # the parent has closed its end, or is gone
        server.serve(load)


def _end_with_parent() -> None:
    """Ask Linux to end this process with its parent: a body that hangs does not see that the connection has ended."""
    parent = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it was asked
        os.kill(os.getpid(), signal.SIGKILL)


class Server:
    """Answers the requests of one connection."""

    def __init__(self, dtypes: Sequence[str], connection: Connection, slot: Slot) -> None:
        """Serve a body whose outputs have these dtypes."""
        self._dtypes, self._connection, self._slot = dtypes, connection, slot
        self._process = os.getpid()
        self._rows: list[tuple[Any, ...]] = []

    def serve(self, load: Load) -> None:
        """Load the body, say so, and answer until the connection ends.

        Raises:
            EOFError, OSError: the other end was closed.
        """
        body = self._loaded(partial(load, *self._connection.recv()))
        if body is None:
            return
        while True:
            kind, content = self._connection.recv()
            try:
                answer = self._call(body, content) if kind == "call" else self._loop(body, content)
            except Exception as error:  # noqa: BLE001 - a body may raise anything
                self._send(("raised", describe_error(error)))
            else:
                self._send(("done", answer))

    def _loaded(self, load: Callable[[], Body]) -> Body | None:
        try:
            body = load()
        except Exception as error:  # noqa: BLE001 - a file that is somebody else's may raise anything
            self._send(("raised", describe_error(error)))
            return None
        self._send(("done", None))
        return body

    def _send(self, answer: tuple[str, Any]) -> None:
        self._end_if_forked()
        self._connection.send(answer)

    def _end_if_forked(self) -> None:
        """End a process that a body has forked, and that has returned from it too: memory and connection are shared."""
        if os.getpid() != self._process:
            os.kill(os.getpid(), signal.SIGKILL)

    def _call(self, body: Body, parcel: Parcel) -> Parcel:
        self._rows = list(zip(*self._slot.take(parcel), strict=True))
        rows = [self._outputs(body(*row)) for row in self._rows]
        self._end_if_forked()
        return self._slot.put([np.stack(column) for column in zip(*rows, strict=True)])

    def _outputs(self, returned: Any) -> tuple[Any, ...]:
        outputs = returned if isinstance(returned, (list, tuple)) else (returned,)
        return tuple(as_array(one, dtype) for one, dtype in zip(outputs, self._dtypes, strict=True))

    def _loop(self, body: Body, seconds: float) -> float:
        """Return calls a second of the rows of the last batch, over and over."""
        rows, calls = self._rows, 0
        start = now = time.perf_counter()
        while now - start < seconds:
            body(*rows[calls % len(rows)])
            calls += 1
            now = time.perf_counter()
        return calls / (now - start)


if __name__ == "__main__":
    main(sys.argv[1:])
