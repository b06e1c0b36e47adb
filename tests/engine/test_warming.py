"""How many workers prepare at the same time, and how many there are, by cores and memory."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import stored
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import memory, warming, worker_process
from pyopbench.engine.budget import Budget, Progress
from pyopbench.engine.remaining_work import remaining_work
from pyopbench.engine.settings import Settings
from pyopbench.engine.warm_launch import WarmLaunch
from pyopbench.engine.warming import Warming
from pyopbench.store import run_folder

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
    run_folder.create(folder, stored.run([stored.case("well", size=size) for size in (1, 2, 3)]))
    chosen = {name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__}
    settings = Settings(**{**chosen, "launches": launches, "memory_limit_bytes": None})
    work = remaining_work(folder, settings, None)
    told: list[Progress] = []
    with ExitStack() as stack:
        found = Warming([work], Budget(None, time.monotonic()), told.append, stack)
        assert [launch.launch for launch in found.run()] == list(range(len(found.launches)))
    assert {step.doing for step in told} == {"preparing"}
    return found


def line_of(folder: Path) -> dict[str, object]:
    (line,) = (line for line in run_folder.read_lines(folder)[0] if line["kind"] == "workers")
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
