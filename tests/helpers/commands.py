"""Commands that tests run, in this process or in one of their own, and what is planned for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import stored
from places import EXTRAS, FAKE_WORKER, FAKE_WORKER_COMMAND, line_of
from pyopbench.cli import app
from pyopbench.engine import worker_process
from pyopbench.model.discover import PATH_VARIABLE

REPORT = ("report.html", "report.md", "decisions.json")


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str


CRASHED = (
    "the worker process ended by signal SIGSEGV: Segmentation fault in behave "
    f"({FAKE_WORKER}:{line_of(FAKE_WORKER, 'os.kill(os.getpid(), signal.SIGSEGV)')})"
)
"""Why the fake worker's variant `crashing` has no number."""


Call = Callable[..., Ended]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process, through `main`."""

    def run(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["pyopbench", *map(str, arguments)])
        with pytest.raises(SystemExit) as exited:
            app.main()
        captured = capsys.readouterr()
        code = exited.value.code
        assert "Traceback" not in captured.out + captured.err
        return Ended(0 if code is None else int(code), captured.out, captured.err)

    return run


@pytest.fixture
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every attempt to start a worker fail the test."""
    monkeypatch.setattr(worker_process, "COMMAND", ("no program of this name",))


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let commands have a fake worker that plans cases of the variants that are named after how they behave."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))

    def plan(*variants: str, **changes: Any) -> None:
        cases = [stored.case(variant) for variant in ("py_function_numpy", *variants)]
        content = stored.run(cases)
        skips = [stored.failure(stored.case("xla"), "unsupported", None)]
        made = {"cases": cases, "skips": skips, "catalogue": content["catalogue"]}
        environment = {key: value for key, value in stored.ENVIRONMENT.items() if key not in {"commit", "dirty"}}
        (tmp_path / "plan").write_text(json.dumps({**made, "environment": environment, **changes}), encoding="utf-8")

    return plan


def noisy_results(folder: Path) -> Path:
    """Store four launches in which the ratio of two variants wanders by tens of percent."""
    today, native = stored.case("py_function_numpy"), stored.case("native")
    lines = [stored.group_line(launch, [today, native]) for launch in range(4)]
    for line, seconds in zip(lines, (0.5, 0.7, 0.4, 0.6), strict=True):
        line["samples"][native] = [[*place, seconds] for *place, _ in line["samples"][native]]
    settings = {**stored.SETTINGS, "baseline": "py_function_numpy"}
    return stored.write(folder, stored.run([today, native], settings=settings), lines)


LOCKS = Path(os.environ["PYOPBENCH_LOCK_FOLDER"]) / "of-programs"
"""Where commands that are run as programs take turns: tests that run beside them need not wait for them."""
LOCKS.mkdir(exist_ok=True)
ENVIRONMENT = {**os.environ, PATH_VARIABLE: str(EXTRAS), "COLUMNS": "80", "PYOPBENCH_LOCK_FOLDER": str(LOCKS)}


def begin(command: Sequence[str], *arguments: object, until: str) -> subprocess.Popen[str]:
    """Begin or resume a run, and return when it has told a line of progress that begins so."""
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(until):
            return process
    raise AssertionError(f"ended with {process.wait()} before it told: {until}")


def groups(folder: Path) -> list[tuple[int, str]]:
    lines = stored.read_lines(folder)
    return [(line["launch"], line["group"]) for line in lines if line["kind"] == "group"]
