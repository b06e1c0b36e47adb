"""`pyopbench history`: series over commits, versions or dates and the changes in them, as a page, Markdown and JSON."""

from __future__ import annotations

import gc
import itertools
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pyopbench.cli.options import USUAL_EFFECT, AllowChanged, AsJson, Quiet, TrustFolder, out_option
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.core import formatting
from pyopbench.core.errors import BadInput
from pyopbench.core.ownership import require_own
from pyopbench.core.parse import parse_duration, parse_share
from pyopbench.core.write_file import write_atomically
from pyopbench.results.integrity import sealed
from pyopbench.results.open_file import REPORT, read_bytes

if TYPE_CHECKING:
    from pyopbench.compare.history import History, Options
    from pyopbench.compare.reruns import Confirmation, Rerun

EXIT_SLOWER = 1
USUAL_FOLDER = Path("results") / "history"
RERUNS = "reruns"
"""The folder, in that of the history, for what is measured again; what is there already is not measured twice."""
ALLOCATIONS_BETWEEN_COLLECTIONS = 200_000
"""Many times Python's own number: what a history reads is kept until the end, so that looking through it for garbage
again and again finds nothing."""
MOST_ROWS = 30
RERUN_AXES = ("tf", "commit")
"""Along which axes this pyopbench can measure two moments interleaved."""


class By(str, Enum):
    """What series are over."""

    COMMIT = "commit"
    TF = "tf"
    DATE = "date"


Results = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS", help="Folders of runs or of asv results, and files of pytest-benchmark."),
]
Confirm = Annotated[
    bool,
    typer.Option("--confirm", help="Measure both sides of each suspected change again, interleaved."),
]
AlarmRate = Annotated[
    str,
    typer.Option(
        "--alarm-rate",
        metavar="SHARE",
        help="Share of unchanged series that may raise a false alarm: 5%, 1% or 0.1%.",
    ),
]


def history(
    results: Results,
    by: Annotated[
        By | None, typer.Option("--by", metavar="NAME", help="commit, tf or date. Default: what the results differ in.")
    ] = None,
    min_effect: Annotated[
        str, typer.Option("--min-effect", metavar="SHARE", help="Smallest change to list, e.g. 3% or 0.03.")
    ] = USUAL_EFFECT,
    run_spread: Annotated[
        str,
        typer.Option(
            "--run-spread",
            metavar="SHARE",
            help="Assumed difference between separate runs of the same code, if they are too few to show it.",
        ),
    ] = "3%",
    alarm_rate: AlarmRate = "1%",
    confirm: Confirm = False,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time for each re-run of --confirm, e.g. 5m.")
    ] = None,
    out_dir: Annotated[Path, out_option("DIR", "Folder for history.html, .md and .json.")] = USUAL_FOLDER,
    trust_folder: TrustFolder = False,
    allow_changed: AllowChanged = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Plot results over commits, TensorFlow versions or dates, and find where they changed."""
    options = _options(by, min_effect, run_spread, alarm_rate)
    seconds = None if budget is None else parse_duration(budget)
    require_own(out_dir)
    with _few_collections():
        _read_and_report(results, out_dir, options, confirm=confirm, seconds=seconds, as_json=as_json)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python's garbage collector run less often."""
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _read_and_report(
    results: list[Path], out_dir: Path, options: Options, *, confirm: bool, seconds: float | None, as_json: bool
) -> None:
    # pandas and SciPy cost a second, which a mistake in the options need not pay.
    from pyopbench.compare.history import read_history
    from pyopbench.report.wording.warnings import warning_text

    with err.status("reading"):
        known = list(_confirmations(out_dir, options))
        found = read_history(results, options, known)
    for warning in found.warnings[:MOST_ROWS]:
        say(f"[yellow]warning:[/] {escape(warning_text(warning))}", err)
    if len(found.warnings) > MOST_ROWS:
        more = formatting.count(len(found.warnings) - MOST_ROWS, "more warning")
        say(f"and {more}, all in history.json", err)
    before = set(found.with_status("confirmed"))
    if confirm and _measure_again(found, out_dir, seconds):
        found = read_history(results, options, list(_confirmations(out_dir, options)))
    _write(found, out_dir)
    if as_json:
        out.print_json(read_bytes(out_dir / "history.json", REPORT).decode())
    else:
        _print(found, out_dir)
    new = set(found.with_status("confirmed")) - before
    raise typer.Exit(EXIT_SLOWER if any(one.direction == "slower" for one in new) else 0)


def _options(by: By | None, min_effect: str, run_spread: str, alarm_rate: str) -> Options:
    from pyopbench.compare.history import Options
    from pyopbench.stats.change_thresholds import ALARM_RATES

    rate = parse_share("--alarm-rate", alarm_rate)
    if rate not in ALARM_RATES:
        raise BadInput(
            "this rate of false alarms is not supported",
            received=f"--alarm-rate {alarm_rate}",
            legal=formatting.listing([formatting.percent(one) for one in ALARM_RATES], "or"),
            next_step="for example --alarm-rate 1%",
        )
    effect, spread = parse_share("--min-effect", min_effect), parse_share("--run-spread", run_spread)
    return Options(None if by is None else by.value, effect, spread, rate)


def _confirmations(folder: Path, options: Options) -> Iterator[Confirmation]:
    """Yield what was measured again before, in the order of its folders' names."""
    from pyopbench.compare.reruns import read_confirmation

    for path in sorted((folder / RERUNS).glob("*")):
        found = read_confirmation(path, options.minimum_effect)
        if found is not None:
            yield found


def _measure_again(found: History, folder: Path, seconds: float | None) -> int:
    """Measure both sides of each suspicion, and go on where that did not tell; return of how many pairs of moments."""
    from pyopbench.report.history import reruns_of
    from pyopbench.report.wording.history import rerun_text

    wanted = reruns_of(found)
    able = [one for one in wanted if one.tool == "pyopbench" and one.axis in RERUN_AXES]
    for one in wanted:
        if one not in able:
            say(f"[yellow]not measured again:[/] {escape(rerun_text(one))}", err)
    for number, one in enumerate(able, 1):
        say(f"re-run {number} of {len(able)}: {escape(rerun_text(one))}", err)
        _rerun(one, folder / RERUNS, seconds)
    unsettled = [one for one in reruns_of(found, "open") if one.tool == "pyopbench"]
    for one in unsettled:
        say(f"going on with what is not settled: {escape(rerun_text(one))}", err)
        _rerun(one, folder / RERUNS, seconds)
    return len(able) + len(unsettled)


def _rerun(rerun: Rerun, folder: Path, seconds: float | None) -> None:
    """Measure two moments again, or go on with that where it was interrupted or has not settled a case."""
    from pyopbench.results import store, versions

    for number in itertools.count(1):
        place = folder / (rerun.folder if number == 1 else f"{rerun.folder}-{number}")
        if not versions.is_here(place):
            break
        planned = store.read_run(versions.read(place)[0].folder)["cases"]
        if set(rerun.cases) <= set(planned):
            _run(("pyopbench", "resume", str(place), *rerun.own_words, "--yes"))
            return
    if place.exists():
        shutil.rmtree(place)  # killed while it was planned
    budget = () if seconds is None else ("--budget", f"{seconds:g}s")
    _run((*rerun.command, *budget, "--out", str(place)))


def _run(words: Sequence[str]) -> None:
    """Measure two moments in a process of its own, whose report nobody asked for; what it says goes to stderr."""
    code = subprocess.run((sys.executable, "-m", *words), stdout=sys.stderr, check=False).returncode
    if code not in (0, EXIT_SLOWER):
        say(f"[yellow]warning:[/] the re-run ended with exit code {code}; its changes stay suspected", err)


def _write(found: History, folder: Path) -> None:
    from pyopbench.report.history import as_json, markdown
    from pyopbench.report.history_page import html

    folder.mkdir(parents=True, exist_ok=True)
    contents = {"html": html(found).encode(), "md": markdown(found).encode(), "json": sealed(as_json(found))}
    for name, content in contents.items():
        write_atomically(folder / f"history.{name}", content)


def _print(found: History, folder: Path) -> None:
    from pyopbench.report.history import reruns_of, short_rows
    from pyopbench.report.wording.history import CHANGES_CAPTION, alarm_text, remark_text, rerun_text, summary, title

    out.print(f"[bold]{escape(title(found))}[/]\n")
    if found.changes:
        shared, columns, rows = short_rows(found, MOST_ROWS)
        print_table(f"{CHANGES_CAPTION}{shared and f'; all are {shared}'}", columns, rows, folds=True)
    if len(found.changes) > MOST_ROWS:
        out.print(f"and {len(found.changes) - MOST_ROWS:,} more, in the files\n")
    say(escape(summary(found)))
    if found.changes:
        say(escape(alarm_text(found)))
    for remark in found.remarks:
        say(escape(remark_text(remark)), mark="- ")
    _print_commands([rerun_text(one) for one in reruns_of(found)])
    out.print(f"page: {escape(str(folder / 'history.html'))}", soft_wrap=True)


def _print_commands(commands: Sequence[str]) -> None:
    if commands:
        out.print("Commands that confirm or refute the suspected changes (--confirm runs them):")
        for command in commands[:MOST_ROWS]:
            out.print(f"  {escape(command)}", soft_wrap=True)
