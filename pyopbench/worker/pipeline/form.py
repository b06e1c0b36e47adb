"""What a form is: a way of arranging the body of an op in a pipeline, in one or several arrangements.

`PipelineContext` is what all of them are made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.process_pool import PoolBroken, ProcessPool
from pyopbench.worker.prepare.batched_forms import BatchedForm


@dataclass(frozen=True)
class PipelineSettings:
    """What arrangements are made for.

    Attributes:
        parallel: values of `num_parallel_calls`; `AUTOTUNE` is one.
        batch: elements of a batch that goes into one callback.
        deterministic: do elements keep their order?
        processes: worker processes of a pool.
        private_threads: of a thread pool that is each pipeline's own; 0 for the one that all of TensorFlow shares.
    """

    parallel: tuple[int, ...]
    batch: tuple[int, ...]
    deterministic: bool
    processes: int
    private_threads: int = 0


class PipelineContext:
    """What arrangements of one worker share: elements, settings, batched forms of the op, and a pool of processes.

    Batched forms are checked and the pool is started when they are first asked for.

    Attributes:
        elements: what goes through every pipeline.
        settings: what arrangements are made for.
        start_seconds: what starting the processes of a form took, where they are not those of the pool.
    """

    def __init__(self, elements: Elements, settings: PipelineSettings) -> None:
        """Start nothing yet."""
        self.elements, self.settings = elements, settings
        self.start_seconds: dict[str, float] = {}
        self._batched: dict[str, BatchedForm] = {}
        self._pool: ProcessPool | None = None

    def batched_form(self, name: str) -> BatchedForm:
        """Return a batched form of the op, checked on the first elements; the pipeline checks all of them later.

        Args:
            name: as `prepare.batched_forms` names it.
        """
        if name not in self._batched:
            self._batched[name] = self.elements.batched_form(name)
        return self._batched[name]

    @property
    def pool(self) -> ProcessPool:
        """The pool of processes, started where it is not; a new one in place of one that broke.

        To be asked for by the main thread alone: Linux ends the processes with the thread that started them.

        Raises:
            BodyRaised, PoolBroken: it cannot be started.
        """
        if self._pool is not None and self._pool.is_broken:
            self.close()
        if self._pool is None:
            self._pool = ProcessPool(self.elements, self.settings.processes)
        return self._pool

    def start_pool(self) -> None:
        """Start the pool, where that has not been done, so that no pipeline waits for it; raises as `pool`."""
        _ = self.pool

    def call_pool(self, columns: Sequence[Any]) -> tuple[Any, ...]:
        """Return what a process of the pool makes of each row of a batch, as `ProcessPool.call`; by any thread.

        Raises:
            PoolBroken: also where `start_pool` was not called since it broke.
        """
        pool = self._pool
        if pool is None:
            raise PoolBroken("the pool has been closed")
        return pool.call(columns)

    @property
    def is_busy(self) -> bool:
        """Is any process of the pool at work?"""
        return self._pool is not None and self._pool.is_busy

    def close(self) -> None:
        """End the pool, if there is one. May be called twice."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None


Build = Callable[[PipelineContext], tf.data.Dataset]
"""Returns elements without end, as `(numbers, *outputs)`: one by one, or in batches of `Arrangement.batch`."""


@dataclass(frozen=True)
class Form:
    """A way of arranging a body in a pipeline.

    Attributes:
        name: the name of the file.
        summary: one line for people.
        arrange: yields each arrangement with what builds it, or with the reason why there is none.
    """

    name: str
    summary: str
    arrange: Callable[[PipelineContext], Iterator[tuple[Arrangement, Build | str]]]


def calls_of(parallel: int) -> int | None:
    """Return what `num_parallel_calls` takes: None for calls one after another."""
    if parallel == AUTOTUNE:
        return int(tf.data.AUTOTUNE)
    return parallel if parallel > 1 else None


def mapped(
    source: tf.data.Dataset, work: Callable[..., Any], arrangement: Arrangement, settings: PipelineSettings
) -> tf.data.Dataset:
    """Return a dataset mapped as an arrangement says, with the number of each element beside what `work` returns."""

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def numbered(number: Any, *inputs: Any) -> tuple[Any, ...]:
        return (number, *work(*inputs))

    calls = calls_of(arrangement.parallel)
    deterministic = None if calls is None else settings.deterministic
    return source.map(numbered, num_parallel_calls=calls, deterministic=deterministic)
