"""Workers keep their bytecode, whatever PYTHONDONTWRITEBYTECODE says, and use what the installation has compiled."""

from __future__ import annotations

import py_compile
import sys
from pathlib import Path

import pytest

from places import FAKE_WORKER_COMMAND, HELPERS
from pyopbench.engine import bytecode, worker_process
from pyopbench.engine.bytecode import DO_NOT_WRITE, PREFIX, variables
from pyopbench.engine.worker_process import Worker
from pyopbench.model.cache_folder import folder_of

LONG = 60.0
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
TOLD = f'#!/bin/sh\nprintf "%s,%s" "${PREFIX}" "${DO_NOT_WRITE}" > {{told}}\nexec {sys.executable} "$@"\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for bytecode, in a machine whose programs are not to write any."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(PREFIX, raising=False)
    monkeypatch.setenv(DO_NOT_WRITE, "1")
    return folder_of(bytecode.FOLDER)


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return the Python of an environment with a TensorFlow that is not compiled; it writes its variables to `told`."""
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(TOLD.format(told=tmp_path / "told"), encoding="utf-8")
    python.chmod(0o700)
    package = site_packages(python) / "tensorflow"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return python


def site_packages(python: Path) -> Path:
    return python.parent.parent / "lib" / VERSION / "site-packages"


def compile_tensorflow(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)  # as this process may have one
    py_compile.compile(str(site_packages(python) / "tensorflow" / "__init__.py"))


def test_what_is_not_compiled_is_compiled_into_the_cache(python: Path, cache: Path) -> None:
    assert variables(python) == {PREFIX: str(cache), DO_NOT_WRITE: ""}
    assert cache.stat().st_mode & 0o777 == 0o700, "what is in there is run"


def test_what_the_installation_has_compiled_is_used(python: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_tensorflow(python, monkeypatch)
    assert variables(python) == {}
    assert not cache.exists()


def test_without_an_environment_it_goes_by_the_tensorflow_of_this_python(
    python: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(site_packages(python))
    assert variables(None)[PREFIX] == str(cache)
    compile_tensorflow(python, monkeypatch)
    assert variables(None) == {}


def test_a_folder_that_the_user_has_named_stays_and_is_written_to(
    python: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would not look beside the sources, compiled or not."""
    monkeypatch.setenv(PREFIX, "/elsewhere")
    compile_tensorflow(python, monkeypatch)
    assert variables(python) == {PREFIX: "/elsewhere", DO_NOT_WRITE: ""}
    assert not cache.exists()


def test_bytecode_that_others_could_write_is_not_run(python: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o777)
    assert variables(python) == {}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_worker_is_started_with_them(
    python: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    if compiled:
        compile_tensorflow(python, monkeypatch)
    with Worker(LONG, python):
        pass
    assert (tmp_path / "told").read_text(encoding="utf-8") == (",1" if compiled else f"{cache},")


def test_bytecode_of_a_worker_lands_in_the_cache(
    python: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_by_worker.py").touch()
    code = f"""
import sys
sys.path[:0] = {[str(tmp_path), str(HELPERS)]}
import fake_worker, imported_by_worker
fake_worker.main()
"""
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, "-c", code))
    with Worker(LONG, python):
        pass
    assert [path.suffix for path in cache.rglob("imported_by_worker.*")] == [".pyc"]
    assert not (tmp_path / "__pycache__").exists()
