"""A source is compiled once for all that it depends on, and what cannot be compiled is told with what to do."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyopbench.ops.kernels import compiler
from pyopbench.ops.kernels.compiler import CannotCompile, cpu_flags, library_of

MEND = "fix the source, or use g++ 9 or clang++ 10 or later (CXX); the next run tries again"
ANSWER = 'extern "C" int answer() { return %d; }\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = compiler.compiler  # which a test may put something else for
    found.cache_clear()
    yield tmp_path / "cache" / "pyopbench" / "kernels"
    found.cache_clear()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return written(tmp_path / "source" / "answer.cc", ANSWER % 42)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sources that the compiler is asked for."""
    asked: list[str] = []
    real = compiler.call

    def call(command: Sequence[str], arguments: Sequence[str], source: Path, remedy: str) -> None:
        asked.append(source.name)
        real(command, arguments, source, remedy)

    monkeypatch.setattr(compiler, "call", call)
    return asked


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def answer_of(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).answer())


def test_a_library_is_compiled_once(source: Path, compiled: list[str], cache: Path) -> None:
    library = library_of(source)
    assert (answer_of(library), library.parent) == (42, cache)
    assert library_of(source) == library
    assert compiled == ["answer.cc"]
    assert list(cache.iterdir()) == [library], "nothing half done is left"


def test_what_is_touched_is_compiled_again_and_nothing_else(source: Path, compiled: list[str]) -> None:
    other = written(source.with_name("other.cc"), ANSWER % 1)
    before = library_of(source), library_of(other)
    source.write_text(ANSWER % 43, encoding="utf-8")
    after = library_of(source), library_of(other)
    assert answer_of(after[0]) == 43
    assert (after[0] != before[0], after[1] == before[1]) == (True, True)
    assert compiled == ["answer.cc", "other.cc", "answer.cc"]


def test_a_header_beside_it_is_part_of_a_source(source: Path, compiled: list[str]) -> None:
    header = written(source.with_name("header.h"), "#define ANSWER 1\n")
    source.write_text('#include "header.h"\n' + (ANSWER % 0).replace("0", "ANSWER"), encoding="utf-8")
    assert answer_of(library_of(source)) == 1
    header.write_text("#define ANSWER 2\n", encoding="utf-8")
    assert answer_of(library_of(source)) == 2
    assert compiled == ["answer.cc", "answer.cc"]


def test_the_same_library_may_be_built_by_many_at_once(source: Path, cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(library_of, [source] * 4))
    assert len(set(found)) == 1
    assert answer_of(found[0]) == 42
    assert list(cache.iterdir()) == found[:1]


def test_a_refused_source_is_told_in_the_compiler_s_words(source: Path, cache: Path) -> None:
    source.write_text("int one = 1;\n#error not today\n", encoding="utf-8")
    with pytest.raises(CannotCompile) as caught:
        library_of(source)
    command, _ = compiler.compiler()
    refused = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True, check=False)
    (error,) = (line for line in refused.stderr.splitlines() if line.startswith(f"{source}:2:"))
    assert caught.value.message == f"{' '.join(command)} refuses answer.cc with exit code 1: {error}"
    assert caught.value.sentence == f"{caught.value.message}; {MEND}"
    assert list(cache.iterdir()) == []


def test_without_a_compiler_it_says_which_were_looked_for(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(CannotCompile) as caught:
        library_of(source)
    assert caught.value.sentence == (
        "there is no C++ compiler (none of g++, c++, clang++ on PATH); install g++ (Debian, Ubuntu: apt-get install "
        "g++), or set CXX"
    )


def test_a_compiler_that_does_not_end_is_given_up(source: Path) -> None:
    command, _ = compiler.compiler()
    with pytest.raises(CannotCompile) as caught:
        compiler.call(command, ["-c", str(source)], source, MEND, seconds=0.0)
    assert caught.value.message == f"{Path(command[0]).name} was not done after 0 s"
    assert caught.value.received == source


def test_a_cache_that_cannot_be_made_is_told(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(written(tmp_path / "file", "")))
    with pytest.raises(CannotCompile) as caught:
        library_of(source)
    assert "XDG_CACHE_HOME" in caught.value.hint


def test_flags_are_those_of_the_instructions_that_the_cpu_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler.platform, "machine", lambda: "x86_64")
    text = "processor\t: 0\nflags\t\t: fpu avx avx2 bmi1 fma avx512f avx512_fp16\nbugs\t\t: bmi2\n"
    cpuinfo = written(tmp_path / "cpu" / "cpuinfo", text)
    assert cpu_flags(cpuinfo) == ("-mavx2", "-mfma", "-mbmi", "-mavx512f", "-mprefer-vector-width=512")
    assert cpu_flags(tmp_path / "nothing") == ()
    monkeypatch.setattr(compiler.platform, "machine", lambda: "aarch64")
    assert cpu_flags(cpuinfo) == ()
