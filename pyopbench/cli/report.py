"""What the command line prints of a report."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.output import err, out, print_failures, print_table, print_warnings, say
from pyopbench.judge import judge
from pyopbench.judge.judge import Judgement
from pyopbench.judge.requirements import GPU
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, EXPECTED, Case, variant_in
from pyopbench.model.errors import EXIT_WRONG
from pyopbench.report.sections import Block, Bullets, Paragraph, Table
from pyopbench.report.sections.answer import MOST_FEW
from pyopbench.report.sections.places import places_of
from pyopbench.store.run import OpenRun, Source

if TYPE_CHECKING:
    from pyopbench.judge.decision import Decision, Reason
    from pyopbench.store.measured_run import Run
    from pyopbench.store.types import EndedLine

NODE = "node"
MOST_LAUNCHES_ASKED = 40
"""The next command asks for no more launches than this: at 12 s each they take eight minutes."""
MOST_EFFECT_ASKED = 0.25
"""The next command proposes no larger minimum effect: a quarter of the current time is always worth acting on."""

NOT_TRIED = "A requirement was not tried with every port, so these are not recommended. To try it:"

MOST_UNDECIDED = 5
"""Undecided answers of many whose reason is printed."""


def print_export(sources: Sequence[Source], options: judge.Judging) -> int:
    """Print latencies in the format of a dashboard, without writing a report, and return the exit code."""
    from pyopbench.report import bencher

    judgement = judge.judge(sources, options)
    text, noisy = bencher.as_text(judgement)
    print_warnings(judgement.run.warnings)
    if noisy:
        say(f"[yellow]warning:[/] {formatting.count(noisy, 'case')} left out: too noisy to give a latency", err)
    out.file.write(text)
    return 0


def write_report(
    sources: Sequence[Source],
    folder: Path,
    options: judge.Judging,
    *,
    as_json: bool = False,
    ended: EndedLine | None = None,
) -> int:
    """Judge results, write their report, print it, and return the exit code.

    `ended` says how the measuring ended that this report follows; None if nothing was measured now.
    """
    with err.status("judging"):
        from pyopbench.report.sections.pipeline import DECISION
        from pyopbench.report.write import report_results  # heavy, so that only what judges waits for it

        judgement = report_results(sources, folder, options)
    if as_json:
        print_warnings(judgement.run.warnings)
        name = "decisions.json" if judgement.pipeline is None else DECISION
        out.print_json((folder / name).read_bytes().decode())
    else:
        print_report(judgement, folder, ended, sources)
    return EXIT_WRONG if any(failure.status == "wrong" for failure in judgement.run.failures) else 0


def retry_commands(judgement: Judgement, sources: Sequence[Source]) -> list[str]:
    """Return the commands that try what was not tried of what is required; none for results of another tool."""
    runs = _own_runs(sources)
    words = ["--require", ",".join(judgement.requires), *(_run_options(runs[0]) if runs else [])]
    commands = {
        decision.op: shlex.join(
            [
                *("pyopbench", "run", *judgement.run.own.get(decision.op, (decision.op,)), *words),
                *(["--axis", "device=gpu"] if any(one.requirement == GPU for one in decision.unknown) else []),
            ]
        )
        for decision in judgement.decisions
        if decision.unknown and runs
    }
    return list(commands.values())


def _own_runs(sources: Sequence[Source]) -> list[OpenRun]:
    """Return the sources as runs of pyopbench's own; none where one is of another tool."""
    runs = [source for source in sources if isinstance(source, OpenRun)]
    return runs if len(runs) == len(sources) else []


def next_command(decision: Decision, judgement: Judgement, sources: Sequence[Source]) -> str:
    """Return the one command that takes an undecided answer further; empty for results of another tool."""
    reason, run, own = decision.reason, judgement.run, _own_runs(sources)
    if not own:
        return ""
    op = run.own.get(decision.op, (decision.op,))
    variant = variant_in(decision.baseline)
    measuring = ["pyopbench", "run", *op, *_run_options(own[0])]
    again = [*measuring, *_case_options(decision, run)]
    report = ["pyopbench", "report", *(str(one.folder) for one in own)]
    words: Sequence[str] = again
    match reason.kind:
        case "still_open":
            words = _settling(reason, again, report, run)
        case "none_meets_requirements" | "dtype_not_called":
            words = report  # without the requirements that no variant meets
        case "no_candidate" | "baseline_failed" | "failed_beyond":
            tf = own[0].measured[0].side.tf
            words = ["pyopbench", "verify", *op, *(["--tf", tf] if tf else [])]
        case "baseline_not_measured":
            words = [*measuring, "--variant", variant, "--baseline", variant]
        case "baseline_too_noisy" if decision.mode == NODE:
            # A call is timed itself, and is no difference that noise can swallow.
            words = [*measuring, "--axis", "mode=call", "--baseline", variant]
        case "baseline_too_noisy":
            words = [*again, "--launches", str(2 * reason.launches)]
        case "beyond_measured":
            measured = {size for one in decision.ranges for size in (one.low, one.high)}
            every = ",".join(map(str, sorted({*reason.sizes, *measured})))
            words = [*measuring, "--baseline", variant, "--axis", f"size={every}"]
            # Inputs that were given, and an op of one size, exist at no other: the answer is without the mix.
            if "--input" in op or len(run.catalogue.op(decision.op).sizes) == 1:
                words = report
    return shlex.join(words)


def _settling(reason: Reason, again: list[str], report: list[str], run: Run) -> list[str]:
    """Return what settles a choice: launches as long as anybody waits for them, else a larger difference that matters.

    A difference below what all candidates can save is one that none of them makes.
    """
    launches = 2 * reason.launches
    if reason.enough is not None and reason.enough <= MOST_LAUNCHES_ASKED:
        launches = max(reason.enough, reason.launches + 1)
    elif reason.most_saved is not None and reason.most_saved < MOST_EFFECT_ASKED:
        return [*report, "--min-effect", f"{math.floor(reason.most_saved * 100) + 1}%"]
    budget = run.settings.budget_seconds
    if budget is None or reason.launches < 2:
        return [*again, "--launches", str(launches)]
    minutes = math.ceil(budget * launches / reason.launches / 60)
    return [*again, "--launches", str(launches), "--budget", f"{minutes}m"]


def _run_options(run: OpenRun) -> list[str]:
    """Return the options `--quick`, `--tf`, `--with` and `--python` of a run."""
    asked = run.measured[0].side.asked
    given = (("--tf", asked.tf), ("--with", ",".join(asked.packages)), ("--python", asked.python))
    quick = ["--quick"] if run.plan.settings.quick else []
    return [*quick, *(word for option, value in given if value for word in (option, value))]


def _case_options(decision: Decision, run: Run) -> list[str]:
    """Return the options that select the cases of a decision, and its baseline."""
    cases = [case for case in map(Case.from_id, run.cases) if case.op == decision.op]
    sizes = sorted({case.size for case in cases if case.threads is None})
    variant = variant_in(decision.baseline)
    threads = sorted({case.threads for case in cases if case.threads and case.mode == decision.mode})
    modes = [decision.mode] if not threads else sorted({case.mode for case in cases if case.threads is None})
    return [
        *(["--axis", f"dtype={decision.dtype}"] if decision.dtype != "float32" and decision.op not in run.own else []),
        *(["--axis", f"mode={','.join(modes)}"] if modes != [NODE] else []),
        *(["--axis", f"threads={','.join(map(str, threads))}"] if threads else []),
        *(["--axis", f"device={decision.placement}"] if decision.placement != "cpu" else []),
        *(["--baseline", variant] if variant != BASELINE else []),
        *(["--axis", f"size={','.join(map(str, sizes))}"] if sizes else []),
    ]


def print_blocks(blocks: Sequence[Block]) -> None:
    """Print blocks for a terminal."""
    for block in blocks:
        if isinstance(block, Table):
            print_table(block.caption, block.columns, block.rows)
        elif isinstance(block, Bullets):
            for text in block.items:
                say(escape(text), mark="- ")
        elif isinstance(block, Paragraph):
            say(f"[yellow]{escape(block.text)}[/]" if block.tone == "warn" else escape(block.text))


def print_undecided(judgement: Judgement, sources: Sequence[Source]) -> None:
    """Print why answers are undecided, with the command that takes them further."""
    places = places_of(judgement)
    undecided = [one for one in judgement.decisions if one.action == "undecided"]
    most = MOST_UNDECIDED if len(judgement.decisions) > MOST_FEW else len(undecided)
    following: dict[str, list[str]] = {}
    for one in undecided[:most]:
        why = f"{' '.join((one.op, one.use, *places.of(one)))} is undecided: {one.reason.brief or one.reason.sentence}"
        following.setdefault(next_command(one, judgement, sources), []).append(why)
    for command, reasons in following.items():
        for why in reasons:
            say(escape(why), mark="- ")
        if command:
            out.print(f"  next: {escape(command)}", soft_wrap=True)
    if len(undecided) > most:
        say(f"and {formatting.count(len(undecided) - most, 'more undecided answer')}, in report.html", mark="- ")


def print_report(judgement: Judgement, folder: Path, ended: EndedLine | None, sources: Sequence[Source]) -> None:
    """Print the answers, what to know about them, what failed, how the measuring ended, and where the report is."""
    from pyopbench.judge.interim_analysis import progress_text
    from pyopbench.report.sections import sections

    for section in sections():
        if section.in_terminal:
            print_blocks(section.brief(judgement))
    print_undecided(judgement, sources)
    if retry := retry_commands(judgement, sources):
        say(NOT_TRIED)
        for command in retry:
            out.print(f"  {escape(command)}", soft_wrap=True)
    print_failures([one for one in judgement.run.failures if one.status not in EXPECTED])
    if ended is not None and judgement.pipeline is None:
        say(progress_text(judgement.verdicts, ended.launch))
        share = formatting.percent(round(ended.sampling_seconds / ended.seconds if ended.seconds else 0.0, 2))
        say(f"{share} of {formatting.duration(ended.seconds)} of measuring was sampling", err)
    out.print(f"report: {escape(str(folder / 'report.html'))}", soft_wrap=True)
