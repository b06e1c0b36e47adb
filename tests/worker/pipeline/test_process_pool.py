"""Processes of a pool call the body, survive what it raises, and never outlive who started them.

What children of `multiprocessing` compute is seen while they live.
"""

from __future__ import annotations

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pool_process
from pyopbench.worker.pipeline import process_pool
from pyopbench.worker.pipeline.process import Slot, bytes_for
from pyopbench.worker.pipeline.process_pool import BodyRaised, PoolBroken, ProcessPool

COMMAND = (sys.executable, pool_process.__file__)
WAIT_MILLISECONDS = 20_000
GOOD = (np.array([[2, 3, 4], [5, 6, 7]], np.float32),)
BAD = (np.ones((1, 3), np.float32),)


@pytest.fixture(autouse=True)
def fake_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pool, "COMMAND", COMMAND)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def pool_of(name: str, stack: ExitStack, processes: int = 1) -> ProcessPool:
    pool = ProcessPool(pool_process.elements(name), processes)
    stack.callback(pool.close)
    return pool


def test_each_row_of_a_batch_goes_through_the_body(stack: ExitStack) -> None:
    pool = pool_of("double", stack)
    (found,) = pool.call(GOOD)
    np.testing.assert_array_equal(found, 2 * GOOD[0])
    assert not pool.is_busy
    assert pool.start_seconds > 0


def test_many_threads_get_each_their_own_answer(stack: ExitStack) -> None:
    pool = pool_of("double", stack, processes=2)
    batches = [np.full((2, 3), 2 + place, np.float32) for place in range(40)]
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda one: pool.call((one,))[0], batches))
    for got, batch in zip(found, batches, strict=True):
        np.testing.assert_array_equal(got, 2 * batch)


def test_what_a_body_raises_is_raised_here_and_the_pool_goes_on(stack: ExitStack) -> None:
    pool = pool_of("raising", stack)
    with pytest.raises(BodyRaised) as error:
        pool.call(BAD)
    assert str(error.value) == "ValueError: no"
    assert not pool.is_broken
    (found,) = pool.call(GOOD)
    np.testing.assert_array_equal(found, 2 * GOOD[0])


def test_a_process_that_ends_breaks_the_pool(stack: ExitStack) -> None:
    pool = pool_of("dying", stack)
    with pytest.raises(PoolBroken):
        pool.call(BAD)
    assert pool.is_broken


def test_a_process_that_has_ended_breaks_the_pool_where_rates_are_asked_for(stack: ExitStack) -> None:
    pool = pool_of("double", stack)
    pool._all[0]._process.kill()
    with pytest.raises(PoolBroken):
        pool.rate(1, 0.001)
    assert pool.is_broken


def test_a_process_that_the_body_forks_answers_nobody(stack: ExitStack) -> None:
    pool = pool_of("forking", stack)
    for batch in (BAD, GOOD, BAD, GOOD):
        (found,) = pool.call(batch)
        np.testing.assert_array_equal(found, 2 * batch[0])


def test_another_shape_comes_back_as_it_is(stack: ExitStack) -> None:
    (found,) = pool_of("shrinking", stack).call(BAD)
    assert found.shape == (1, 1)


def test_rates_are_of_as_many_processes_as_are_asked_for(stack: ExitStack) -> None:
    assert pool_of("double", stack, processes=2).rate(2, 0.001) > 0


def test_a_body_that_cannot_be_loaded_is_told_and_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **how: started.append(popen(*given, **how)) or started[-1])
    with pytest.raises(BodyRaised):
        ProcessPool(pool_process.elements("unloadable"), 2)
    assert all(one.poll() is not None for one in started)


def test_closing_ends_processes_that_hang_and_may_be_done_twice(stack: ExitStack) -> None:
    pool = pool_of("hanging", stack)
    (one,) = pool._all
    one.send(BAD)
    pool.close()
    pool.close()
    assert one._process.poll() is not None


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_no_process_outlives_a_parent_that_is_killed() -> None:
    """One of them hangs in its body, and so does not see that nobody is there any more."""
    parent = subprocess.Popen((*COMMAND, "parent"), stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as told:
        ends = [os.pidfd_open(int(pid)) for pid in told.readline().split()]
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert len(ends) == 2
    for end in ends:
        poll = select.poll()
        poll.register(end, select.POLLIN)
        assert poll.poll(WAIT_MILLISECONDS), "it is still there"
        os.close(end)


def test_a_file_that_does_without_tensorflow_is_loaded_without_it(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("from pyopbench import OwnOp\nOP = OwnOp(inputs=None, numpy=abs)\n", encoding="utf-8")
    code = (
        "import sys; from pyopbench.model.own_target import Target\n"
        "from pyopbench.worker.pipeline.process import load\n"
        f"print(load('plain', Target('plain', {str(path)!r})) is abs, 'tensorflow' in sys.modules)"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "False"]


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


ARRAYS = (
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.array([[True], [False]]),
    np.zeros((2, 0), np.int64),
    np.float64(2.5) * np.ones(()),
    np.array([b"text", b""], object),
)


def test_what_is_put_is_taken_by_whoever_has_the_descriptor() -> None:
    mine = Slot(bytes_for([one for one in ARRAYS if one.dtype != object]))
    other = Slot(mine.size, os.dup(mine.descriptor))
    found = other.take(mine.put(ARRAYS))
    for got, expected in zip(found, ARRAYS, strict=True):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(got, expected)
    mine.close()
    other.close()


def test_what_does_not_fit_goes_along_with_the_message() -> None:
    slot = Slot(64)
    large = np.arange(1000.0)
    (found,) = slot.take(slot.put([large]))
    np.testing.assert_array_equal(found, large)
    slot.close()


def test_what_was_taken_stays_when_the_memory_is_used_again() -> None:
    slot = Slot(4096)
    (first,) = slot.take(slot.put([np.ones(8)]))
    slot.put([np.zeros(8)])
    np.testing.assert_array_equal(first, np.ones(8))
    slot.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_the_memory_has_no_name_and_closing_twice_is_allowed() -> None:
    slot = Slot(4096)
    link = os.readlink(f"/proc/self/fd/{slot.descriptor}")
    assert link.endswith("(deleted)")
    slot.close()
    slot.close()
