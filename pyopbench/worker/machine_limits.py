"""What this machine can do at most: bytes moved per second, and arithmetic operations per second.

A time per call does not tell what is still to be gained; its share of a limit does (Williams, Waterman and Patterson,
Roofline, Communications of the ACM 52(4), 2009). Bandwidth is that of two kernels of STREAM (McCalpin, IEEE TCCA
Newsletter, December 1995): Copy, a = b, and Triad, a = b + s c. Bytes are counted as there and as in `Op.bytes_moved`:
each array once, read or written, without the lines that a cache fetches before it writes to them. The peak of
arithmetic is what the matrix product of NumPy's BLAS reaches with the threads that it is set to. A data sheet promises
more, and no op gets there.

A limit is a best case, so the best of several repetitions counts, and the better of all cores and one: where data are
few, one thread can be faster than several, which hand Python's lock to one another between two passes.
"""

from __future__ import annotations

import math
import mmap
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.model.case import DTYPES
from pyopbench.model.cores import usable_cores
from pyopbench.worker.sampling import Clock

Array: TypeAlias = npt.NDArray[Any]
Pieces: TypeAlias = Sequence[Callable[[], object]]
"""What is done at the same time, each piece by a thread of its own."""

STREAM_DTYPE = "float32"
SCALAR = np.float32(3)
COPY_ARRAYS, TRIAD_ARRAYS = 2, 3

ALIGNED_ELEMENTS = 256
"""Arrays are so long, or a multiple of it, that their halves and quarters begin on a line of the cache too."""
CHUNK_ELEMENTS = 2**17
"""512 KiB of each array of a triad: few enough for the product to be in a cache still when the sum reads it, so that it
costs no traffic; enough for handing Python's lock over twice to be little beside it. With 128 KiB two threads moved
26e9 bytes per second where they move 53e9 (32 MiB a pass; 2 cores of 2 MiB cache each)."""

WARM_UPS = 2
"""Passes that bring data into caches, where they fit, and tell how many passes make a block."""
CLOCK_STEP_SECONDS = 1e-6
"""No pass is taken to be shorter, whatever the clock says."""
PATIENCE_SECONDS = 10.0
"""How long threads wait for one another; a thread that the system refuses to start would keep the others for ever."""


@dataclass(frozen=True)
class Extent:
    """How much is measured; as it stands about a second on two cores.

    Attributes:
        working_sets: bytes that one pass moves, ascending: from what a core's own cache holds to what few caches do.
        order: rows of the square matrices of the product.
        threads: at most, one for each core.
        block_seconds: about how long a timed block of passes lasts, so that threads that begin a little later than
            others do not count for much.
        repetitions: blocks that the best is taken of.
    """

    working_sets: tuple[int, ...] = tuple(2**exponent for exponent in (19, 21, 23, 25, 27))
    order: int = 1024
    threads: int = field(default_factory=lambda: len(usable_cores()))
    block_seconds: float = 0.005
    repetitions: int = 5


def measure(clock: Clock, extent: Extent | None = None) -> dict[str, Any]:
    """Return what is stored in a line of kind `limits`; results/README.md says what each key holds.

    Args:
        clock: returns seconds; is read in several threads.
        extent: how much to measure.

    Raises:
        OSError: the system does not give the memory.
        RuntimeError: it does not give the threads.
    """
    extent = extent or Extent()
    memory = _ones(max(extent.working_sets) // np.dtype(STREAM_DTYPE).itemsize, STREAM_DTYPE)
    return {
        "bandwidths": [
            {
                "working_set_bytes": count,
                "copy": _bandwidth(_parts(memory, count, COPY_ARRAYS), copies, clock, extent),
                "triad": _bandwidth(_parts(memory, count, TRIAD_ARRAYS), triads, clock, extent),
            }
            for count in extent.working_sets
        ],
        "peaks": {dtype: _peak(dtype, clock, extent) for dtype in DTYPES},
        "reason": "",
    }


def copies(arrays: Sequence[Array], threads: int) -> Pieces:
    """Return one pass of b -> a for arrays `(a, b)`, each `(n,)`, in as many pieces."""
    return [partial(np.copyto, a, b) for a, b in _slices(arrays, threads)]


def triads(arrays: Sequence[Array], threads: int) -> Pieces:
    """Return one pass of a = b + s c for arrays `(a, b, c)`, each `(n,)`, in as many pieces."""
    return [partial(_triad, _chunks(slices)) for slices in _slices(arrays, threads)]


def best_seconds(pieces: Pieces, clock: Clock, extent: Extent) -> float:
    """Return the least that one pass of all pieces at once took, in seconds: from the first to begin to the last."""
    first = min(_block_seconds(pieces, 1, WARM_UPS, clock))
    passes = max(1, math.ceil(extent.block_seconds / max(first, CLOCK_STEP_SECONDS)))
    return min(_block_seconds(pieces, passes, extent.repetitions, clock)) / passes


def _block_seconds(pieces: Pieces, passes: int, repetitions: int, clock: Clock) -> list[float]:
    """Return how long each repetition of so many passes took; threads start before the first and wait for each."""
    barrier = threading.Barrier(len(pieces), timeout=PATIENCE_SECONDS)

    def block(piece: Callable[[], object]) -> tuple[float, float]:
        barrier.wait()
        begin = clock()
        for _ in range(passes):
            piece()
        return begin, clock()

    def work(piece: Callable[[], object]) -> list[tuple[float, float]]:
        return [block(piece) for _ in range(repetitions)]

    with ThreadPoolExecutor(len(pieces)) as pool:
        spans = list(pool.map(work, pieces))
    return [max(end for _, end in same) - min(begin for begin, _ in same) for same in zip(*spans, strict=True)]


def _bandwidth(
    arrays: Sequence[Array], split: Callable[[Sequence[Array], int], Pieces], clock: Clock, extent: Extent
) -> float:
    """Return the bytes per second of a kernel that moves each array once, by all threads or by one."""
    teams = [split(arrays, threads) for threads in sorted({1, extent.threads})]
    return sum(array.nbytes for array in arrays) / min(best_seconds(pieces, clock, extent) for pieces in teams)


def _peak(dtype: str, clock: Clock, extent: Extent) -> float:
    """Return the operations per second of a product of square matrices: a sum and a product for each of order**3."""
    one, other, product = (_ones(extent.order**2, dtype).reshape(extent.order, -1) for _ in range(3))
    return 2 * extent.order**3 / best_seconds([partial(np.dot, one, other, out=product)], clock, extent)


def _ones(elements: int, dtype: str) -> Array:
    """Return ones `(elements,)` in memory that malloc knows nothing of.

    Where a large block is freed, glibc keeps later ones of that size (mallopt(3), M_MMAP_THRESHOLD), and what is timed
    afterwards would find memory ready that it would have had to ask the system for. Pages are large if they can be, as
    those of NumPy's own large arrays are.
    """
    size = elements * np.dtype(dtype).itemsize
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError):
        pass  # not Linux, or a kernel without large pages
    array: Array = np.frombuffer(memory, dtype)
    array.fill(1)  # pages that were never written to are all one and the same page of zeros, which any cache holds
    return array


def _parts(memory: Array, count: int, arrays: int) -> list[Array]:
    """Return as many arrays of the same length, of about `count` bytes together, side by side in memory."""
    length = count // memory.itemsize // arrays // ALIGNED_ELEMENTS * ALIGNED_ELEMENTS
    return [memory[place * length : (place + 1) * length] for place in range(arrays)]


def _slices(arrays: Sequence[Array], threads: int) -> Iterable[tuple[Array, ...]]:
    return zip(*(np.array_split(array, threads) for array in arrays), strict=True)


def _chunks(arrays: Sequence[Array]) -> list[tuple[Array, ...]]:
    starts = range(0, len(arrays[0]), CHUNK_ELEMENTS)
    return [tuple(array[start : start + CHUNK_ELEMENTS] for array in arrays) for start in starts]


def _triad(chunks: Iterable[tuple[Array, ...]]) -> None:
    for a, b, c in chunks:
        np.multiply(c, SCALAR, out=a)
        np.add(a, b, out=a)
