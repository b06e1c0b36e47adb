"""Plans and follows runs, alike for shell and Python, and shows them on a terminal, in a pipe or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TypeAlias, TypeVar

from rich.console import Console
from rich.markup import escape

from pyopbench.api.console import err, errors, say, say_error
from pyopbench.engine import environments, run, stored_run
from pyopbench.engine.run import Progress
from pyopbench.judge.judge import Judging
from pyopbench.model import formatting, machine
from pyopbench.model.case import UNLIMITED
from pyopbench.model.errors import WorkerLost
from pyopbench.model.formatting import printable
from pyopbench.model.side import Environment
from pyopbench.store.run import OpenRun
from pyopbench.store.types import EndedLine

LONGEST_CASE = 26
"""Most characters of the name of a case, so that the time left fits into 80 columns."""
REDRAWS_PER_SECOND = 2
"""The parent shares the cores with what is measured."""
SECONDS_BETWEEN_LINES = 30.0
"""The shortest time between two lines of progress in a pipe, unless the stage changes. A sweep of few cases takes a
fraction of a second; a line for each would hide the rest of a log."""


ShowProgress: TypeAlias = Callable[[Progress], None]


class Listener:
    """Shows on a console how a run goes: on a terminal a spinner with a line, in a pipe lines of progress.

    A line is printed every `SECONDS_BETWEEN_LINES`, and at each change of the stage or of the number of workers.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Show on a console; on none without one. `clock` returns seconds; tests pass their own."""
        self.console, self._clock = console or Console(quiet=True), clock

    @contextmanager
    def busy(self, what: str, *, is_long: bool = False) -> Iterator[None]:
        """Show a spinner, and what takes a while; in a pipe a line if it takes long."""
        if is_long and not self.console.is_terminal:
            self.say(what)
        with self.console.status(escape(what)):
            yield

    @contextmanager
    def sampling(self) -> Iterator[ShowProgress]:
        """Show how far a run is, what is measured, and how long it may still last.

        The function that is yielded is called with every group, before it is prepared or sampled.
        """
        console = self.console
        last_stage, last_change, last_line = "", ("", 0), 0.0
        with console.status("starting", refresh_per_second=REDRAWS_PER_SECOND) as status:

            def show(step: Progress) -> None:
                nonlocal last_stage, last_change, last_line
                left = "" if step.seconds_left is None else f"at most {formatting.duration(step.seconds_left)} left"
                status.update(escape(f"{describe(step)}  {left}"))
                change, stage = (step.doing, step.workers), stage_text(step)
                is_due = change != last_change or self._clock() - last_line >= SECONDS_BETWEEN_LINES
                if not console.is_terminal and is_due and stage != last_stage:
                    groups = f"{step.total:,} of {step.planned:,} groups"
                    console.print(", ".join(filter(None, (stage, groups, left))))
                    last_stage, last_change, last_line = stage, change, self._clock()

            yield show

    def say(self, text: str, *, whole: bool = False) -> None:
        """Print a sentence; with `whole` it contains a path or a command and is not wrapped."""
        if whole:
            self.console.print(escape(text), soft_wrap=True)
        else:
            say(escape(text), self.console)

    def warn(self, text: str) -> None:
        """Print a warning."""
        say(f"[yellow]warning:[/] {escape(text)}", self.console)


def listener_here(*, progress: bool = True) -> Listener:
    """Return a listener on stderr, or a silent one without `progress`."""
    return Listener(err if progress else None)


def describe(step: Progress) -> str:
    """Return where a run is, and the op, mode, dtype and size that are being measured, by all variants interleaved."""
    where = f"{stage_text(step)} {step.done + 1}/{step.total}"
    return f"{where} {formatting.shorten(printable(step.group).replace('/', ' '), LONGEST_CASE)}"


def stage_text(step: Progress) -> str:
    """Return what workers are doing."""
    workers = formatting.count(step.workers, "worker")
    return f"{workers} preparing" if step.doing == "preparing" else f"sweep {step.sweep + 1} ({workers})"


def announce(wanted: Iterable[Environment], listener: Listener) -> None:
    """Say which environments are going to be installed, and how much of the disk they take."""
    missing = environments.missing(wanted)
    if missing:
        listener.say(f"installing {environments.installing_text(missing)}")


def say_planned(begun: OpenRun, listener: Listener) -> None:
    """Say how many cases were planned, and where their results go."""
    planned = [measured.side for measured in begun.measured]
    cases, skips = sum(len(side.cases) for side in planned), sum(len(side.skips) for side in planned)
    on = f" on {formatting.count(len(planned), 'side')}" if begun.has_several_sides else ""
    skipped = f", {skips:,} not supported" if skips else ""
    listener.say(f"{cases:,} cases to try{on}{skipped}; results in {begun.folder}", whole=True)


Other = TypeVar("Other")


def show(events: Generator[run.Event | Other, None, None], listener: Listener) -> run.Event | Other:
    """Show events of measuring while they happen, and return the last."""
    last: run.Event | Other | None = None
    with closing(events), ExitStack() as shown:
        show_progress: ShowProgress | None = None
        for last in events:
            if isinstance(last, Progress):
                if show_progress is None:
                    shown.close()
                    show_progress = shown.enter_context(listener.sampling())
                show_progress(last)
            elif isinstance(last, run.Busy):
                shown.close()
                show_progress = None
                shown.enter_context(listener.busy(last.doing))
            elif isinstance(last, run.Analysed):
                listener.say(last.text)
    assert last is not None
    return last


def follow(begun: OpenRun, judging: Judging, listener: Listener) -> EndedLine | None:
    """Measure what is left of a run, and show how it goes; return how it ended, None if a worker did not start."""
    try:
        ended = show(run.measure(begun, judging), listener)
    except WorkerLost as lost:  # what was measured before is worth its report
        console = errors if listener.console is err else listener.console
        say_error(lost, console)
        console.print(f"  resume: {escape(stored_run.resume_command(begun, judging.requires))}", soft_wrap=True)
        return None
    assert isinstance(ended, EndedLine)
    if ended.by == "budget":
        settings = begun.plan.settings
        limit = f" of at most {settings.launches}" if settings.launches < UNLIMITED else ""
        budget = formatting.duration(settings.budget_seconds or 0)
        listener.say(f"ended after {ended.launch}{limit} launches: another would exceed the budget of {budget}")
    return ended


@contextmanager
def alone_on_this_machine() -> Iterator[None]:
    """Hold the lock of this machine, and say that it is waited for."""
    with machine.hold_machine(lambda: say("another process is measuring on this machine; waiting for it to end", err)):
        yield
