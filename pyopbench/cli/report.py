"""What the command line prints of a report, and the command `schema`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pyopbench.cli.output import err, out, print_failures, print_table, say
from pyopbench.judge import judge
from pyopbench.judge.requirements import PROBES
from pyopbench.report.wording.measuring import sampling_text
from pyopbench.results import probes as probes_file
from pyopbench.results.open_file import REPORT, read_bytes
from pyopbench.run import start
from pyopbench.run.schedule import Ended

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement

EXIT_WRONG = 1

NOT_TRIED = "What is required was not tried with every port, so these are not recommended. To try it, and report again:"

EXPECTED = ("unsupported", "elided")
"""Failures that are no fault of a variant: they are counted, and not shown one by one."""


class Document(str, Enum):
    """What has a JSON Schema."""

    DECISIONS = "decisions"
    RUN = "run"
    SAMPLES = "samples"


def schema(
    of: Annotated[
        Document, typer.Option(metavar="NAME", help="decisions, run or samples (a line of samples.jsonl).")
    ] = Document.DECISIONS,
) -> None:
    """Print the JSON Schema of decisions.json or of stored results."""
    from pyopbench.report import decisions_json
    from pyopbench.results import schema as results

    printed = decisions_json.as_text() if of is Document.DECISIONS else results.as_text(of.value)
    out.print(printed, end="", soft_wrap=True, markup=False)


def write_report(
    folders: list[Path], folder: Path, options: judge.Judging, *, as_json: bool = False, ended: Ended | None = None
) -> int:
    """Judge stored results, write their report, print it, and return the exit code.

    Args:
        folders: of runs, or one file of another tool.
        folder: where the report goes.
        options: how to judge.
        as_json: print decisions.json in place of tables.
        ended: how the measuring ended that this report follows; None where nothing was measured now.
    """
    with err.status("judging"):
        from pyopbench.report.wording.warnings import warning_text
        from pyopbench.report.write import report_results  # heavy, so that only what judges waits for it

        judgement = report_results(folders, folder, options)
    for warning in judgement.run.warnings:
        say(f"[yellow]warning:[/] {escape(warning_text(warning))}", err)
    if as_json:
        out.print_json(read_bytes(folder / "decisions.json", REPORT).decode())
    else:
        print_report(judgement, folder, ended, retry_commands(judgement, folders))
    return EXIT_WRONG if any(failure.status == "wrong" for failure in judgement.run.failures) else 0


def retry_commands(judgement: Judgement, folders: list[Path]) -> list[str]:
    """Return the commands that try what was not tried of what is required, and report again; none if all was.

    Args:
        judgement: of stored results.
        folders: that they are in; results of other tools have nothing to try.
    """
    wanted = [(one.op, two) for one in judgement.decisions for two in one.unknown if two.requirement in PROBES]
    if not wanted or not start.are_own(folders):
        return []
    ops = dict.fromkeys(op for op, _ in wanted)
    labels = dict.fromkeys(label for _, one in wanted for label in one.labels)
    probes = dict.fromkeys(PROBES[one.requirement] for _, one in wanted)
    named = [word for op in ops for word in ("--op", *judgement.run.own.get(op, (op,)))]
    tried = ["--probe", ",".join(probes), "--variant", ",".join(labels)]
    found = []
    for folder in folders:
        tf = start.tf_of(folder)
        on = [] if tf is None else ["--tf", tf]
        found.append(shlex.join(["pyopbench", "probe", *named, *tried, *on, "--out", str(folder / probes_file.FILE)]))
    required = ["--require", ",".join(judgement.requires)]
    return [*found, shlex.join(["pyopbench", "report", *map(str, folders), *required])]


def print_report(judgement: Judgement, folder: Path, ended: Ended | None, retry: Sequence[str] = ()) -> None:
    """Print the answers, what is to be known about them, what failed, and where the report is.

    Args:
        judgement: what was found.
        folder: of the report.
        ended: how the measuring ended; None where nothing was measured now.
        retry: commands that find out what is required and not known.
    """
    from pyopbench.judge import stopping
    from pyopbench.report import terminal
    from pyopbench.report.sections._required import remarks
    from pyopbench.report.wording.limitations import limitation_text
    from pyopbench.report.wording.stopping import progress_text

    for limitation in judgement.run.cannot:
        say(f"[yellow]{escape(judgement.run.tool)}:[/] {escape(limitation_text(limitation))}")
    for table in terminal.tables(judgement):
        print_table(table.title, table.columns, table.rows)
    for note in (*terminal.notes(judgement), *terminal.commands(judgement), *remarks(judgement)):
        say(escape(note), mark="- ")
    if retry:
        say(NOT_TRIED)
        for command in retry:
            out.print(f"  {escape(command)}", soft_wrap=True)
    print_failures([one for one in judgement.run.failures if one.status not in EXPECTED])
    if ended is not None:
        most = int(judgement.run.settings["launches"])
        say(progress_text(stopping.look(judgement, ended.launches, most)))
        say(sampling_text(ended.sampling_seconds, ended.seconds), err)
    out.print(f"report: {escape(str(folder / 'report.html'))}", soft_wrap=True)
