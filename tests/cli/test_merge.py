"""`pyopbench fleet merge`: what it prints, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharded
from commands import Call
from pyopbench.engine import git
from pyopbench.store.run import SAMPLES_FILE


@pytest.fixture(autouse=True)
def _at_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "commit_of_package", lambda: {"commit": None, "dirty": None})


def test_shards_become_a_run_that_is_reported(tmp_path: Path, call: Call) -> None:
    shards = sharded.write_shards(tmp_path)
    ended = call("fleet", "merge", *shards, "--out", tmp_path / "merged")
    assert ended.code == 0
    assert call("report", tmp_path / "merged").code == 0


def test_a_missing_shard_is_bad_input_that_says_what_to_run(tmp_path: Path, call: Call) -> None:
    shards = sharded.write_shards(tmp_path)
    ended = call("fleet", "merge", *shards[:3], "--out", tmp_path / "merged")
    assert ended.code == 2
    assert "4/4" in ended.err
    assert not (tmp_path / "merged").exists()


def test_a_merged_run_is_not_resumed(tmp_path: Path, call: Call) -> None:
    shards = sharded.write_shards(tmp_path)
    call("fleet", "merge", *shards, "--out", tmp_path / "merged")
    before = (tmp_path / "merged" / SAMPLES_FILE).read_bytes()
    ended = call("resume", tmp_path / "merged")
    assert ended.code == 2
    assert (tmp_path / "merged" / SAMPLES_FILE).read_bytes() == before
