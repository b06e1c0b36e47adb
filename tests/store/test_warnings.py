"""What a reader should know about the files of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

import stored
from pyopbench.store.read import read_one
from pyopbench.store.types import GroupLine, LeftBehind, PreparedLine
from pyopbench.store.warnings import (
    SLOWING,
    Counted,
    LeftRunning,
    NoTimes,
    RunWarning,
    SlowedGpu,
    UnfinishedLine,
    UnknownClocks,
    UnknownGradients,
    gpu_warnings,
    left_running,
    merge_warnings,
)
from pyopbench.worker import environment


def left(op: str, threads: int = 0, cores: float = 0.0) -> PreparedLine:
    behind = LeftBehind(threads=threads, cores=cores) if threads + cores else None
    return PreparedLine(launch=0, group=stored.group(op), failures=[], seconds=1.0, left_behind=behind)


def test_nothing_left_is_no_warning() -> None:
    assert left_running([left("double")]) == ()


def test_each_op_has_one_warning_with_the_most_that_was_seen() -> None:
    found = left_running([left("double", 1, 0.5), left("sinh", 0, 1.0), left("double", 0, 2.0)])
    assert found == (
        LeftRunning("double", groups=2, threads=1, cores=2.0),
        LeftRunning("sinh", groups=1, threads=0, cores=1.0),
    )


def test_the_warning_is_in_what_is_read_of_a_run(tmp_path: Path) -> None:
    line = msgspec.to_builtins(left("double", 3, 1.0))
    folder = stored.write(
        tmp_path / "run", stored.run([stored.case("well")]), [stored.launch_line(0), msgspec.to_builtins(line)]
    )
    assert read_one([folder]).warnings == (LeftRunning("double", groups=1, threads=3, cores=1.0),)


def group(*reasons: list[str] | None) -> GroupLine:
    return with_gpus([{"name": "G", "held_back_by": held} for held in reasons])


def with_gpus(gpus: list[dict[str, Any]] | None) -> GroupLine:
    line = stored.group_line(0, [stored.case("well")])
    found = stored.typed_line({**line, "noise": {**stored.NOISE, "gpus": gpus}})
    assert isinstance(found, GroupLine)
    return found


def test_groups_in_which_a_gpu_was_slowed_down_are_counted_by_reason() -> None:
    groups = [group(["power cap"]), group(["idle"], ["power cap", "power brake"]), group([]), group(None)]
    assert gpu_warnings([*groups, with_gpus(None), structs.replace(with_gpus(None), noise=None)]) == (
        SlowedGpu(groups=2, of=4, reasons=(Counted("power cap", 2), Counted("power brake", 1))),
    )


def test_idle_clocks_and_clocks_that_somebody_set_are_no_news() -> None:
    assert gpu_warnings([group(["idle"], ["clocks set by the user"]), with_gpus(None)]) == ()


def test_a_gpu_that_does_not_report_its_clocks_is_a_warning() -> None:
    assert gpu_warnings([group(), group([])]) == (UnknownClocks(groups=1, of=2),)


def test_every_reason_is_one_that_the_library_gives() -> None:
    assert set(SLOWING) < set(environment.REASONS.values())


@pytest.mark.parametrize(
    ("warning", "said"),
    [
        (UnfinishedLine("run/samples.jsonl"), "run/samples.jsonl: the unfinished last line is ignored"),
        (NoTimes("a.json", ("x", "y")), "a.json: ignored, because they do not measure time: x and y"),
        (NoTimes("a", ("x",), 3), "a (3 files): ignored, because they do not measure time: x"),
        (
            UnknownGradients("a.json", (Counted("magic", 4), Counted("tricks", 1))),
            "a.json: ignored, because these variants or gradients are unknown: magic (4) and tricks (1)",
        ),
        (
            LeftRunning("double", groups=2, threads=1, cores=2.0),
            (
                "double: after 2 groups its code was still running (at most 1 thread, 2.00 cores busy), "
                "which disturbs what was measured with it"
            ),
        ),
        (
            SlowedGpu(groups=2, of=4, reasons=(Counted("power cap", 2), Counted("power brake", 1))),
            ("the GPU was throttled in 2 of 4 groups: power cap (2) and power brake (1); its times there are too long"),
        ),
        (UnknownClocks(groups=1, of=2), "the clocks of the GPU are unknown in 1 of 2 groups"),
    ],
)
def test_warnings(warning: RunWarning, said: str) -> None:
    assert warning.text() == said


def test_benchmarks_that_do_not_measure_time_in_many_files_make_one_warning() -> None:
    other = UnfinishedLine("run/samples.jsonl")
    files = [NoTimes("asv/here/a.json", ("x", "y")), other, NoTimes("asv/there/b.json", ("z", "y")), other]
    assert merge_warnings(files) == (NoTimes("asv", ("x", "y", "z"), 2), other)
    assert merge_warnings(files[:2]) == tuple(files[:2])
