"""What the meter reads off a made-up file of the kernel, and off this process."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pyopbench.store.types import Noise
from pyopbench.worker import noise
from pyopbench.worker.noise import Meter, Reading

STAT = """cpu  100 0 0 0 0 0 0 900 0 0
cpu0 50 1 2 3 4 5 6 300 0 0
cpu1 50 1 2 3 4 5 6 500 0 0
cpu10 50 1 2 3 4 5 6 7000 0 0
intr 1 2 3
"""
READING = Reading(10.0, 3.0, 1.0, 5, 0.5)


def test_steal_is_that_of_the_used_cores_in_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    stat.write_text(STAT)
    ticks = os.sysconf("SC_CLK_TCK")
    for used, steal in (({0, 1}, 800), ({10}, 7000)):
        monkeypatch.setattr(noise, "usable_cores", lambda used=used: frozenset(used))
        assert noise.read(stat).steal_seconds == steal / ticks


@pytest.mark.parametrize("text", [None, "", "cpu  1 2 3\n", "cpu0 1 2 3\n"])
def test_without_steal_in_the_file_it_is_none(tmp_path: Path, text: str | None) -> None:
    stat = tmp_path / "stat"
    if text is not None:
        stat.write_text(text)
    with Meter(lambda: noise.read(stat)) as meter:
        pass
    assert meter.noise["steal_seconds"] is None


def test_the_meter_has_differences_since_it_was_entered_last() -> None:
    after = Reading(12.0, 4.5, 1.25, 9, 0.75)
    readings = iter([READING, replace(READING, wall_seconds=0.0), READING, READING, after])
    meter = Meter(lambda: next(readings))
    for _ in range(2):
        with meter:
            pass
    differences = {"wall_seconds": 2.0, "cpu_seconds": 1.5, "steal_seconds": 0.25, "switches": 4, "load": 0.75}
    assert meter.noise == differences


def test_this_process_is_metered_with_every_key_that_is_stored() -> None:
    with Meter() as meter:
        sum(range(1000))
    assert {*meter.noise, "gpus"} == set(Noise.__struct_fields__), "GPUs are read by others, and only for groups on one"
    assert meter.noise["wall_seconds"] > 0


@pytest.mark.measures
def test_a_thread_that_is_left_is_counted_and_seen_to_work() -> None:
    threads = noise.count_threads()
    assert noise.left_running(threads) is None
    end = threading.Event()

    def work() -> None:
        while not end.is_set():
            sum(range(1000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        running = noise.left_running(threads)
    finally:
        end.set()
        thread.join()
    assert running is not None
    assert running["threads"] == 1
    assert running["cores"] >= noise.BUSY_CORES
