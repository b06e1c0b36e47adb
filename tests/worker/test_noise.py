"""What the meter reads off made-up files of the kernel, and off this process."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pyopbench.store.line_types import Noise
from pyopbench.worker import noise
from pyopbench.worker.noise import Meter, Reading, Sources

STAT = """cpu  100 0 0 0 0 0 0 900 0 0
cpu0 50 1 2 3 4 5 6 300 0 0
cpu1 50 1 2 3 4 5 6 500 0 0
cpu10 50 1 2 3 4 5 6 7000 0 0
intr 1 2 3
"""
CPUINFO = """processor\t: 0
model name\t: made up
cpu MHz\t\t: 2600.125

processor\t: 1
cpu MHz\t\t: 1200.000

processor\t: 10
cpu MHz\t\t: 3900.000
"""
READING = Reading(10.0, 3.0, 1.0, 5, 2, 0.5, (2600.0, 1200.0))


def sources(folder: Path, *cores: int, stat: str | None = STAT, cpuinfo: str | None = CPUINFO) -> Sources:
    for name, text in (("stat", stat), ("cpuinfo", cpuinfo)):
        if text is not None:
            (folder / name).write_text(text)
    return Sources(folder, folder / "cpus", frozenset(cores))


def test_steal_is_that_of_the_used_cores_in_seconds(tmp_path: Path) -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    assert noise.read(sources(tmp_path, 0, 1)).steal_seconds == 800 / ticks
    assert noise.read(sources(tmp_path, 10)).steal_seconds == 7000 / ticks


def test_frequencies_are_those_of_the_used_cores(tmp_path: Path) -> None:
    assert noise.read(sources(tmp_path, 0, 1)).mhz == (2600.125, 1200.0)


def test_the_governor_knows_frequencies_better(tmp_path: Path) -> None:
    for core, khz in ((0, "1800000"), (1, "2400000")):
        folder = tmp_path / "cpus" / f"cpu{core}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
    assert noise.read(sources(tmp_path, 0, 1)).mhz == (1800.0, 2400.0)


@pytest.mark.parametrize("stat", [None, "", "cpu  1 2 3\n", "cpu0 1 2 3\n"])
def test_what_the_kernel_does_not_tell_is_none(tmp_path: Path, stat: str | None) -> None:
    with Meter(lambda: noise.read(sources(tmp_path, 0, stat=stat, cpuinfo=None))) as meter:
        pass
    assert meter.noise["steal_seconds"] is None
    assert (meter.noise["mhz_low"], meter.noise["mhz_high"]) == (None, None)


def test_the_meter_tells_differences_and_extremes() -> None:
    after = replace(
        READING, wall_seconds=12.0, cpu_seconds=4.5, steal_seconds=1.25, switches=9, collections=3, load=0.75,
        mhz=(2000.0, 3000.0),
    )  # fmt: skip
    readings = iter([replace(READING, wall_seconds=0.0), READING, after])
    with Meter(lambda: next(readings)) as meter:
        pass
    assert meter.noise == {
        "wall_seconds": 2.0,
        "cpu_seconds": 1.5,
        "steal_seconds": 0.25,
        "switches": 4,
        "collections": 1,
        "load": 0.75,
        "mhz_low": 1200.0,
        "mhz_high": 3000.0,
    }


def test_a_meter_that_was_never_entered_has_seen_nothing() -> None:
    assert Meter(lambda: READING).noise["wall_seconds"] == 0.0


def test_a_meter_that_is_entered_again_begins_anew() -> None:
    readings = iter([replace(READING, wall_seconds=seconds) for seconds in (0.0, 1.0, 5.0, 7.0, 8.0)])
    meter = Meter(lambda: next(readings))
    for _ in range(2):
        with meter:
            pass
    assert meter.noise["wall_seconds"] == 1.0


@pytest.mark.measures
def test_this_process_is_metered_with_every_key_of_the_schema() -> None:
    with Meter() as meter:
        gc.collect()
    assert {*meter.noise, "gpus"} == set(Noise.__struct_fields__), "GPUs are read by others, and only for groups on one"
    assert meter.noise["collections"] >= 1
    assert meter.noise["wall_seconds"] > 0


def test_a_spin_has_the_seconds_of_each_block() -> None:
    """By a clock that goes on by 1 each time it is read, but for a block that takes 7."""
    jumps = iter([1.0] * 5 + [7.0] + [1.0] * noise.SPIN_BLOCKS)
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += next(jumps)
        return now

    blocks = noise.spin(clock)
    assert len(blocks) == noise.SPIN_BLOCKS
    assert blocks == [7.0 if place == 4 else 1.0 for place in range(noise.SPIN_BLOCKS)]
