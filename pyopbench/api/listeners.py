"""Who listens to a run, a terminal, a pipe or nobody, and for whom a command waits before it measures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from pyopbench.api.console import err, say, say_error
from pyopbench.engine import host_lock
from pyopbench.engine.budget import Progress as Step
from pyopbench.engine.budget import Tell
from pyopbench.engine.measure import Listener
from pyopbench.engine.messages import stage_text, workers_text
from pyopbench.model import formatting
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.printable import printable

LONGEST_CASE = 26
"""Characters of what is being measured; with it the bar and the time left fit a terminal of 80 columns."""
REDRAWS_PER_SECOND = 2
"""The parent shares the cores with what is measured."""
SECONDS_BETWEEN_LINES = 30.0
"""The shortest time between two lines of progress in a pipe, unless the stage changes. A sweep of few cases takes a
fraction of a second; a line for each would hide the rest of a log."""


class ConsoleListener(Listener):
    """Shows on a console how a run goes: on a terminal a bar and a spinner, in a pipe lines of progress.

    A line is printed every `SECONDS_BETWEEN_LINES`, and at each change of the stage or of the number of workers.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        """Show on a console.

        Args:
            console: where to print.
            clock: returns seconds; tests pass their own.
        """
        self._console, self._clock = console, clock

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show a spinner and what takes a while."""
        with self._console.status(escape(what)) as status:
            yield lambda text: status.update(escape(text))

    @contextmanager
    def sampling(self) -> Iterator[Tell]:
        """Show how far a run is, what is measured, and how long it may still last."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=8),
            TextColumn("{task.fields[left]}"),
        )
        console = self._console
        is_piped = not console.is_terminal
        with Progress(
            *columns, console=console, refresh_per_second=REDRAWS_PER_SECOND, transient=True, disable=is_piped
        ) as bar:
            task = bar.add_task("starting", total=1.0, left="")
            printed: set[str] = set()
            last_change: tuple[str, int] | None = None
            last_line = 0.0

            def show(step: Step) -> None:
                nonlocal last_change, last_line
                bar.update(task, description=escape(describe(step)), completed=step.done / step.total, left=_left(step))
                change, stage = (step.doing, step.workers), stage_text(step)
                is_due = change != last_change or self._clock() - last_line >= SECONDS_BETWEEN_LINES
                if is_piped and is_due and stage not in printed:
                    fewer = workers_text(step)
                    console.print(_sweep_text(step, stage, "" if fewer in printed else fewer))
                    printed.update((stage, fewer))
                    last_change, last_line = change, self._clock()

            yield show

    def say(self, text: str, *, whole: bool = False) -> None:
        """Print a sentence."""
        if whole:
            self._console.print(escape(text), soft_wrap=True)
        else:
            say(escape(text), self._console)

    def warn(self, text: str) -> None:
        """Print a warning."""
        say(f"[yellow]warning:[/] {escape(text)}", self._console)

    def problem(self, error: PyopbenchError, what: str = "") -> None:
        """Print an error, or where there is `what` came of it, a warning."""
        say_error(error, f"[yellow]warning:[/] {escape(what)}:" if what else "[bold red]error:[/]")


def listener_here(*, progress: bool) -> Listener:
    """Return who listens: stderr, or nobody without `progress`."""
    return ConsoleListener(err) if progress else Listener()


def describe(step: Step) -> str:
    """Return where a run is, and the op, mode, dtype and size that are being measured, by all variants interleaved."""
    where = f"{stage_text(step)} {step.done + 1}/{step.total}"
    # A bar prints its texts itself, and a run that is resumed may name anything.
    return f"{where} {formatting.shorten(printable(step.group).replace('/', ' '), LONGEST_CASE)}"


def _left(step: Step) -> str:
    return "" if step.seconds_left is None else f"at most {formatting.duration(step.seconds_left)} left"


def _sweep_text(step: Step, stage: str, fewer: str) -> str:
    left = _left(step)
    return f"{stage}, {step.total:,} of {step.planned:,} groups{left and f', {left}'}{fewer and f'; {fewer}'}"


@contextmanager
def alone_on_this_machine() -> Iterator[None]:
    """Hold the lock of this machine, and say for whom it is waited."""

    def tell_of_waiting(process: int | None) -> None:
        who = "another process" if process is None else f"process {process}"
        say(f"{who} is measuring on this machine; waiting for it to end", err)

    with host_lock.held(tell_of_waiting):
        yield
