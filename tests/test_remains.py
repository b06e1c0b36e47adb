"""What bodies left running is a warning for each op, with the most of it that was seen."""

from __future__ import annotations

from pathlib import Path

import stored
from pyopbench.readers import read_runs
from pyopbench.remains import BUSY_CORES, MANY_LEFT, is_spoilt, warnings_of


def left(op: str, threads: int, processes: int, cores: float) -> dict[str, object]:
    behind = {"threads": threads, "processes": processes, "cores": cores}
    return {**stored.group_line(0, [stored.case("well", op=op)]), "left_behind": behind}


def test_nothing_left_is_no_warning() -> None:
    assert warnings_of([stored.group_line(0, [stored.case("well")])]) == []


def test_each_op_has_one_warning_with_the_most_that_was_seen() -> None:
    found = warnings_of([left("double", 1, 0, 0.5), left("sinh", 0, 2, 1.0), left("double", 0, 1, 2.0)])
    assert [one.partition(":")[0] for one in found] == ["double", "sinh"]
    assert "after 2 groups (at most 1 thread, 1 process, 2.00 cores busy)" in found[0]
    assert "0 threads, 2 processes" in found[1]


def test_the_warning_is_in_what_is_read_of_a_run(tmp_path: Path) -> None:
    line = left("double", 3, 0, 1.0)
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [stored.launch_line(0), line])
    (warning,) = read_runs([folder]).warnings
    assert "3 threads" in warning


def test_a_worker_is_spoilt_by_what_works_on_and_by_very_many() -> None:
    assert not is_spoilt(stored.group_line(0, [stored.case("well")]))
    assert not is_spoilt(left("double", MANY_LEFT - 1, 0, 0.0))
    assert is_spoilt(left("double", MANY_LEFT - 1, 1, 0.0))
    assert is_spoilt(left("double", 0, 0, BUSY_CORES))
