"""Commands end as documented whatever was done to the results that they read, as `helpers/mutants.py` does."""

from __future__ import annotations

from pathlib import Path

import pytest

import mutants

COUNT = 500
"""Some eight seconds; `make fuzz` goes on for as many as it is told."""


def test_mutants_end_as_documented() -> None:
    assert list(mutants.run(COUNT, 0)) == []


@pytest.mark.parametrize("name", mutants.FOUND)
def test_what_was_found_once_ends_as_documented(name: str) -> None:
    assert [one for content in mutants.FOUND[name] for one in mutants.replay(name, content)] == []


def test_a_command_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(mutants, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(mutants, "call", lambda words: (2, f"pyopbench {mutants.UNEXPECTED}"))
    assert len(list(mutants.run(3, 0))) == 3
    assert list((tmp_path / "kept").iterdir())


def test_a_file_that_is_written_through_a_link_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def write(words: list[str]) -> tuple[int, str]:
        Path(mutants.VICTIM).write_text("gone", encoding="utf-8")
        return 0, ""

    monkeypatch.setattr(mutants, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(mutants, "call", write)
    assert len(list(mutants.run(1, 0))) == 1


def test_every_command_that_reads_or_writes_files_is_tried(tmp_path: Path) -> None:
    """The others measure before they write; what they write is tried in `test_prepared_folders`."""
    with mutants.fuzzing():
        commands = mutants.make_once(tmp_path / "made")
    tried = {words[0] for every in commands.values() for words in every}
    assert tried == {"check", "compare", "probe", "record", "report", "resume", "run", "scan"}
