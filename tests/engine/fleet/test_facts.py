"""What a host is: told without starting TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import pyopbench
from pyopbench.engine import host_lock
from pyopbench.engine.fleet import facts
from pyopbench.model.cores import usable_cores


def test_a_host_tells_what_it_is(tmp_path: Path) -> None:
    told = facts.facts_of("a", tmp_path / "not" / "there", ["profiler"])
    assert (told.host, told.dask, told.lock, told.is_measuring) == ("a", ["profiler"], "", False)
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
    facts._version_of.cache_clear()
    program = tmp_path / "nvcc"
    program.write_text("#!/bin/sh\necho NVIDIA compiler\necho Built in 2026\necho tools, release 13.0, V13\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert facts._version_of("nvcc") == "tools, release 13.0, V13"
    assert facts._version_of("g++") is None
    facts._version_of.cache_clear()


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
