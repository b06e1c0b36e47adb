"""The script of the charts is made once, and again where what is kept is another one's, not whole, or not to be had."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import vl_convert

from pyopbench.model.cache_folder import folder_of
from pyopbench.report import vega

WHOLE = "(() => {\nmade 1\n})();"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What vl-convert was asked for, which it answers with how often it was asked."""
    asked: list[str] = []

    def make(exports: str) -> str:
        asked.append(exports)
        return f"made {len(asked)}"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", make)
    vega.library.cache_clear()
    yield asked
    vega.library.cache_clear()


def library_of_another_process() -> str:
    vega.library.cache_clear()
    return vega.library()


def test_it_is_made_once_for_all_processes(made: list[str]) -> None:
    assert vega.library() == vega.library() == library_of_another_process() == WHOLE
    assert made == [vega.EXPORTS]


def test_another_release_of_vl_convert_makes_its_own(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert library_of_another_process() == WHOLE
    monkeypatch.setattr(vega, "version", lambda package: "99.0")
    assert "made 2" in library_of_another_process()
    assert len(list(folder_of("vega").iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"made 1", b"\xff\xfe\nmade 1", b"0" * 64 + b"\nmade 1"])
def test_what_is_not_whole_is_made_again(made: list[str], content: bytes) -> None:
    vega.library()
    (kept,) = folder_of("vega").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(content)
    assert "made 2" in library_of_another_process()
    assert "made 2" in library_of_another_process()
    assert kept.read_bytes() != whole
    kept.write_bytes(whole.replace(b"made", b"evil"))
    assert "made 3" in library_of_another_process()


def test_what_others_may_write_to_is_not_read(made: list[str]) -> None:
    vega.library()
    folder_of("vega").chmod(0o777)
    assert "made 2" in library_of_another_process()


def test_a_report_needs_no_cache(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("", encoding="utf-8")
    assert library_of_another_process() == WHOLE
    assert "made 2" in library_of_another_process()


def test_a_disk_that_is_full_costs_the_cache_and_nothing_else(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vega, "write_atomically", refuse)
    assert library_of_another_process() == WHOLE
    assert not list(folder_of("vega").iterdir())


def test_the_real_one_leaves_the_name_that_the_page_calls(made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    script = library_of_another_process()
    assert len(script) > 500_000
    assert script.rstrip().endswith("})();")
    assert "window.vegaEmbed" in script
