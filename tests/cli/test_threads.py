"""`--threads` takes numbers, is for one version on one machine, and measures while nobody else does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Call
from pyopbench.cli import run
from pyopbench.cli.run import read_threads
from pyopbench.engine import host_lock
from pyopbench.model.errors import BadInput


@pytest.mark.parametrize(("text", "numbers"), [("", ()), ("2", (2,)), ("4,1,2,2", (1, 2, 4))])
def test_numbers_are_read_ascending_and_once(text: str, numbers: tuple[int, ...]) -> None:
    assert read_threads(text, []) == numbers


@pytest.mark.parametrize("text", ["0", "two", "1,-2", "1.5", "257", "all"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_threads(text, [])


def test_beside_other_versions_they_are_refused() -> None:
    with pytest.raises(BadInput):
        read_threads("1,2", ["--tf"])
    assert read_threads("", ["--tf"]) == ()


def test_calls_from_threads_are_measured_while_nobody_else_measures_on_the_machine(
    call: Call, planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned("native")
    free: list[bool] = []
    monkeypatch.setattr(run, "measure_beside", lambda *_: free.append(host_lock.is_free()))
    words = ("--threads", "1,2", "--launches", 2, "--settings", "rounds=2", "--until", "end", "--no-probes")
    ended = call("run", "double", *words, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert free == [False]
