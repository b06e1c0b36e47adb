"""What the command line prints of a report, and the command `schema`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pyopbench.cli.output import err, out, print_failures, print_table, say
from pyopbench.core.label import Label
from pyopbench.judge import judge
from pyopbench.judge.bars import Unknown
from pyopbench.judge.requirements import GPU, PROBES
from pyopbench.report.wording.measuring import sampling_text
from pyopbench.results import counted_copies
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
    wanted = [(one.op, two) for one in judgement.decisions for two in one.unknown]
    probed = [(op, one) for op, one in wanted if one.requirement in PROBES]
    # A file of counted copies is written as a whole, so that one which is there would lose what it has.
    counted = [(op, one) for op, one in wanted if one.requirement == GPU and judgement.run.counted_copies is None]
    if not (probed or counted) or not start.are_own(folders):
        return []
    found = []
    for folder in folders:
        tf = start.tf_of(folder)
        on = [] if tf is None else ["--tf", tf]
        found += [[*one, *on, "--out", str(folder / probes_file.FILE)] for one in _probing(judgement, probed)]
        found += [[*one, *on, "--out", str(folder / counted_copies.FILE)] for one in _counting(judgement, counted)]
    again = ["pyopbench", "report", *map(str, folders), "--require", ",".join(judgement.requires)]
    return [shlex.join(one) for one in (*found, again)]


Wanted = Sequence[tuple[str, Unknown]]


def _probing(judgement: Judgement, wanted: Wanted) -> Iterator[list[str]]:
    """Yield the commands that probe ops, without where to: an own op with inputs or a seed has one of its own."""
    for ops in _together(judgement, wanted):
        named = [word for op in ops for word in ("--op", *judgement.run.own.get(op, (op,)))]
        here = [one for op, one in wanted if op in ops]
        probes = ",".join(dict.fromkeys(PROBES[one.requirement] for one in here))
        labels = ",".join(dict.fromkeys(label for one in here for label in one.labels))
        yield ["pyopbench", "probe", *named, "--probe", probes, "--variant", labels]


def _counting(judgement: Judgement, wanted: Wanted) -> Iterator[list[str]]:
    """Yield the command that counts the copies of ops, without where to: one, because it writes a file as a whole.

    Copies are those of a variant, whatever the op; but some variants are tried with own ops alone.
    """
    own = [(op, one) for op, one in wanted if op in judgement.run.own]
    for several in _together(judgement, own or wanted)[:1]:
        words = [word for op in several for word in judgement.run.own.get(op, (op,))]
        labels = [Label.parse(label) for op, one in wanted if op in several for label in one.labels]
        variants = ",".join(dict.fromkeys(label.variant for label in labels))
        yield ["pyopbench", "placement", *words, "--variant", variants]


def _together(judgement: Judgement, wanted: Wanted) -> list[list[str]]:
    """Return ops that one command can name together; one that is named with inputs or a seed is alone."""
    ops = list(dict.fromkeys(op for op, _ in wanted))
    alone = [[op] for op in ops if len(judgement.run.own.get(op, ())) > 1]
    others = [op for op in ops if [op] not in alone]
    return [*([others] if others else []), *alone]


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
