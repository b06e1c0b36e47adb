"""The Pythons that workers run on."""

from __future__ import annotations

import os
import py_compile
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from places import FAKE_WORKER_COMMAND, HELPERS
from pyopbench.engine import environments, worker_process
from pyopbench.engine.environments import (
    DO_NOT_WRITE,
    LOCKS,
    PREFIX,
    available,
    bytecode_variables,
    folder_with_only,
    locked,
    python_of,
    require_available,
)
from pyopbench.engine.worker_process import Worker
from pyopbench.model import cache_folder
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Environment

VERSION = locked()[-1]
AVAILABLE = environments.available
"""As it is, where a test puts another one in its place."""
UV = """#!{python}
import pathlib, sys
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "venv":
    python = pathlib.Path(sys.argv[-1]) / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.touch()
elif {fails}:
    sys.exit("error: no solution\\n  cause: the index is not there")
"""


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "available", lambda python: locked())


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


def test_versions_go_by_the_wheels_of_a_python() -> None:
    assert available((3, 11)) == locked()
    assert available((3, 12))[0] == "2.16.2"
    assert available((3, 13))[0] == "2.20.0"
    assert available((3, 14)) == ()


@pytest.mark.parametrize("asked", ["2.16.1", "9.9.9", "", "../2.21.0"])
def test_a_version_that_is_not_there_is_answered_with_those_that_are(asked: str) -> None:
    with pytest.raises(BadInput) as error:
        require_available([Environment(asked)])
    assert f"--tf {asked}" in str(error.value)
    assert ", ".join(locked()) in str(error.value)
    if asked == "2.16.1":
        assert "take 2.16.2" in error.value.hint


def test_a_version_without_wheels_for_this_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "available", lambda python: locked()[-2:])
    with pytest.raises(BadInput) as refused:
        require_available([Environment("2.12.1")])
    assert refused.value.received == "--tf 2.12.1"


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
    assert refused.value.received == "neither /nowhere/uv nor uv on PATH"


def test_an_environment_whose_python_is_gone_is_made_again(uv: Callable[..., Path]) -> None:
    log = uv()
    python_of(Environment(VERSION)).unlink()
    assert python_of(Environment(VERSION)).exists()
    assert len(log.read_text(encoding="utf-8").splitlines()) == 4


PINNED = Environment(VERSION, ("numpy==1.26.4", "scipy==1.13.1"))


def test_versions_of_packages_are_resolved_from_the_lock_of_the_tensorflow(uv: Callable[..., Path]) -> None:
    """The output file that is there says which other versions uv prefers."""
    log = uv()
    folder = python_of(PINNED).parent.parent
    made, resolved, installed = log.read_text(encoding="utf-8").splitlines()
    assert made.startswith("venv ")
    lock, wanted = folder / "pyopbench-lock.txt", folder / "requirements.in"
    assert resolved.split()[:2] == ["pip", "compile"]
    assert resolved.endswith(f"{wanted} -o {lock}")
    assert "--generate-hashes" in resolved
    assert lock.read_bytes() == (LOCKS / f"{VERSION}.txt").read_bytes()
    lines = wanted.read_text(encoding="utf-8").splitlines()
    assert lines[-2:] == list(PINNED.packages)
    assert [line.partition(" ; ")[0] for line in lines if line.startswith("tensorflow")] == [
        f"tensorflow=={VERSION}",
        f"tensorflow-cpu=={VERSION}",
    ]
    assert installed.endswith(f"-r {lock}")


def test_other_versions_of_packages_are_another_environment(uv: Callable[..., Path]) -> None:
    uv()
    several = [Environment(VERSION), PINNED, Environment(VERSION, PINNED.packages[:1])]
    assert environments.missing(several + several) == several
    assert len({python_of(one) for one in several}) == 3
    assert environments.missing(several) == []


def test_packages_go_beside_the_tensorflow_that_is_installed(
    uv: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    uv()
    monkeypatch.setattr(environments, "installed_tensorflow", lambda: VERSION)
    assert python_of(Environment(packages=PINNED.packages)) == python_of(PINNED)


INTERPRETER = """#!{python}
import sys
print({answer!r})
"""


@pytest.fixture
def interpreter(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Write a program that says of itself what a Python would, and return its path."""

    def write(answer: str) -> str:
        path = tmp_path / "python-of-mine"
        path.write_text(INTERPRETER.format(python=sys.executable, answer=answer), encoding="utf-8")
        path.chmod(stat.S_IRWXU)
        return str(path)

    environments.find_interpreter.cache_clear()
    yield write
    environments.find_interpreter.cache_clear()


def test_another_python_has_environments_of_its_own(interpreter: Callable[[str], str], uv: Callable[..., Path]) -> None:
    log, python = uv(), interpreter("[[3, 12], false, false]")
    environment = Environment(VERSION, python=python)
    folder = python_of(environment).parent.parent
    assert f"--python {python} " in log.read_text(encoding="utf-8").splitlines()[0]
    assert folder != python_of(Environment(VERSION)).parent.parent
    assert "-cp312-" in folder.name


def test_a_python_that_has_a_tensorflow_is_used_as_it_is(interpreter: Callable[[str], str]) -> None:
    """So a build without a GIL can be measured, for which there may be no wheel."""
    python = interpreter("[[3, 13], true, true]")
    environment = Environment(python=python)
    assert python_of(environment) == Path(python)
    assert environments.missing([environment]) == []


def test_a_python_that_no_wheel_is_made_for_is_refused_in_plain_words(
    interpreter: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "available", AVAILABLE)
    python = interpreter("[[3, 14], true, false]")
    with pytest.raises(BadInput) as refused:
        require_available([Environment(VERSION, python=python)])
    assert refused.value.received == f"--tf {VERSION} with --python {python}"
    assert refused.value.legal == "with free-threaded Python 3.14: none"


@pytest.mark.parametrize("asked", ["/no/such/python", "3.99", "", "--help"])
def test_a_python_that_is_not_there_is_refused(asked: str, interpreter: Callable[[str], str]) -> None:
    with pytest.raises(BadInput) as refused:
        require_available([Environment(VERSION, python=asked)])
    assert refused.value.received == f"--python {asked}"


def test_what_is_no_python_is_refused(interpreter: Callable[[str], str]) -> None:
    python = interpreter("hello")
    with pytest.raises(BadInput) as refused:
        require_available([Environment(VERSION, python=python)])
    assert refused.value.received == f"--python {python}"


def test_a_package_is_found_without_what_lies_beside_it(tmp_path: Path) -> None:
    package = tmp_path / "site" / "thing"
    package.mkdir(parents=True)
    (tmp_path / "site" / "other").mkdir()
    folders = {folder_with_only(package), folder_with_only(package)}
    (folder,) = folders
    (link,) = folder.iterdir()
    assert (link.name, link.resolve()) == ("thing", package.resolve())


def test_another_lock_is_another_environment(
    uv: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uv()
    before = python_of(Environment(VERSION))
    (tmp_path / f"{VERSION}.txt").write_text("other\n", encoding="utf-8")
    monkeypatch.setattr(environments, "LOCKS", tmp_path)
    assert python_of(Environment(VERSION)) != before


LONG = 60.0
COMPILED_VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"
TOLD = f'#!/bin/sh\nprintf "%s,%s" "${PREFIX}" "${DO_NOT_WRITE}" > {{told}}\nexec {sys.executable} "$@"\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for bytecode, in a machine whose programs are not to write any."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(PREFIX, raising=False)
    monkeypatch.setenv(DO_NOT_WRITE, "1")
    return cache_folder.folder_of(environments.BYTECODE)


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
    return python.parent.parent / "lib" / COMPILED_VERSION / "site-packages"


def compile_tensorflow(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)  # as this process may have one
    py_compile.compile(str(site_packages(python) / "tensorflow" / "__init__.py"))


def test_what_is_not_compiled_is_compiled_into_the_cache(python: Path, cache: Path) -> None:
    assert bytecode_variables(python) == {PREFIX: str(cache), DO_NOT_WRITE: ""}


def test_what_the_installation_has_compiled_is_used(python: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_tensorflow(python, monkeypatch)
    assert bytecode_variables(python) == {}
    assert not cache.exists()


def test_without_an_environment_it_goes_by_the_tensorflow_of_this_python(
    python: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(site_packages(python))
    assert bytecode_variables(None)[PREFIX] == str(cache)
    compile_tensorflow(python, monkeypatch)
    assert bytecode_variables(None) == {}


def test_a_folder_that_the_user_has_named_stays_and_is_written_to(
    python: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python would not look beside the sources, compiled or not."""
    monkeypatch.setenv(PREFIX, "/elsewhere")
    compile_tensorflow(python, monkeypatch)
    assert bytecode_variables(python) == {PREFIX: "/elsewhere", DO_NOT_WRITE: ""}
    assert not cache.exists()


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


USUAL = ("python", "-m", "pyopbench.worker")
OTHER = Path("/environments/2.16.2/bin/python")


def test_this_python_is_started_as_usual() -> None:
    assert environments.worker_command(USUAL, None) == USUAL
    assert environments.import_variables(None) == {}
    assert environments.start_remedy(None) != environments.start_remedy(OTHER)


def test_another_python_runs_the_same_module_and_finds_pyopbench_before_what_is_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    assert environments.worker_command(USUAL, OTHER) == (str(OTHER), *USUAL[1:])
    first, last = environments.import_variables(OTHER)["PYTHONPATH"].split(os.pathsep)
    assert [path.name for path in Path(first).iterdir()] == ["pyopbench"]
    assert last == "/mine"
    assert str(OTHER) in environments.start_remedy(OTHER)
