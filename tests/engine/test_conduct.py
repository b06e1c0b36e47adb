"""A run from its request to its last sample, and what a listener is told of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import planned
from pyopbench.engine import conduct, probe, start, worker_process
from pyopbench.engine.budget import Progress, Tell
from pyopbench.engine.conduct import Listener
from pyopbench.judge.judge import Judging
from pyopbench.judge.stopping import Look
from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput, PyopbenchError
from pyopbench.report.wording.measuring import look_text
from pyopbench.store import run_folder

__all__ = ["planned"]
ENDS_AT_ONCE = (sys.executable, "-c", "raise SystemExit(3)")
JUDGING = Judging("py_function_numpy", 0.03)
LOOK = Look(frozenset({"a case"}), launches=2, verdicts=2, resolved=1, reachable=1, unneeded=0, most=8)


class Told(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.busy_with: list[str] = []
        self.sentences: list[str] = []
        self.problems: list[tuple[str, str]] = []
        self.steps: list[Progress] = []

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        self.busy_with.append(what)
        yield self.busy_with.append

    @contextmanager
    def sampling(self) -> Iterator[Tell]:
        yield self.steps.append

    def say(self, text: str, *, whole: bool = False) -> None:
        self.sentences.append(text)

    def problem(self, error: PyopbenchError, what: str = "") -> None:
        self.problems.append((what, error.message))


@pytest.fixture
def begun(planned: Callable[..., None], tmp_path: Path) -> Callable[..., tuple[Path, Told]]:
    def begin(**settings: Any) -> tuple[Path, Told]:
        planned("native")
        told = Told()
        request = start.Request(
            Axes(ops=("double",)), replace(start.QUICK, launches=2, **settings), JUDGING.baseline, ("made", "up")
        )
        return conduct.begin(tmp_path / "run", request, told), told

    return begin


def test_a_run_is_planned_and_measured_and_its_listener_told(begun: Callable[..., tuple[Path, Told]]) -> None:
    folder, told = begun(until="end")
    assert told.busy_with[0].startswith("planning")
    assert told.sentences == [f"2 cases, 1 not supported; results in {folder}"]
    ended = conduct.measure(folder, JUDGING, told)
    assert ended is not None
    assert (ended.launches, ended.by) == (2, "launches")
    assert told.steps[-1].doing == "sampling"
    assert told.busy_with[1:] == ["starting"]
    assert told.problems == []


def test_looks_and_the_end_of_the_budget_are_told(
    begun: Callable[..., tuple[Path, Told]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = begun(budget_seconds=3.0)
    whole = conduct.measure_together

    def spend(tasks: Any, tell: Tell, look: Any = None) -> Any:
        tasks[0].look(2)
        return [replace(ended, by="budget") for ended in whole(tasks, tell, look)]

    monkeypatch.setattr(conduct, "measure_together", spend)
    monkeypatch.setattr(conduct.judge, "look", lambda folder, options, launches, most: LOOK)
    conduct.measure(folder, JUDGING, told)
    assert look_text(LOOK) in told.sentences
    assert told.sentences[-1] == "the budget of 3 s is spent after 2 of at most 2 launches"


def test_a_worker_that_does_not_start_is_told_with_the_way_on(
    begun: Callable[..., tuple[Path, Told]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = begun()
    monkeypatch.setattr(worker_process, "COMMAND", ENDS_AT_ONCE)
    assert conduct.measure(folder, JUDGING, told) is None
    assert [what for what, _ in told.problems] == [""]
    assert told.sentences[-1] == f"  resume: pyopbench resume {folder}"
    assert not any(line.get("samples") for line in run_folder.read_lines(folder)[0])


def test_a_run_is_worth_having_without_probes(
    begun: Callable[..., tuple[Path, Told]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = begun()

    def fail(*_: object) -> None:
        raise BadInput("no", received="this", legal="that", hint="do")

    monkeypatch.setattr(probe, "keep_beside", fail)
    conduct.probe_beside(folder, JUDGING, told)
    assert told.problems == [("probing failed", "no")]


def test_nobody_need_listen(begun: Callable[..., tuple[Path, Told]]) -> None:
    folder, _ = begun(until="end")
    assert conduct.measure(folder, JUDGING, Listener()) is not None


def test_a_run_on_one_version_has_one_part(tmp_path: Path) -> None:
    assert conduct.parts_of(tmp_path) == [tmp_path]
