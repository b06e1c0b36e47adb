"""Whatever takes `--tf` says how much of the disk a version takes before it is installed, once it is not there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from commands import Call
from pyopbench.engine import environments
from pyopbench.model.errors import BadInput

VERSION = environments.locked()[-1]
SAID = f"installing TensorFlow {VERSION} into the cache: about {environments.INSTALLED_GB:.1f} GB"
COMMANDS = [["run", "double"], ["verify", "double"], ["placement", "sinh"]]


@pytest.fixture(autouse=True)
def _nothing_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise BadInput("no index can be reached")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "_install", refuse)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_it_is_said_before_it_begins(call: Call, tmp_path: Path, command: Sequence[str]) -> None:
    out = [] if command[0] == "verify" else ["--out", tmp_path / "out"]
    ended = call(*command, "--tf", VERSION, *out)
    assert (ended.code, ended.err.splitlines()) == (2, [SAID, "error: no index can be reached"])
