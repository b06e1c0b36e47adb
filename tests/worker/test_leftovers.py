"""Threads and processes that bodies leave are counted, and how many cores something keeps busy."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pyopbench.worker import noise
from pyopbench.worker.noise import Leftovers

pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not tell children"),
]


class Clock:
    """Stands for the module `time`: of the processor's seconds as many pass as there are busy cores."""

    def __init__(self, cores: float) -> None:
        self.cores = cores
        self.seconds = 0.0

    def process_time(self) -> float:
        return self.cores * self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(0.0)
    monkeypatch.setattr(noise, "time", clock)
    return clock


def test_nothing_that_has_come_is_nothing(clock: Clock) -> None:
    before = Leftovers()
    assert before.found() is None
    clock.cores = 0.4
    assert before.found() is None, "TensorFlow's own threads may not have come to rest"


def test_a_thread_that_waits_is_counted_and_takes_nothing() -> None:
    before, event = Leftovers(), threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()
    try:
        assert before.found() == {"threads": 1, "processes": 0, "cores": 0.0}
        assert Leftovers().found() is None, "what was there before is nobody's"
    finally:
        event.set()
        thread.join()


def test_what_is_no_thread_of_python_is_seen_by_the_cores_it_takes(clock: Clock) -> None:
    before = Leftovers()
    clock.cores = 1.5
    assert before.found() == {"threads": 0, "processes": 0, "cores": 1.5}


def test_what_comes_to_rest_is_not_left_running(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tidied up after a group keeps a core busy for a moment."""
    before = Leftovers()
    monkeypatch.setattr(clock, "process_time", lambda: min(clock.seconds, 2.5 * noise.QUIET_SECONDS))
    assert before.found() is None
    assert clock.seconds == pytest.approx(4 * noise.QUIET_SECONDS), "the fourth look finds it at rest"


def test_a_process_is_counted_until_it_has_ended() -> None:
    before = Leftovers()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as child:
        found = before.found()
        assert found is not None
        assert found["processes"] == 1
        child.communicate(b"\n")
    assert before.found() is None
