"""What a host is, without TensorFlow being started; what it lacks, and which hosts are alike."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import fleet_fakes
import pyopbench
from pyopbench.engine import host_lock
from pyopbench.engine.fleet import facts
from pyopbench.engine.fleet.facts import Host
from pyopbench.model.cores import usable_cores


def test_a_host_tells_what_it_is(tmp_path: Path) -> None:
    told = facts.facts_of("a", tmp_path / "not" / "there", ("profiler",))
    assert (told.host, told.dask, told.lock, told.is_measuring) == ("a", ("profiler",), "", False)
    assert (told.cores, told.pyopbench) == (len(usable_cores()), pyopbench.__version__)
    assert told.free_bytes is None or told.free_bytes > 0


def test_a_host_on_which_somebody_measures_says_so(tmp_path: Path) -> None:
    with host_lock.held(host="a"):
        assert facts.facts_of("a", tmp_path, []).is_measuring


def test_a_lock_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(host_lock.FOLDER_VARIABLE, str(tmp_path / "not there"))
    told = facts.facts_of("a", tmp_path, [])
    assert told.is_measuring is None
    assert told.lock


def test_compilers_say_their_version_and_one_that_is_not_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts.version_of.cache_clear()
    program = tmp_path / "nvcc"
    program.write_text("#!/bin/sh\necho NVIDIA compiler\necho Built in 2026\necho tools, release 13.0, V13\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert facts.version_of("nvcc") == "tools, release 13.0, V13"
    assert facts.version_of("g++") is None
    facts.version_of.cache_clear()


def test_gpus_are_named_by_the_files_of_their_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "GPUS", tmp_path)
    assert facts._gpus() == []
    for number in (1, 0):
        (tmp_path / f"0000:0{number}:00.0").mkdir()
        text = f"Model: \t\t NVIDIA {number}\nIRQ:   12\n"
        (tmp_path / f"0000:0{number}:00.0" / "information").write_text(text, encoding="utf-8")
    assert facts._gpus() == ["NVIDIA 0", "NVIDIA 1"]


def test_tensorflow_is_not_imported_to_tell_its_version() -> None:
    code = (
        "import sys; from pathlib import Path; from pyopbench.engine.fleet import facts;"
        "print(facts.facts_of('a', Path(), []).tensorflow, 'tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, imported = done.stdout.split()
    assert imported == "False"
    assert version in {one.version for one in metadata.distributions() if one.metadata["Name"].startswith("tensorflow")}


def problems(offset: float = 0.0, *, has_resource: bool = True, **changes: Any) -> set[str]:
    host = Host("tcp://1", fleet_fakes.facts("a", **changes), has_resource, offset, 0.01)
    return {one.kind for one in facts.problems_of(host)}


def test_a_host_that_lacks_nothing_has_no_problem() -> None:
    assert problems() == set()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"has_resource": False}, "resource"),
        ({"pyopbench": "9.9.9"}, "version"),
        ({"tensorflow": None}, "tensorflow"),
        ({"compiler": None}, "compiler"),
        ({"lock": "a link"}, "lock"),
        ({"free_bytes": 2**20}, "disk"),
        ({"offset": -3.0}, "clock"),
        ({"dask": ("profiler",)}, "dask"),
        ({"is_measuring": True}, "measuring"),
    ],
)
def test_what_is_wrong_with_a_host_is_named(changes: dict[str, Any], kind: str) -> None:
    assert problems(**changes) == {kind}


def test_an_environment_is_as_good_as_an_installed_tensorflow() -> None:
    assert problems(tensorflow=None, environments=("2.21.0",)) == set()


def test_a_host_that_does_not_answer_goes_by_its_address() -> None:
    (problem,) = facts.problems_of(Host("tcp://10.0.0.2:1", None))
    assert (problem.host, problem.kind) == ("tcp://10.0.0.2:1", "silent")


def test_hosts_are_alike_by_all_that_times_depend_on() -> None:
    made = [
        Host("1", fleet_fakes.facts("a")),
        Host("2", fleet_fakes.facts("b", free_bytes=1, now=1.0, memory_bytes=2**33 + 2**20)),
        Host("3", fleet_fakes.facts("c", cpu="another")),
        Host("4", None),
    ]
    assert facts.kinds_of(made) == [["a", "b"], ["c"]]
    for changed in ({"cores": 4}, {"governor": "powersave"}, {"tensorflow": "2.20.0"}, {"gpus": ("one",)}):
        other = Host("5", fleet_fakes.facts("d", **changed))
        assert ["d"] in facts.kinds_of([*made, other])
