"""The memory of workers, and the limit on it."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.model import machine
from pyopbench.model.machine import available_bytes, room_for_workers

GIB = 1 << 30


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the files of a machine with 8 GiB free, and no container."""
    (tmp_path / "meminfo").write_text(f"MemTotal: 16777216 kB\nMemAvailable:    {8 << 20} kB\n", encoding="ascii")
    monkeypatch.setattr(machine, "PROC", tmp_path)
    monkeypatch.setattr(machine, "CONTAINER", tmp_path)
    return tmp_path


def test_a_container_may_have_less_left_and_gives_back_what_is_only_cached(folder: Path) -> None:
    assert available_bytes() == 8 * GIB
    (folder / "memory.max").write_text("max\n", encoding="ascii")
    (folder / "memory.current").write_text(f"{3 * GIB}\n", encoding="ascii")
    (folder / "memory.stat").write_text(f"anon 7\ninactive_file {GIB}\n", encoding="ascii")
    assert available_bytes() == 8 * GIB, "no limit"
    (folder / "memory.max").write_text(f"{4 * GIB}\n", encoding="ascii")
    assert available_bytes() == 2 * GIB


def test_workers_of_two_and_a_half_gigabytes_fit_where_they_leave_a_tenth(folder: Path) -> None:
    assert room_for_workers() == 3


def test_where_the_system_does_not_say_there_is_room(folder: Path) -> None:
    (folder / "meminfo").unlink()
    assert available_bytes() is None
    assert room_for_workers() == math.inf


pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process ends first"),
]


def test_a_worker_ends_before_its_parent_when_memory_runs_out() -> None:
    with subprocess.Popen(["cat"], stdin=-1) as child:
        machine.offer_memory(child.pid)
        score = Path(f"/proc/{child.pid}/oom_score_adj").read_text(encoding="ascii").strip()
        child.communicate()
    assert score == machine.FIRST_TO_GO
