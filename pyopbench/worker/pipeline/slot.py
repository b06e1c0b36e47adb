"""Memory that two processes share to hand arrays over. It has no name: the last process that has it frees it.

`multiprocessing.shared_memory` gives memory a name, which somebody has to take back; a process that is killed does not.
A file that is deleted while it is open belongs to its descriptors alone, which the kernel closes with the process.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

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
