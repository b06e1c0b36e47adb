"""A fleet: shards measured by Dask's workers in this process, written here and merged; one with TensorFlow."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sharded
from commands import Call, call
from pyopbench.engine import fleet
from pyopbench.model.errors import BadInput, NothingMeasured, WorkerLost
from pyopbench.store.read import read_one

__all__ = ["call"]

distributed = pytest.importorskip("distributed", reason="Dask.distributed is not installed")


def cluster_of(workers: int, **resources: int) -> Any:
    return distributed.LocalCluster(
        processes=False, n_workers=workers, threads_per_worker=1, resources=resources, dashboard_address=":0"
    )


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A scheduler with two workers that may measure."""
    with cluster_of(2, measure=1) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def fake_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let each `pyopbench run --shard I/N` write a made-up shard; `--break I` fails shard I always, `--once I` once."""
    commands: list[list[str]] = []

    def run(command: Sequence[str], cwd: Path, **_: object) -> SimpleNamespace:
        words = list(command[3:])
        assert command[:3] == [sys.executable, "-m", "pyopbench"]
        index, of = map(int, words[words.index("--shard") + 1].split("/"))
        before = sum(one[one.index("--shard") + 1].startswith(f"{index}/") for one in commands)
        commands.append(words)
        fails = f"--break={index}" in words or (f"--once={index}" in words and not before)
        if fails:
            return SimpleNamespace(returncode=2, stdout="no room here")
        for word in words:
            if word.endswith(":loss"):
                assert (cwd / word.removesuffix(":loss")).read_text() == "def loss(x): return x\n"
        sharded.write_shard(Path(words[words.index("--out") + 1]), index, of)
        return SimpleNamespace(returncode=1 if f"--wrong={index}" in words else 0, stdout="")

    monkeypatch.setattr(fleet.subprocess, "run", run)
    return commands


def test_each_shard_is_measured_once_and_merged(address: str, fake_runs: list[list[str]], tmp_path: Path) -> None:
    told: list[str] = []
    _, is_wrong = fleet.measure_shards(address, ["--quick"], tmp_path / "fleet", 4, told.append)
    assert sorted(words[words.index("--shard") + 1] for words in fake_runs) == ["1/4", "2/4", "3/4", "4/4"]
    assert all(words[:2] == ["run", "--quick"] for words in fake_runs)
    assert not is_wrong
    assert len(told) == 4
    assert sorted(read_one([tmp_path / "fleet" / "merged"]).cases) == sorted(sharded.CASES)


@pytest.mark.usefixtures("fake_runs")
def test_a_shard_that_always_fails_is_named_with_what_it_said_and_the_others_are_kept(
    address: str, tmp_path: Path
) -> None:
    told: list[str] = []
    with pytest.raises(BadInput) as raised:
        fleet.measure_shards(address, ["--break=2"], tmp_path / "fleet", 4, told.append)
    assert "shard 2 of 4" in str(raised.value.received)
    assert any("shard 2" in line and "no room here" in line for line in told)
    assert sorted(path.name for path in (tmp_path / "fleet" / "shards").iterdir()) == ["1", "3", "4"]


def test_op_files_and_arrays_travel_with_the_command(
    address: str, fake_runs: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_op.py").write_text("def loss(x): return x\n")
    (tmp_path / "x.npy").write_bytes(b"an array")
    words, files = fleet.take_files(["my_op.py:loss", "--input", "x=x.npy", "my_op.py:other", "absent.py:f"])
    assert words == ["0/my_op.py:loss", "--input", "x=1/x.npy", "0/my_op.py:other", "absent.py:f"]
    assert files == {"0/my_op.py": b"def loss(x): return x\n", "1/x.npy": b"an array"}
    fleet.measure_shards(address, ["my_op.py:loss"], tmp_path / "fleet", 2)
    assert len(fake_runs) == 2


@pytest.mark.parametrize("shards", [0, 2])
def test_workers_without_the_resource_measure_nothing(tmp_path: Path, shards: int) -> None:
    with cluster_of(1) as cluster, pytest.raises(NothingMeasured):
        fleet.measure_shards(cluster.scheduler_address, [], tmp_path / "fleet", shards)


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}), pytest.raises(WorkerLost) as raised:
        fleet.measure_shards("tcp://127.0.0.1:9", [], tmp_path / "fleet")
    assert "tcp://127.0.0.1:9" in str(raised.value.received)


@pytest.mark.usefixtures("fake_runs")
def test_the_command_names_what_to_read_next(address: str, call: Call, tmp_path: Path) -> None:
    ended = call(
        "fleet", "run", "--scheduler", address, "double", "--wrong=2", "--shards", "2", "--out", tmp_path / "fleet"
    )
    assert ended.code == 1
    assert f"pyopbench report {tmp_path / 'fleet' / 'merged'}" in ended.out


@pytest.mark.slow
def test_a_real_shard_comes_back(tmp_path: Path) -> None:
    words = ["cube", "--variant", "native", "--quick", "--launches", "2", "--baseline", "native"]
    _, _, files = fleet.run_shard(1, 1, words, {})
    assert {"run.json", "samples.jsonl"} <= files.keys()
    with pytest.raises(fleet.ShardFailed):
        fleet.run_shard(1, 1, ["no_such_op"], {})
    assert not [name for name in os.listdir(tmp_path) if name.startswith("pyopbench-shard")]
