"""What the command line prints of a report, the bar of progress of a run, and the command `schema`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from pyopbench import text
from pyopbench.cli_output import err, out, print_failures, print_table, say
from pyopbench.measure import Ended
from pyopbench.pace import Progress as Step

if TYPE_CHECKING:
    from pyopbench.decide import Judgement

STYLES = {"warn": "yellow", "muted": "dim"}
"""How a paragraph of the report looks on a terminal, by its tone."""
LONGEST_CASE = 26
"""Characters of what is being measured; with it the bar and the time left fit a terminal of 80 columns."""


def schema() -> None:
    """Print the JSON Schema of decisions.json."""
    from pyopbench import published

    out.print(published.as_text(), end="", soft_wrap=True, markup=False)


def print_report(judgement: Judgement, folder: Path, ended: Ended | None) -> None:
    """Print the answers, what is to be known about them, what failed, and where the report is."""
    from pyopbench import stopping, terminal
    from pyopbench.sections._required import remarks
    from pyopbench.sections.decisions import of_noise
    from pyopbench.sections.holes import UNSUPPORTED
    from pyopbench.wording.limitations import limitation_text

    for limitation in judgement.run.cannot:
        say(f"[yellow]{escape(judgement.run.tool)}:[/] {escape(limitation_text(limitation))}")
    answers, *others = terminal.tables(judgement)
    print_table(answers.title, answers.columns, answers.rows)
    for note in terminal.notes(judgement):
        say(f"- {escape(note)}")
    noise = of_noise(judgement)
    if noise is not None:
        say(f"[{STYLES[noise.tone]}]- {escape(noise.text)}[/]")
    out.print()
    for table in others:
        print_table(table.title, table.columns, table.rows)
    for sentence in remarks(judgement):
        say(escape(sentence))
    for reason in terminal.reasons(judgement):
        say(f"- {escape(reason)}")
    print_failures([failure for failure in judgement.run.failures if failure.status != UNSUPPORTED])
    if ended is not None:
        most = int(judgement.run.settings["launches"])
        say(stopping.look(judgement, ended.launches, most).sentence)
    out.print(f"report: {escape(str(folder / 'report.html'))}", soft_wrap=True)


@contextmanager
def progress() -> Iterator[Any]:
    """Show how far a run is, what is being measured, and how long it may still last; a line a launch where piped."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        TextColumn("{task.fields[left]}"),
    )
    # Two redraws a second: the parent shares the cores with what is measured.
    with Progress(*columns, console=err, refresh_per_second=2, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("starting", total=1.0, left="")
        told: set[int] = set()

        def show(step: Step) -> None:
            share = (step.launch + step.done / step.total) / step.launches
            left = "" if step.seconds_left is None else f"{text.duration(step.seconds_left)} left"
            bar.update(task, description=escape(describe(step)), completed=share, left=left and f"≤ {left}")
            if not err.is_terminal and step.launch not in told:
                told.add(step.launch)
                groups = f"{step.total:,} of {step.planned:,} groups"
                err.print(
                    f"launch {step.launch + 1} of at most {step.launches}, {groups}{left and f', at most {left}'}"
                )

        yield show


def describe(step: Step) -> str:
    """Return where a run is, and the op, mode, dtype and size that are being measured, by all variants in turns."""
    where = f"launch {step.launch + 1}/{step.launches} {step.done + 1}/{step.total}"
    return f"{where} {text.shorten(step.group.replace('/', ' '), LONGEST_CASE)}"
