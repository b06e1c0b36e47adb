"""A library is loaded from the descriptor that was checked, whatever lies under its name by then."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pyopbench.ops.kernels import load_library
from pyopbench.ops.kernels.compiler import CannotCompile
from pyopbench.ops.kernels.load_library import opened_library

needs_descriptors = pytest.mark.skipif(
    not load_library.DESCRIPTORS.is_dir(), reason="this system loads libraries by their paths alone"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, int], Path]:
    """Give a function that puts a library whose `answer()` is a number at a path."""
    folder = tmp_path_factory.mktemp("made")

    def make(path: Path, answer: int) -> Path:
        source = folder / f"{answer}.c"
        source.write_text(f"int answer(void) {{ return {answer}; }}\n", encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)
        path.chmod(0o755)
        return path

    return make


@needs_descriptors
def test_what_was_checked_is_loaded_though_another_is_put_in_its_place(
    tmp_path: Path, made: Callable[[Path, int], Path]
) -> None:
    library, other = made(tmp_path / "kernel.so", 1), made(tmp_path / "other.so", 2)
    with opened_library(library) as opened:
        other.replace(library)
        assert ctypes.CDLL(opened).answer() == 1
    with opened_library(library) as opened:
        assert ctypes.CDLL(opened).answer() == 2, "no path that the loader knows is given again"


def test_no_descriptor_is_left(tmp_path: Path, made: Callable[[Path, int], Path]) -> None:
    library = made(tmp_path / "kernel.so", 3)
    before = sorted(os.listdir("/dev/fd"))
    with opened_library(library) as opened:
        ctypes.CDLL(opened)
    library.chmod(0o777)
    with pytest.raises(CannotCompile), opened_library(library):
        pass
    assert sorted(os.listdir("/dev/fd")) == before


def test_without_descriptors_it_is_loaded_by_its_path(
    tmp_path: Path, made: Callable[[Path, int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_library, "DESCRIPTORS", tmp_path / "none")
    library = made(tmp_path / "kernel.so", 4)
    with opened_library(library) as opened:
        assert opened == str(library)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_library_that_others_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    library = tmp_path / "kernel.so"
    library.write_bytes(b"")
    library.chmod(mode)
    with pytest.raises(CannotCompile) as refused, opened_library(library):
        pass
    assert (refused.value.received, refused.value.hint) == (library, (f"rm {library}: it will be compiled again"))


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_library_of_another_user_is_refused(tmp_path: Path) -> None:
    library = tmp_path / "kernel.so"
    library.write_bytes(b"")
    os.chown(library, 54321, -1)
    with pytest.raises(CannotCompile), opened_library(library):
        pass


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: os.symlink(__file__, path)])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "kernel.so")
    with pytest.raises(CannotCompile), opened_library(tmp_path / "kernel.so"):
        pass


def test_a_library_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), opened_library(tmp_path / "kernel.so"):
        pass
