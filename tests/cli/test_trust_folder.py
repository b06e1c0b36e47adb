"""`--out` in a folder of another user is refused before anything is measured, and `--trust-folder` allows it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import copied_files
import placement_files
import probe_files
from commands import Call, told
from pyopbench.engine import copies, probe

STRANGER = 54321


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Measure nothing, and return which commands would have."""
    seen: list[str] = []

    def put(module: Any, name: str, result: Any) -> None:
        monkeypatch.setattr(module, name, lambda *_: seen.append(name) or result)

    put(copies, "count", placement_files.document())
    put(copies, "measure_bridges", copied_files.document(copied_files.row(1, 1e-4)))
    put(probe, "try_all", probe_files.document(probe_files.row("xla", "native")))
    monkeypatch.setattr(probe, "all_attempts", lambda *wanted: [])
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))
    return seen


@pytest.mark.parametrize("command", ["placement", "copies", "probe"])
def test_a_folder_of_another_user_is_written_into_only_where_it_is_trusted(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: list[str], command: str
) -> None:
    (tmp_path / "run").mkdir()
    owner = tmp_path.stat().st_uid
    out = tmp_path / "run" / "file.json"
    with monkeypatch.context() as stranger:
        stranger.setattr(os, "geteuid", lambda: STRANGER)
        refused = call(command, "--out", out)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == told(
            "the folder belongs to another user, so pyopbench does not write into it",
            received=f"{out.parent}, of user {owner}; you are {STRANGER}",
            hint="use --out, copy the folder, or use --trust-folder to write into it anyway",
        )
        assert (measured, list(out.parent.iterdir())) == ([], [])
        assert call(command, "--trust-folder", "--out", out).code == 0
    assert out.exists()
