"""`pyopbench history`: series over commits, versions or dates and the changes in them, as a page, Markdown and JSON."""

from __future__ import annotations

import itertools
import math
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.model.ownership import require_own
from pyopbench.model.write_file import write_atomically
from pyopbench.store.integrity import sealed
from pyopbench.store.open_file import REPORT, read_bytes

if TYPE_CHECKING:
    from pyopbench.judge.comparison.changes import Bisected, Confirmation, Rerun
    from pyopbench.judge.comparison.history import History, Options

EXIT_SLOWER = 1
RERUNS = "reruns"
"""The folder, in that of the history, for what is measured again; what is there already is not measured twice."""
MOST_ROWS = 30
RERUN_AXES = ("tf", "commit")
"""Along which axes this pyopbench can measure two moments interleaved."""


def history(
    *,
    results: Sequence[Path],
    by: Literal["commit", "tf", "date"] | None,
    minimum_effect: float,
    run_spread: float,
    alarm_rate: float,
    confirm: bool,
    bisect: bool,
    budget_seconds: float | None,
    out_path: Path,
    as_json: bool,
) -> int:
    """Plot results over commits, TensorFlow versions or dates, and find where they changed."""
    options = _options(by, minimum_effect, run_spread, alarm_rate)
    require_own(out_path)
    # pandas and SciPy cost a second, which a mistake in the options need not pay.
    from pyopbench.judge.comparison.history import read_history

    with err.status("reading"):
        known = list(_confirmations(out_path, options))
        found = read_history(results, options, known)
    for warning in found.warnings[:MOST_ROWS]:
        say(f"[yellow]warning:[/] {escape(warning.text())}", err)
    if len(found.warnings) > MOST_ROWS:
        more = formatting.count(len(found.warnings) - MOST_ROWS, "more warning")
        say(f"and {more}, all in history.json", err)
    before = set(found.with_status("confirmed"))
    if (confirm or bisect) and _measure_again(found, out_path, budget_seconds):
        found = read_history(results, options, list(_confirmations(out_path, options)))
    if bisect:
        _write(found, out_path)  # keeps what was confirmed even if this is not the repository
        found = replace(found, bisected=tuple(_bisected(found, out_path, budget_seconds)))
    _write(found, out_path)
    if as_json:
        out.print_json(read_bytes(out_path / "history.json", REPORT).decode())
    else:
        _print(found, out_path)
    new = set(found.with_status("confirmed")) - before
    return EXIT_SLOWER if any(one.direction == "slower" for one in new) else 0


def _options(by: Literal["commit", "tf", "date"] | None, effect: float, spread: float, rate: float) -> Options:
    from pyopbench.judge.comparison.history import Options
    from pyopbench.stats.change_points import ALARM_RATES

    if rate not in ALARM_RATES:
        raise BadInput(
            "this rate of false alarms is not supported",
            received=f"--alarm-rate {formatting.percent(rate)}",
            legal=formatting.listing([formatting.percent(one) for one in ALARM_RATES], "or"),
            hint="for example --alarm-rate 1%",
        )
    return Options(by, effect, spread, rate)


def _confirmations(folder: Path, options: Options) -> Iterator[Confirmation]:
    """Yield what was measured again before, in the order of its folders' names."""
    from pyopbench.judge.comparison.changes import read_confirmation

    for path in sorted((folder / RERUNS).glob("*")):
        found = read_confirmation(path, options.minimum_effect)
        if found is not None:
            yield found


def _measure_again(found: History, folder: Path, seconds: float | None) -> int:
    """Measure both sides of each suspicion, and go on where that did not tell; return of how many pairs of moments."""
    from pyopbench.report.history import reruns_of

    wanted = reruns_of(found)
    able = [one for one in wanted if one.tool == "pyopbench" and one.axis in RERUN_AXES]
    for one in wanted:
        if one not in able:
            say(f"[yellow]not measured again:[/] {escape(one.text())}", err)
    for number, one in enumerate(able, 1):
        say(f"re-run {number} of {len(able)}: {escape(one.text())}", err)
        _rerun(one, folder / RERUNS, seconds)
    unsettled = [one for one in reruns_of(found, "open") if one.tool == "pyopbench"]
    for one in unsettled:
        say(f"still unsettled, so measured again: {escape(one.text())}", err)
        _rerun(one, folder / RERUNS, seconds)
    return len(able) + len(unsettled)


def _bisected(found: History, folder: Path, seconds: float | None) -> Iterator[Bisected]:
    """Bisect each confirmed change between commits, and yield the commits that may have caused it.

    Each commit is measured interleaved with the one before the change. It counts as changed if its difference is more
    than half of the step: that limit is equally far from both ends, so few launches are needed.
    """
    from pyopbench.engine import revisions
    from pyopbench.judge.comparison.changes import Bisected

    for change in found.with_status("confirmed"):
        rerun = change.rerun
        if rerun is None or change.again is None or rerun.axis != "commit" or rerun.tool != "pyopbench":
            continue
        case = found.traced[change.number].series.case
        repository = revisions.repository_at(rerun.ops)
        commits = revisions.between(repository, rerun.before, rerun.after)
        half = math.expm1(abs(math.log(change.again.ratio)) / 2)
        measured: list[str] = []

        def has_changed(commit: str, rerun: Rerun = rerun, case: str = case, half: float = half) -> bool | None:
            one = replace(rerun, after=commit)
            place = folder / RERUNS / one.folder
            outcome = _outcome(place, case, half)
            if outcome == "unresolved":
                say(f"bisecting: {escape(one.text())}", err)
                place = _rerun(one, folder / RERUNS, seconds, ("--min-effect", f"{half:.4g}"))
                outcome = _outcome(place, case, half)
            measured.append(commit)  # noqa: B023 - it is called in this pass of the loop only
            return None if outcome == "unresolved" else outcome == change.direction  # noqa: B023 - likewise

        left = revisions.first_changed(commits, has_changed)
        yield Bisected(case, rerun.before, rerun.after, tuple(left), tuple(measured))


def _outcome(place: Path, case: str, effect: float) -> str:
    """Return the outcome of a case in a run of two moments; `unresolved` if the run or the case is missing."""
    from pyopbench.judge.comparison.changes import read_confirmation

    again = read_confirmation(place, effect)
    found = None if again is None else again.outcomes.get(case)
    return "unresolved" if found is None else found.outcome


def _rerun(rerun: Rerun, folder: Path, seconds: float | None, more: Sequence[str] = ()) -> Path:
    """Measure two moments again, or continue such a run that was interrupted or left a case unresolved.

    Returns:
        The folder of the run.
    """
    from pyopbench.store import run_folder, run_sides

    for number in itertools.count(1):
        place = folder / (rerun.folder if number == 1 else f"{rerun.folder}-{number}")
        if not run_sides.is_here(place):
            break
        planned = run_folder.read_run(run_sides.read(place)[0].folder).cases
        if set(rerun.cases) <= set(planned):
            _run(("pyopbench", "resume", str(place), *rerun.own_words, "--yes"))
            return place
    if place.exists():
        shutil.rmtree(place)  # killed while it was planned
    budget = () if seconds is None else ("--budget", f"{seconds:g}s")
    _run((*rerun.command, *budget, *more, "--out", str(place)))
    return place


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
    from pyopbench.judge.comparison.history import CHANGES_CAPTION
    from pyopbench.report.history import reruns_of, short_rows

    out.print(f"[bold]{escape(found.title())}[/]\n")
    if found.changes:
        shared, columns, rows = short_rows(found, MOST_ROWS)
        print_table(f"{CHANGES_CAPTION}{shared and f'; all are {shared}'}", columns, rows, folds=True)
    if len(found.changes) > MOST_ROWS:
        out.print(f"and {len(found.changes) - MOST_ROWS:,} more, in the files\n")
    say(escape(found.summary()))
    if found.changes:
        say(escape(found.alarm_text()))
    for one in found.bisected:
        say(escape(one.text()))
    for remark in found.remarks:
        say(escape(remark.text()), mark="- ")
    _print_commands([one.text() for one in reruns_of(found)])
    out.print(f"page: {escape(str(folder / 'history.html'))}", soft_wrap=True)


def _print_commands(commands: Sequence[str]) -> None:
    if commands:
        out.print("Commands that confirm or refute the suspected changes (--confirm runs them):")
        for command in commands[:MOST_ROWS]:
            out.print(f"  {escape(command)}", soft_wrap=True)
