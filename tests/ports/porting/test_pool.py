"""The pool of processes that files of arrangements have: it answers, survives what a body does, and outlives nobody."""

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
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pyopbench.model.files import load_file
from pyopbench.ports.porting import pool

WAIT_MILLISECONDS = 20_000
BODY = '''
import time


def call_body(*arrays):
    """Behave as the first number says."""
    how = np.asarray(arrays[0]).ravel()[0]
    if how == 1:
        raise ValueError("no")
    if how == 2:
        os._exit(7)
    if how == 3:
        os.fork()
    if how == 4:
        signal.pause()
    if how == 5:
        return [np.frombuffer(os.environ["OMP_NUM_THREADS"].encode(), np.uint8)]
    if how == 6:
        time.sleep(0.1)  # so that each of two processes gets one
        return [np.random.random(3), np.int64(os.getpid())]
    return [2 * one if isinstance(one, np.ndarray) else one for one in arrays]
'''
SERVE = """
if __name__ == "__main__":
    if sys.argv[1] == "parent":
        import signal
        from concurrent.futures import ThreadPoolExecutor

        pool = Pool(2)
        ThreadPoolExecutor().submit(pool.call, np.array([4.0]))
        print(*(one._process.pid for one in pool._workers), flush=True)
        signal.pause()
    serve(call_body, *sys.argv[1:])
"""
GOOD = np.array([[7, 8], [9, 10]], np.float32)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a copy of the pool, as each arrangement with processes has it."""
    text = Path(pool.__file__).read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("pool") / "pooled.py"
    path.write_text(text + BODY + SERVE, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def module(file: Path) -> ModuleType:
    return load_file(file, "pooled")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_many_threads_get_each_their_own_answer(module: ModuleType, stack: ExitStack) -> None:
    made = stack.enter_context(module.Pool(2))
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: made.call(GOOD * number)[0], range(10, 40)))
    for number, one in zip(range(10, 40), found, strict=True):
        np.testing.assert_array_equal(one, 2 * number * GOOD)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 3), np.float32),
        np.float64(9.5),
        np.arange(24).reshape(2, 3, 4)[:, ::-1],
        np.array([b"a\0b", "text"], object),
        b"a\0",
    ],
)
def test_what_comes_back_is_what_was_given(module: ModuleType, stack: ExitStack, value: Any) -> None:
    made = stack.enter_context(module.Pool(1))
    _, found = made.call(np.array([9.0]), value)
    doubled = 2 * value if isinstance(value, np.ndarray) else value
    assert np.array_equal(found, doubled)
    assert getattr(found, "dtype", None) == getattr(value, "dtype", None)


def test_larger_arrays_make_the_memory_grow_and_earlier_answers_stay(module: ModuleType, stack: ExitStack) -> None:
    made = stack.enter_context(module.Pool(1))
    first = made.call(GOOD)[0]
    large = np.full(1 << 20, 9, np.float32)
    np.testing.assert_array_equal(made.call(large)[0], 2 * large)
    np.testing.assert_array_equal(first, 2 * GOOD)


def test_what_a_body_raises_is_raised_here_and_the_pool_goes_on(module: ModuleType, stack: ExitStack) -> None:
    made = stack.enter_context(module.Pool(1))
    with pytest.raises(RuntimeError, match="ValueError: no"):
        made.call(np.array([1.0]))
    np.testing.assert_array_equal(made.call(GOOD)[0], 2 * GOOD)


def test_a_process_that_ends_is_an_error(module: ModuleType, stack: ExitStack) -> None:
    made = stack.enter_context(module.Pool(1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="7"):
            made.call(np.array([2.0]))


def test_a_process_that_the_body_forks_answers_nobody(module: ModuleType, stack: ExitStack) -> None:
    made = stack.enter_context(module.Pool(1))
    assert made.call(np.array([3.0]))[0] == 6
    np.testing.assert_array_equal(made.call(GOOD)[0], 2 * GOOD)


def test_libraries_in_each_process_may_use_as_many_threads_as_are_asked_for(
    module: ModuleType, stack: ExitStack
) -> None:
    for threads in (1, 3):
        made = stack.enter_context(module.Pool(1, threads=threads))
        assert bytes(made.call(np.array([5.0]))[0]) == b"%d" % threads


def draws_of(module: ModuleType, seed: int | None) -> dict[int, list[float]]:
    """Return what each of two processes draws first, by its number."""
    with module.Pool(2, seed=seed) as made, ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: made.call(np.array([6.0])), range(2)))
        order = [one._process.pid for one in made._workers]
    return {order.index(int(pid)): draws.tolist() for draws, pid in found}


def test_processes_draw_apart_and_the_same_again_with_the_same_seed(module: ModuleType) -> None:
    first, again, other, free = draws_of(module, 3), draws_of(module, 3), draws_of(module, 4), draws_of(module, None)
    assert first == again
    draws = [one for each in (first, other, free) for one in each.values()]
    assert len({*map(tuple, draws)}) == len(draws)


def test_a_pool_is_busy_while_a_process_is_at_work(
    module: ModuleType, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = stack.enter_context(module.Pool(2))
    during: list[bool] = []
    for worker in made._workers:
        monkeypatch.setattr(worker, "call", lambda values: during.append(made.is_busy))
    assert not made.is_busy
    made.call(GOOD)
    assert during == [True]
    assert not made.is_busy


def test_closing_ends_processes_that_hang_and_may_be_done_twice(module: ModuleType) -> None:
    made = module.Pool(1)
    pid = made._workers[0]._process.pid
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(made.call, np.array([4.0]))
        made.close()
        with pytest.raises((RuntimeError, OSError)):
            asked.result()
    made.close()
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child")
def test_no_process_and_no_memory_outlives_a_program_that_is_killed(file: Path) -> None:
    before = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    parent = subprocess.Popen([sys.executable, str(file), "parent"], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    watched = [os.pidfd_open(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(watched) == 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for one in watched:
        poll = select.poll()
        poll.register(one, select.POLLIN)
        assert poll.poll(WAIT_MILLISECONDS)
        os.close(one)
    parent.stdout.close()
    after = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    assert after <= before


def test_a_file_that_cannot_be_run_is_an_error_and_leaves_no_process(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(Path(pool.__file__).read_text(encoding="utf-8") + "\nif __name__ == '__main__':\n    sys.exit(5)\n")
    broken = load_file(path, "broken")
    with pytest.raises(RuntimeError, match="5"):
        broken.Pool(2)
