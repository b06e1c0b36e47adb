"""Shards become one run: each result once, with the environment of its machine; or what is amiss is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sharded
import stored
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store import merge
from pyopbench.store.read import read_one, read_source
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return sharded.write_shards(tmp_path)


def refused(folders: list[Path], out: Path) -> BadInput:
    with pytest.raises(BadInput) as caught:
        merge.merge(folders, out)
    assert not (out / RUN_FILE).exists()
    return caught.value


def test_every_sample_is_there_once_and_as_it_was_measured(shards: list[Path], tmp_path: Path) -> None:
    merge.merge(shards, tmp_path / "merged")
    whole = read_one([tmp_path / "merged"])
    assert sorted(whole.cases) == sorted(sharded.CASES)
    columns = ["case", "round", "calls", "seconds"]

    def rows(folder: Path) -> list[tuple[Any, ...]]:
        return list(read_one([folder]).frame[columns].itertuples(index=False, name=None))

    assert sorted(rows(tmp_path / "merged")) == sorted(row for shard in shards for row in rows(shard))


def test_launches_are_numbered_anew(shards: list[Path], tmp_path: Path) -> None:
    found = merge.merge(shards, tmp_path / "merged")
    assert (found.hosts, found.shards) == (("host-1", "host-2", "host-3", "host-4"), 4)
    whole = read_one([tmp_path / "merged"])
    assert sorted(set(whole.frame["launch"])) == list(range(8))
    for place, shard in enumerate(shards):
        cases = set(read_one([shard]).cases)
        of_shard = whole.frame[whole.frame["launch"].isin([2 * place, 2 * place + 1])]
        assert set(of_shard["case"]) == cases


def test_a_merged_run_is_whole_and_has_ended(shards: list[Path], tmp_path: Path) -> None:
    merge.merge(shards, tmp_path / "merged")
    assert read_one([tmp_path / "merged"]).warnings == ()
    ended = stored.read_lines(tmp_path / "merged")[-1]
    assert (ended["by"], ended["seconds"], ended["sampling_seconds"]) == ("launches", 32.0, 24.0)


def test_the_environment_of_each_machine_is_kept(tmp_path: Path) -> None:
    for index in range(1, 5):
        changed = {"cpu": f"processor {index % 2}", "cores": 8 * index, "load": [float(index)] * 3}
        changed |= {"os": f"system {index}"}
        environment = {**stored.ENVIRONMENT, **changed}
        sharded.write_shard(tmp_path / f"shard-{index}", index, 4, environment=environment)
    merge.merge(sorted(tmp_path.glob("shard-*")), tmp_path / "merged")
    run = stored.read_run(tmp_path / "merged")
    assert {name: one["cores"] for name, one in run["merged"]["hosts"].items()} == {
        f"host-{index}": 8 * index for index in range(1, 5)
    }
    assert (run["environment"]["cpu"], run["environment"]["cores"]) == ("processor 1 and processor 0", 8)
    assert run["environment"]["tensorflow"] == "2.21.0"
    assert not {"load", "os"} & {*run["environment"]}, "the first machine's would be claimed of all"


def test_failures_name_the_launches_of_the_whole(tmp_path: Path) -> None:
    key = sharded.CASES[0]
    for index in range(1, 3):
        folder = sharded.write_shard(tmp_path / f"shard-{index}", index, 2)
        case = read_one([folder]).cases[0]
        lost = {"kind": "lost", "launch": 1, "group": stored.group(), "failures": [stored.failure(case, launch=1)]}
        stored.append(folder, lost)
    merge.merge(sorted(tmp_path.glob("shard-*")), tmp_path / "merged")
    whole = read_one([tmp_path / "merged"])
    assert key in whole.cases
    assert [one.launch for one in whole.failures] == [1, 3]


def test_versions_are_merged_each_by_itself(tmp_path: Path) -> None:
    asked = ["2.16.2", "2.21.0"]
    shards = [sharded.write_versions(tmp_path / f"shard-{index}", index, 2, asked) for index in (1, 2)]
    merge.merge(shards, tmp_path / "merged")
    parts = stored.sides_of(tmp_path / "merged")
    assert [part.tf for part in parts] == asked
    for part in parts:
        assert sorted(part.cases) == sorted(sharded.CASES)


def test_launches_of_one_number_stay_so_over_versions(tmp_path: Path) -> None:
    """They are compared in pairs; one version of a shard may have a launch more, because a worker was lost."""
    shards = [sharded.write_versions(tmp_path / f"shard-{index}", index, 2, ["2.16.2", "2.21.0"]) for index in (1, 2)]
    stored.append(shards[0], {**stored.launch_line(2), "side": 1})
    merge.merge(shards, tmp_path / "merged")
    launches = [set(run.frame["launch"]) for run in read_source(tmp_path / "merged")]
    assert launches == [{0, 1, 3, 4}] * 2


def interrupt(folder: Path) -> None:
    path = folder / SAMPLES_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def rewrite(folder: Path, **changes: Any) -> None:
    shutil.rmtree(folder)
    sharded.write_shard(folder, int(folder.name[-1]), 4, **changes)


def other_software(folder: Path) -> None:
    rewrite(folder, environment={**stored.ENVIRONMENT, "tensorflow": "2.20.0"})


def other_plan(folder: Path) -> None:
    rewrite(folder, settings={"seed": 1})


def no_shard(folder: Path) -> None:
    shutil.rmtree(folder)
    stored.write(folder, sharded.plan(), [])


@pytest.mark.parametrize(
    ("spoil", "step"),
    [
        (shutil.rmtree, "pyopbench run --shard 2/4 --out shard-2"),
        (interrupt, "pyopbench resume"),
        (other_software, "pyopbench run --shard 2/4 --out shard-2"),
        (other_plan, "leave them out"),
        (no_shard, "leave it out"),
    ],
)
def test_a_shard_that_is_not_as_it_has_to_be_is_named_with_what_to_do(
    shards: list[Path], tmp_path: Path, spoil: Callable[[Path], None], step: str
) -> None:
    spoil(shards[1])
    error = refused([one for one in shards if one.exists()], tmp_path / "merged")
    assert "2" in str(error.received)
    assert step in error.hint


@pytest.mark.parametrize("number", range(1, 5))
def test_whichever_shard_is_missing_is_named(shards: list[Path], tmp_path: Path, number: int) -> None:
    error = refused([*shards[: number - 1], *shards[number:]], tmp_path / "merged")
    assert f"--shard {number}/4" in error.hint


def test_a_shard_that_is_there_twice_is_refused(shards: list[Path], tmp_path: Path) -> None:
    second = sharded.write_shard(tmp_path / "again", 2, 4, host="elsewhere")
    error = refused([*shards, second], tmp_path / "merged")
    assert str(second) in str(error.received)
    assert str(shards[1]) in str(error.received)


def test_one_folder_that_is_named_twice_is_one(shards: list[Path], tmp_path: Path) -> None:
    assert merge.merge([*shards, shards[0]], tmp_path / "merged").shards == 4


def test_no_folder_is_nothing_measured(tmp_path: Path) -> None:
    with pytest.raises(NothingMeasured):
        merge.merge([], tmp_path / "merged")


def test_a_folder_that_holds_a_run_is_left_alone(shards: list[Path]) -> None:
    before = (shards[0] / RUN_FILE).read_bytes()
    with pytest.raises(BadInput) as caught:
        merge.merge(shards, shards[0])
    assert caught.value.received == shards[0]
    assert (shards[0] / RUN_FILE).read_bytes() == before
