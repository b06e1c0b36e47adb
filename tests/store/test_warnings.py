"""What a reader should know about the files of a run."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

import stored
from pyopbench.store.types import GroupLine
from pyopbench.store.warnings import (
    SLOWING,
    Counted,
    NoTimes,
    RunWarning,
    SlowedGpu,
    UnfinishedLine,
    UnknownClocks,
    UnknownGradients,
    gpu_warnings,
    merge_warnings,
)
from pyopbench.worker import environment


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
