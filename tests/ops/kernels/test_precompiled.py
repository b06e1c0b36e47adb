"""TensorFlow's headers are precompiled where many sources begin with them, once for all, and nothing of it is left."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from devices import needs_compiler
from pyopbench.model.discover import KERNELS
from pyopbench.ops.kernels import compiler, precompiled
from pyopbench.ops.kernels.compiler import CannotCompile
from pyopbench.ops.kernels.precompiled import begins_with_tensorflow, with_precompiled_header
from pyopbench.ops.kernels.simulated_device import BORROWED_KERNELS, PLUG_IN

GXX = "g++ (Debian) 12"
SOURCE = """#include "common.h"
#ifdef FIRST
extern "C" int answer() { return 1; }
#else
extern "C" int answer() { return 2; }
#endif
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, two cores, and in place of TensorFlow's headers one line, so that g++ is done at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(precompiled, "usable_cores", lambda: {0, 1})
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "tensorflow.h").write_text("#pragma once\n#define FIRST\n", encoding="utf-8")
    (kernels / "common.h").write_text("", encoding="utf-8")
    for module in (compiler, precompiled):
        monkeypatch.setattr(module, "KERNELS", kernels)
    monkeypatch.setattr(precompiled, "HEADER", kernels / "tensorflow.h")
    return tmp_path / "cache" / "pyopbench" / "kernels"


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """As many as a header pays for."""
    paths = [tmp_path / "kernels" / f"answer{i}.cc" for i in range(6)]
    for path in paths:
        path.write_text(SOURCE, encoding="utf-8")
    return paths


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What the compiler is called with."""
    made: list[tuple[str, ...]] = []
    real = compiler._run

    def run(command: tuple[str, ...], seconds: float) -> object:
        made.append(tuple(command))
        return real(command, seconds)

    monkeypatch.setattr(compiler, "_run", run)
    return made


def headers(calls: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [call for call in calls if "c++-header" in call]


@needs_compiler
def test_many_sources_share_one_header_which_is_gone_afterwards(
    sources: list[Path], calls: list[tuple[str, ...]], cache: Path
) -> None:
    if "g++" not in compiler.compiler()[1]:
        pytest.skip("the compiler is not g++")
    with with_precompiled_header(sources) as library_of:
        (folder,) = cache.iterdir()
        assert sorted(path.name for path in folder.iterdir()) == ["tensorflow.h", "tensorflow.h.gch"]
        library = library_of(sources[0])
        other = library_of(sources[1])
    assert ctypes.CDLL(str(library)).answer() == 1, "the header was there, before the source"
    assert sorted(cache.iterdir()) == sorted([library, other])
    first, *rest = calls
    assert headers(calls) == [first]
    for call in rest:
        assert call[call.index("-include") + 1] == str(folder / "tensorflow.h")
    assert compiler.library_of(sources[0]) == library, "a library is the same with the header and without"


@pytest.mark.parametrize("fewer", ["sources", "version", "compiled", "begin otherwise"])
def test_none_is_made_where_it_does_not_pay(
    fewer: str, sources: list[Path], calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precompiled, "compiler", lambda: (("/usr/bin/g++",), GXX))
    compiled: list[Path] = []
    monkeypatch.setattr(precompiled, "is_compiled", compiled.__contains__)
    assert precompiled._pays(sources), "else what is below shows nothing"
    if fewer == "sources":
        sources.pop()
    elif fewer == "version":
        monkeypatch.setattr(precompiled, "compiler", lambda: (("/usr/bin/c++",), "Debian clang version 14"))
    elif fewer == "compiled":
        compiled.append(sources[0])
    else:
        sources[0].write_text("#define EIGEN_USE_THREADS\n" + SOURCE, encoding="utf-8")
    with with_precompiled_header(sources) as library_of:
        assert library_of is compiler.library_of
    assert not calls


@needs_compiler
def test_without_a_header_sources_are_compiled_as_ever(
    sources: list[Path], calls: list[tuple[str, ...]], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precompiled, "_pays", lambda sources: True)
    precompiled.HEADER.write_text("#error not today\n", encoding="utf-8")
    with with_precompiled_header(sources) as library_of:
        library = library_of(sources[0])
    assert ctypes.CDLL(str(library)).answer() == 2
    assert len(headers(calls)) == 1
    assert list(cache.iterdir()) == [library]


@needs_compiler
def test_what_defines_something_first_is_compiled_without_the_header(
    sources: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precompiled, "_pays", lambda sources: True)
    sources[0].write_text("#define EIGEN_USE_THREADS\n" + SOURCE, encoding="utf-8")
    with with_precompiled_header(sources) as library_of:
        assert ctypes.CDLL(str(library_of(sources[0]))).answer() == 2
        with pytest.raises(CannotCompile) as caught:
            library_of(sources[0].with_name("missing.cc"))
        assert isinstance(caught.value.__cause__, FileNotFoundError)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('#include "common.h"', True),
        ('// Why.\n\n#include <vector>\n\n # include "common.h"', True),
        ('#include "tensorflow/core/framework/op_kernel.h"\n#define EIGEN_USE_THREADS', True),
        ('#define EIGEN_USE_THREADS\n#include "common.h"', False),
        ('#ifdef GOOGLE_CUDA\n#include "common.h"', False),
        ('#include "mine.h"\n#include "common.h"', False),
        ("#include <vector>", False),
        ("int one;", False),
    ],
)
def test_a_source_begins_with_tensorflow_if_nothing_is_defined_before(text: str, answer: bool, tmp_path: Path) -> None:
    source = tmp_path / "mine.cc"
    source.write_text(text + "\n", encoding="utf-8")
    (tmp_path / "mine.h").write_text("#define EIGEN_USE_THREADS\n", encoding="utf-8")
    assert begins_with_tensorflow(source) is answer


def test_a_header_of_ones_own_is_not_ours(tmp_path: Path) -> None:
    source = tmp_path / "mine.cc"
    source.write_text('#include "common.h"\n', encoding="utf-8")
    assert begins_with_tensorflow(source)
    (tmp_path / "common.h").write_text("#define EIGEN_USE_THREADS\n", encoding="utf-8")
    assert not begins_with_tensorflow(source)


def test_every_built_in_kernel_begins_with_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompiled, "KERNELS", KERNELS)
    sources = sorted(KERNELS.glob("*.cc"))
    assert [path.name for path in sources if not begins_with_tensorflow(path)] == []
    assert begins_with_tensorflow(BORROWED_KERNELS)
    assert not begins_with_tensorflow(PLUG_IN), "which includes C headers only"
