"""The Pythons that workers run on."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyopbench.engine import environments
from pyopbench.engine.environments import LOCKS, locked, missing, package_folder, python_of
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Environment

VERSION = locked()[-1]
UV = """#!{python}
import pathlib, sys
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "venv":
    python = pathlib.Path(sys.argv[-1]) / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.touch()
elif sys.argv[1:3] == ["python", "find"]:
    sys.exit("error: no such Python")
elif {fails}:
    sys.exit("error: no solution\\n  cause: the index is not there")
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a uv in place that only writes down what it is asked for, and return where it does."""

    def put(*, fails: bool = False) -> Path:
        log = tmp_path / "uv.log"
        program = tmp_path / "bin" / "uv"
        program.parent.mkdir()
        program.write_text(UV.format(python=sys.executable, log=str(log), fails=fails), encoding="utf-8")
        program.chmod(stat.S_IRWXU)
        monkeypatch.setattr(environments, "find_uv", lambda: str(program))
        return log

    return put


def test_there_is_a_lock_for_ten_minor_versions() -> None:
    minors = [version.rpartition(".")[0] for version in locked()]
    assert minors == [f"2.{minor}" for minor in range(12, 22)]


@pytest.mark.parametrize("version", locked())
def test_a_lock_is_of_its_version_with_hashes(version: str) -> None:
    text = (LOCKS / f"{version}.txt").read_text(encoding="utf-8")
    assert f"tensorflow-cpu=={version} " in text
    pinned = [line for line in text.splitlines() if "==" in line and not line.startswith((" ", "#"))]
    assert len(pinned) > 20
    assert text.count("--hash=sha256:") >= len(pinned)


@pytest.mark.parametrize("asked", ["2.16.1", "9.9.9", "", "../2.21.0"])
def test_a_version_that_is_not_there_is_answered_with_those_that_are(asked: str) -> None:
    with pytest.raises(BadInput) as error:
        missing([Environment(asked)])
    assert f"--tf {asked}" in str(error.value)
    assert ", ".join(locked()) in str(error.value)


def test_an_environment_is_made_once(uv: Callable[..., Path]) -> None:
    log = uv()
    assert python_of(Environment(VERSION)) == python_of(Environment(VERSION))
    made, installed = log.read_text(encoding="utf-8").splitlines()
    assert made.startswith("venv ")
    assert installed.endswith(f"--require-hashes -r {LOCKS / VERSION}.txt")
    assert " --compile-bytecode " in installed, "else each worker compiles TensorFlow where none may write bytecode"


def test_two_at_once_make_one(uv: Callable[..., Path]) -> None:
    log = uv()
    with ThreadPoolExecutor(2) as pool:
        assert len(set(pool.map(python_of, [Environment(VERSION)] * 2))) == 1
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2


def test_what_uv_says_is_told_and_what_it_left_is_not_taken_for_whole(uv: Callable[..., Path]) -> None:
    log = uv(fails=True)
    for _ in range(2):
        with pytest.raises(BadInput) as refused:
            python_of(Environment(VERSION))
        assert refused.value.received == "error: no solution cause: the index is not there"
    assert len(log.read_text(encoding="utf-8").splitlines()) == 4


def test_without_uv_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments.sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(BadInput) as refused:
        python_of(Environment(VERSION))
    assert refused.value.received == "no uv next to /nowhere/python or on PATH"


PINNED = Environment(VERSION, ("numpy==1.26.4", "scipy==1.13.1"))


def test_versions_of_packages_are_installed_after_the_lock_and_together_with_the_tensorflow(
    uv: Callable[..., Path],
) -> None:
    """So that uv refuses versions that do not go with this TensorFlow."""
    log = uv()
    python_of(PINNED)
    _, lock, packages = log.read_text(encoding="utf-8").splitlines()
    assert lock.endswith(f"-r {LOCKS / VERSION}.txt")
    assert f"tensorflow-cpu=={VERSION} ; " in packages
    assert packages.endswith(" ".join(PINNED.packages))


def test_other_versions_of_packages_are_another_environment(uv: Callable[..., Path]) -> None:
    uv()
    several = [Environment(VERSION), PINNED, Environment(VERSION, PINNED.packages[:1])]
    assert environments.missing(several + several) == several
    assert len({python_of(one) for one in several}) == 3
    assert environments.missing(several) == []


@pytest.fixture
def interpreter(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Write a program that describes itself as a Python would, and return its path."""

    def write(answer: str) -> str:
        path = tmp_path / "python-of-mine"
        path.write_text(f"#!/bin/sh\necho {answer}\n", encoding="utf-8")
        path.chmod(stat.S_IRWXU)
        return str(path)

    environments.find_interpreter.cache_clear()
    yield write
    environments.find_interpreter.cache_clear()


def test_another_python_has_environments_of_its_own(interpreter: Callable[[str], str], uv: Callable[..., Path]) -> None:
    log, python = uv(), interpreter("3 12 0")
    folder = python_of(Environment(VERSION, python=python)).parent.parent
    assert f"--python {python} " in log.read_text(encoding="utf-8").splitlines()[0]
    assert folder != python_of(Environment(VERSION)).parent.parent


def test_a_python_that_has_a_tensorflow_is_used_as_it_is(interpreter: Callable[[str], str]) -> None:
    """So a build without a GIL can be measured, for which there may be no wheel."""
    python = interpreter("3 13 1")
    environment = Environment(python=python)
    assert python_of(environment) == Path(python)
    assert environments.missing([environment]) == []


@pytest.mark.parametrize("asked", ["/no/such/python", "3.99", "", "--help"])
def test_a_python_that_is_not_there_is_refused(
    asked: str, interpreter: Callable[[str], str], uv: Callable[..., Path]
) -> None:
    uv()
    with pytest.raises(BadInput) as refused:
        missing([Environment(VERSION, python=asked)])
    assert refused.value.received == f"--python {asked}"


def test_pyopbench_is_found_without_what_lies_next_to_it() -> None:
    folders = {package_folder(), package_folder()}
    (folder,) = folders
    (link,) = folder.iterdir()
    assert (link.name, link.resolve()) == ("pyopbench", PACKAGE.resolve())
