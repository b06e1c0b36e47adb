"""Other processes with TensorFlow, started once and kept, for what has to be tried in a process other than this one."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pyopbench.model.failures import describe_error
from pyopbench.ops.kernels.load_library import load_custom_ops
from pyopbench.worker.late_keras import import_tensorflow

FRESH = "fresh"
"""The peer in which no callback is ever made: what a server or another program is to a model."""

SECONDS = 60.0
"""How long a peer may take for one call, its start included; less than a worker may be silent."""


@dataclass(frozen=True)
class Raised(Exception):
    """What a function raised in a peer; `told` in one line, `words` as they were."""

    told: str
    words: str

    def __str__(self) -> str:
        return self.words


def call(peer: str, libraries: Sequence[str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a peer and return its result; all of them have to be what pickle knows.

    Args:
        peer: its name; it is started where it is not there yet.
        libraries: files of custom ops that the process has to load before.
        function: of a module, by which the peer finds it.
        arguments: for the function.

    Raises:
        Raised: the function raised, or the process ended or was silent for too long.
    """
    try:
        done, result = _pool(peer).submit(_guarded, tuple(libraries), function, arguments).result(SECONDS)
    except (BrokenProcessPool, TimeoutError) as error:
        _pool.cache_clear()
        told = f"the other process ended, or was silent for {SECONDS:g} s: {type(error).__name__}"
        raise Raised(told, f"{told}: {error}") from error
    if not done:
        raise Raised(*result)
    return result


@cache
def _pool(peer: str) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), import_tensorflow)


def _guarded(libraries: Sequence[str], function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[bool, Any]:
    try:
        for library in libraries:
            load_custom_ops(Path(library))
        return True, function(*arguments)
    except Exception as error:  # noqa: BLE001 - anything may be raised; not every error of TensorFlow can be pickled
        return False, (describe_error(error), f"{type(error).__name__}: {error}")
