"""What a worker of Dask is asked about its host, in bytes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import dask_hosts
import fleet_fakes
from pyopbench.engine.fleet import host_shard, messages, on_host
from pyopbench.engine.fleet.messages import KeptShards, Question, Request
from pyopbench.model.errors import BadInput

WORKER = SimpleNamespace(name=f"{on_host.NAMED}a", periodic_callbacks={})
QUESTION = messages.packed(Question(fleet=fleet_fakes.FLEET))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in dask_hosts.variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def measure(shard: int) -> None:
    request = Request(fleet=fleet_fakes.FLEET, shard=shard, of=4, words=[], own_words=[], files=[])
    host_shard.measure(request, "a", host_shard.Running(fleet_fakes.FLEET))


def kept() -> KeptShards:
    return messages.read(on_host.kept_shards(QUESTION, dask_worker=WORKER), KeptShards, "a")


@pytest.mark.parametrize("name", ["tcp://127.0.0.1:3", 7, None])
def test_a_host_goes_by_its_variable_or_by_the_name_that_a_worker_is_given_for_it(
    name: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYOPBENCH_HOST", "told")
    assert on_host.host_of(SimpleNamespace(name=name)) == "told"
    assert on_host.host_of(WORKER) == "a"


def test_what_is_kept_is_told_and_forgotten_when_it_is_asked_for() -> None:
    measure(2)
    measure(3)
    assert kept() == KeptShards(host="a", shards=[2, 3], begun=[])
    on_host.forget(messages.packed(Question(fleet=fleet_fakes.FLEET, shards=[2])), dask_worker=WORKER)
    assert kept().shards == [3]
    on_host.forget(QUESTION, dask_worker=WORKER)
    assert not host_shard.folder_of(fleet_fakes.FLEET, "a").exists()


def test_only_the_fleet_that_is_named_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    running = host_shard.Running("f" * 16)
    monkeypatch.setitem(on_host._running, "a", running)
    on_host.stop(QUESTION, dask_worker=WORKER)
    assert not running.stopped.is_set()
    on_host.stop(messages.packed(Question(fleet="f" * 16)), dask_worker=WORKER)
    assert running.stopped.is_set()


@pytest.mark.parametrize("function", [on_host.kept_shards, on_host.forget, on_host.stop])
def test_a_question_that_is_none_is_refused(function: object) -> None:
    with pytest.raises(BadInput):
        function(b"no question", dask_worker=WORKER)  # type: ignore[operator]


def test_a_profiler_that_is_on_is_told() -> None:
    pytest.importorskip("dask", reason="Dask.distributed is not installed")
    assert "profiler" not in on_host.switched_on(WORKER)
    assert "profiler" in on_host.switched_on(SimpleNamespace(periodic_callbacks={"profile": None}))
