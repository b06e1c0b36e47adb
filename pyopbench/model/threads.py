"""Functions that several threads call at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

Result = TypeVar("Result")


def call_together(functions: Sequence[Callable[[], Result]]) -> list[Result]:
    """Call each function in a thread of its own, all from the same moment on, and return what they return.

    Raises:
        Exception: what the first of them in this order has raised; all have ended by then.
    """
    results: dict[int, Result] = {}
    errors: dict[int, Exception] = {}
    barrier = threading.Barrier(len(functions))

    def work(place: int) -> None:
        barrier.wait()
        try:
            results[place] = functions[place]()
        except Exception as error:  # noqa: BLE001 - is raised again by the thread that asked
            errors[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in sorted(errors):
        raise errors[place]
    return [results[place] for place in range(len(functions))]
