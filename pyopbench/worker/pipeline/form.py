"""What a form is: a way of arranging the body of an op in a pipeline, in one or several arrangements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import tensorflow as tf

from pyopbench.core.arrangement import AUTOTUNE, Arrangement
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.process_pool import ProcessPool


@dataclass(frozen=True)
class PipelineSettings:
    """What arrangements are made for.

    Attributes:
        parallel: values of `num_parallel_calls`; `AUTOTUNE` is one.
        batch: elements of a batch that goes into one callback.
        deterministic: do elements keep their order?
        processes: worker processes of a pool.
    """

    parallel: tuple[int, ...]
    batch: tuple[int, ...]
    deterministic: bool
    processes: int


class Workplace:
    """What arrangements of one worker share: the elements, the settings, and a pool that is started when asked for.

    Attributes:
        elements: what goes through every pipeline.
        settings: what arrangements are made for.
    """

    def __init__(self, elements: Elements, settings: PipelineSettings) -> None:
        """Start nothing yet."""
        self.elements, self.settings = elements, settings
        self._pool: ProcessPool | None = None
        self._lock = Lock()

    @property
    def pool(self) -> ProcessPool:
        """The pool of processes; a new one in place of one that broke.

        Raises:
            BodyRaised, PoolBroken: it cannot be started.
        """
        with self._lock:
            if self._pool is not None and self._pool.is_broken:
                self.close()
            if self._pool is None:
                self._pool = ProcessPool(self.elements, self.settings.processes)
            return self._pool

    def start_pool(self) -> None:
        """Start the pool, where that has not been done, so that no pipeline waits for it; raises as `pool`."""
        _ = self.pool

    def call_pool(self, columns: Sequence[Any]) -> tuple[Any, ...]:
        """Return what a process of the pool makes of each row of a batch, as `ProcessPool.call`."""
        return self.pool.call(columns)

    @property
    def is_busy(self) -> bool:
        """Is any process of the pool at work?"""
        return self._pool is not None and self._pool.is_busy

    def close(self) -> None:
        """End the pool, if there is one. May be called twice."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None


Build = Callable[[Workplace], tf.data.Dataset]
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
    arrange: Callable[[Workplace], Iterator[tuple[Arrangement, Build | str]]]


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
