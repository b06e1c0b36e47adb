"""What a listener shows of a run on a terminal and in a pipe, and for whom a command waits."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pyopbench.api import listeners
from pyopbench.api.listeners import Listener
from pyopbench.engine.run import Progress
from pyopbench.model import machine
from pyopbench.model.errors import BadInput

COLUMNS = 80
GROUP = "log_huber_elementwise/gradient/call/float32/1000000/cpu"
STEP = Progress("sampling", 3, sweep=11, group=GROUP, done=107, total=168, planned=168, seconds_left=7_500.0)
ERROR = BadInput("what", received="this", legal="that", hint="do")


def console_of(*, terminal: bool) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=COLUMNS, force_terminal=terminal, color_system=None), stream


def test_the_case_under_measurement_and_the_time_left_fit_the_terminal() -> None:
    console, stream = console_of(terminal=True)
    with Listener(console).sampling() as show:
        show(STEP)
    lines = [re.sub("\x1b\\[[0-9?;]*[a-zA-Z]", "", line) for line in re.split("[\r\n]", stream.getvalue())]
    shown = [line for line in lines if "sweep" in line.split()]
    text = "sweep 12 (3 workers) 108/168 log_huber_elementwise…  at most 2 h 5 min left"
    assert shown[-1].strip().endswith(text)
    assert max(map(len, shown)) <= COLUMNS


def test_where_piped_sweeps_within_seconds_share_a_line() -> None:
    console, stream = console_of(terminal=False)
    seconds = 0.0
    with Listener(console, lambda: seconds).sampling() as show:
        for sweep in range(100):
            show(replace(STEP, sweep=sweep))
            seconds += listeners.SECONDS_BETWEEN_LINES / 10
        show(replace(STEP, sweep=100, workers=2))
        show(replace(STEP, doing="preparing"))
    shown = [line.split(",")[0] for line in stream.getvalue().splitlines()]
    sweeps = [f"sweep {sweep + 1} (3 workers)" for sweep in range(0, 100, 10)]
    assert shown == [*sweeps, "sweep 101 (2 workers)", "3 workers preparing"]


def test_where_piped_later_batches_are_shown_too() -> None:
    console, stream = console_of(terminal=False)
    seconds = 0.0
    with Listener(console, lambda: seconds).sampling() as show:
        for _ in range(2):
            show(replace(STEP, doing="preparing", sweep=0))
            show(replace(STEP, sweep=0))
            seconds += 100.0
    shown = [line.split(",")[0] for line in stream.getvalue().splitlines()]
    assert shown == ["3 workers preparing", "sweep 1 (3 workers)"] * 2


def test_who_waits_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    @contextmanager
    def held_by_another(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
        waiting()
        yield

    monkeypatch.setattr(machine, "hold_lock", held_by_another)
    with listeners.alone_on_this_machine():
        pass
    assert capsys.readouterr().err == "another process is measuring on this machine; waiting for it to end\n"
