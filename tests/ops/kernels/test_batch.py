"""Several sources are compiled at once, and one that is refused costs the others nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyopbench.ops.kernels.batch import compile_all
from pyopbench.ops.kernels.compiler import CannotCompile

SOURCE = 'extern "C" int answer() { return 42; }\n'


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_all_are_compiled_although_one_is_refused(tmp_path: Path) -> None:
    source, wrong = tmp_path / "answer.cc", tmp_path / "wrong.cc"
    source.write_text(SOURCE, encoding="utf-8")
    wrong.write_text("#error not today\n", encoding="utf-8")
    told: list[Path] = []
    found = compile_all([source, wrong, source], told.append)
    assert sorted(told) == [source, wrong]
    assert isinstance(found[source], Path)
    assert isinstance(found[wrong], CannotCompile)
