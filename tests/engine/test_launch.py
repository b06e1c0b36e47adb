"""Launches prepare together, and what is lost with one."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import stored
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import memory, warming, worker_process
from pyopbench.engine.budget import Budget, Progress
from pyopbench.engine.launch import WarmLaunch
from pyopbench.engine.remaining_work import (
    MOST_LOSSES,
    failures_elsewhere,
    failures_of,
    refused_with_gradient,
    remaining_work,
)
from pyopbench.engine.settings import Settings
from pyopbench.engine.warming import Warming
from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.case import Failure
from pyopbench.store import run_folder

KEYS = [
    f"double/{variant}/custom_gradient/{direction}/call/float32/1/cpu"
    for variant in ("crashing", "well")
    for direction in ("backward", "forward_backward")
]


def lost(case: str | None) -> CaseLost:
    return CaseLost(case, "crashed", "it ended")


def test_what_is_timed_in_one_pass_is_lost_together() -> None:
    found = failures_of(lost(KEYS[0]), KEYS, 3, retried=False)
    assert [(one.case, one.status, one.reason, one.launch) for one in found] == [
        (key, "crashed", "it ended", 3) for key in KEYS[:2]
    ]


def test_a_group_is_blamed_for_a_loss_before_any_case_the_second_time() -> None:
    assert failures_of(lost(None), KEYS, 0, retried=False) == []
    assert [one.case for one in failures_of(lost(None), KEYS, 0, retried=True)] == KEYS


def test_a_case_is_blamed_for_a_worker_that_somebody_ended_the_second_time() -> None:
    killed = CaseLost(KEYS[0], "crashed", "it was ended", from_outside=True)
    assert failures_of(killed, KEYS, 0, retried=False) == []
    assert [one.case for one in failures_of(killed, KEYS, 0, retried=True)] == KEYS[:2]


def test_a_variant_that_has_cost_enough_is_left_alone_on_its_op() -> None:
    same = [stored.case("crashing", size=2), stored.case("crashing", size=3)]
    others = [stored.case("well"), stored.case("crashing", op="sinh")]
    losses: Counter[tuple[str, ...]] = Counter()
    for _ in range(MOST_LOSSES - 1):
        assert failures_elsewhere(lost(stored.case("crashing")), [*same, *others], 1, {same[0]}, losses) == []
    found = failures_elsewhere(lost(stored.case("crashing")), [*same, *others], 1, {same[0]}, losses)
    assert [(one.case, one.status, one.launch) for one in found] == [(same[1], "crashed", 1)]
    assert found[0].reason == f"not measured, because crashing of the op has cost {MOST_LOSSES} workers: it ended"


def test_what_is_lost_on_a_gpu_costs_nothing_on_the_cpu() -> None:
    on_gpu = [stored.case("crashing", size=size, placement="gpu") for size in (1, 2)]
    on_cpu = [stored.case("crashing", size=2), stored.case("crashing", size=3)]
    losses: Counter[tuple[str, ...]] = Counter()
    for _ in range(MOST_LOSSES):
        found = failures_elsewhere(lost(on_gpu[0]), [*on_gpu, *on_cpu], 1, {on_gpu[0]}, losses)
    assert [one.case for one in found] == [on_gpu[1]]
    assert failures_elsewhere(lost(on_cpu[0]), [*on_gpu, *on_cpu], 1, {on_cpu[0]}, losses) == []


def test_a_loss_before_any_case_costs_nothing_elsewhere_and_counts_for_nobody() -> None:
    losses: Counter[tuple[str, str]] = Counter()
    assert failures_elsewhere(lost(None), [stored.case("crashing"), stored.case("well")], 0, (), losses) == []
    assert not losses


def test_what_holds_a_refused_forward_pass_is_refused_with_it() -> None:
    """All directions with a gradient, at that size, on that device, by that variant; and for nothing but a refusal."""

    def row(status: Any, **parts: Any) -> Failure:
        return Failure(stored.case("xla", **parts), status, "no", 3)

    with_gradient = [
        stored.case("xla", direction=direction, gradient="autodiff") for direction in ("backward", "forward_backward")
    ]
    others = [
        stored.case("xla", direction="backward", gradient="autodiff", size=7),
        stored.case("native", direction="backward", gradient="autodiff"),
        stored.case("xla", op="other", direction="backward", gradient="autodiff"),
        stored.case("xla"),
    ]
    found = refused_with_gradient([row("unsupported")], [*with_gradient, *others])
    assert found == [Failure(key, "unsupported", "no", 3) for key in with_gradient]
    for status in ("wrong", "raised", "elided", "crashed"):
        assert refused_with_gradient([row(status)], with_gradient) == []
    gradient = row("unsupported", direction="backward", gradient="autodiff")
    assert refused_with_gradient([gradient], [*with_gradient, *others]) == [], "forward may work all the same"


GIB = 1 << 30


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setattr(memory, "resident_bytes", lambda process: GIB)


def warm(folder: Path, *, cores: int, free: float, patch: pytest.MonkeyPatch, launches: int = 8) -> Warming:
    """Prepare a run of three groups with workers that take 1 GiB each, where so much is free, and end them."""
    patch.setattr(warming, "usable_cores", lambda: frozenset(range(cores)))
    begun: list[int] = []
    whole = WarmLaunch.begin
    patch.setattr(WarmLaunch, "begin", lambda self: (begun.append(1), whole(self))[1])
    patch.setattr(
        memory, "available_bytes", lambda sources=None: int((free - len(begun)) * GIB / (1 - memory.SPARE_SHARE))
    )
    stored.write(folder, stored.run([stored.case("well", size=size) for size in (1, 2, 3)]), [])
    chosen = {name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__}
    settings = Settings(**{**chosen, "launches": launches})
    work = remaining_work(run_folder.open_side(folder), settings, None)
    told: list[Progress] = []
    with ExitStack() as stack:
        found = Warming([work], Budget(None, time.monotonic()), told.append, stack)
        assert [launch.launch for launch in found.run()] == list(range(len(found.launches)))
    assert {step.doing for step in told} == {"preparing"}
    return found


def line_of(folder: Path) -> dict[str, object]:
    (line,) = (line for line in stored.read_lines(folder) if line["kind"] == "workers")
    return dict(line)


@pytest.mark.parametrize(("cores", "at_once"), [(1, 1), (2, 2), (16, 3)])
def test_as_many_prepare_at_the_same_time_as_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int, at_once: int
) -> None:
    found = warm(tmp_path / "run", cores=cores, free=64, patch=monkeypatch)
    assert (len(found.launches), found.limited_by) == (3, "")
    line = line_of(tmp_path / "run")
    assert (line["at_once"], line["launches"], line["worker_bytes"]) == (at_once, [0, 1, 2], GIB)


def test_no_more_are_warm_than_launches_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(warm(tmp_path / "run", cores=2, free=64, patch=monkeypatch, launches=2).launches) == 2


@pytest.mark.parametrize(("free", "at_once", "workers"), [(5.0, 2, 3), (3.5, 2, 3), (2.5, 1, 2), (1.5, 1, 1)])
def test_where_memory_is_short_fewer_prepare_at_the_same_time_and_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: float, at_once: int, workers: int
) -> None:
    """2 GiB are assumed of a worker until one is warm and has turned out to take 1 GiB, which lets others begin."""
    found = warm(tmp_path / "run", cores=2, free=free, patch=monkeypatch)
    line = line_of(tmp_path / "run")
    assert (line["at_once"], len(found.launches)) == (at_once, workers)
    assert line["limited_by"] == found.limited_by == ("" if workers == 3 else "memory")
