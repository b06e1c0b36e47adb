"""Processes of a pool call the body, survive what it raises, and never outlive who started them."""

from __future__ import annotations

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
        "import sys; from pyopbench.model.discover import bring_own\n"
        "from pyopbench.worker.pipeline.process import load\n"
        f"(name,) = bring_own([{str(path)!r}], []); print(load(name) is abs, 'tensorflow' in sys.modules)"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["True", "False"]
