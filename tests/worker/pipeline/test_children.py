"""What children of `multiprocessing` compute is seen while they live."""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

import pytest

from pyopbench.worker.pipeline import process_pool


def compute(connection: Any) -> None:
    """Compute until told, say so, and wait for the end."""
    connection.recv()
    sum(place * place for place in range(500_000))
    connection.send("done")
    connection.recv()


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_what_a_child_has_used_grows_with_what_it_does_and_is_gone_with_it() -> None:
    assert process_pool.cpu_seconds() == 0
    context = multiprocessing.get_context("spawn")
    mine, other = context.Pipe()
    child = context.Process(target=compute, args=(other,), daemon=True)
    child.start()
    try:
        before = process_pool.cpu_seconds()
        mine.send("go")
        mine.recv()
        assert process_pool.cpu_seconds() > before
    finally:
        child.kill()
        child.join()
    assert process_pool.cpu_seconds() == 0
