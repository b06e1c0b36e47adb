"""The memory of workers, and the limit on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.engine import memory
from pyopbench.engine.memory import Sources, available_bytes, has_room, resident_bytes

GIB = 1 << 30


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """A machine with 8 GiB free, and no container."""
    (tmp_path / "meminfo").write_text(f"MemTotal: 16777216 kB\nMemAvailable:    {8 << 20} kB\n", encoding="ascii")
    return Sources(proc=tmp_path, group=tmp_path)


def test_what_is_free_is_what_the_machine_says(sources: Sources) -> None:
    assert available_bytes(sources) == 8 * GIB


def test_a_container_may_have_less_left_and_gives_back_what_is_only_cached(sources: Sources) -> None:
    (sources.group / "memory.max").write_text("max\n", encoding="ascii")
    (sources.group / "memory.current").write_text(f"{3 * GIB}\n", encoding="ascii")
    (sources.group / "memory.stat").write_text(f"anon 7\ninactive_file {GIB}\n", encoding="ascii")
    assert available_bytes(sources) == 8 * GIB, "no limit"
    (sources.group / "memory.max").write_text(f"{4 * GIB}\n", encoding="ascii")
    assert available_bytes(sources) == 2 * GIB


def test_where_nothing_is_told_there_is_room(tmp_path: Path) -> None:
    nothing = Sources(proc=tmp_path, group=tmp_path)
    assert available_bytes(nothing) is None
    assert resident_bytes(1, nothing) is None
    assert has_room(100, 1 << 50, [], nothing)


def test_workers_fit_where_they_and_what_others_still_grow_by_leave_a_tenth(sources: Sources) -> None:
    assert has_room(3, 2 * GIB, [], sources)
    assert not has_room(4, 2 * GIB, [], sources)
    assert has_room(2, 2 * GIB, [GIB], sources), "4 and 1 to come, of 7.2"
    assert not has_room(2, 2 * GIB, [GIB, None, GIB], sources), "4 and 4 to come"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells")
def test_this_process_holds_some_memory_of_what_there_is() -> None:
    held, free = resident_bytes(os.getpid()), available_bytes()
    assert held is not None
    assert held > 1 << 20
    assert free is not None
    assert memory.ASSUMED_BYTES == 2 * GIB


pytestmark = [
    pytest.mark.measures,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which process ends first"),
]


def test_a_worker_ends_before_its_parent_when_memory_runs_out() -> None:
    with subprocess.Popen(["cat"], stdin=-1) as child:
        memory.offer(child.pid)
        score = Path(f"/proc/{child.pid}/oom_score_adj").read_text(encoding="ascii").strip()
        child.communicate()
    assert score == memory.FIRST_TO_GO


def test_a_process_that_has_ended_is_no_error() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    memory.offer(child.pid)
