"""`pyopbench history`: series over commits, versions or dates and the changes in them, as a page, Markdown and JSON."""

from __future__ import annotations

import itertools
import math
import shlex
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_atomically
from pyopbench.store import strict_json
from pyopbench.store.integrity import sealed
from pyopbench.store.open_file import REPORT, read_bytes

if TYPE_CHECKING:
    from pyopbench.judge.comparison.bisection import CaseAndEnvironment, CommitLaunches
    from pyopbench.judge.comparison.changes import Confirmation, Rerun
    from pyopbench.judge.comparison.history import History, Options
    from pyopbench.model.side import Environment

EXIT_SLOWER = 1
EXIT_NOTHING = 3
"""Of a run in which no case has an interval; of some of its commits there may be launches."""
RERUNS = "reruns"
"""The folder, in that of the history, for what is measured again; what is there already is not measured twice."""
MOST_ROWS = 30
SEARCH = "search-"
"""Prefix of the folders of searches, which are next to those of re-runs; each has its rounds, and `COMMITS`."""
COMMITS = "commits.txt"
LAUNCHES_OF_ROUND = 2
"""Launches of each commit in a round of a search: the fewest that a run allows."""
MOST_ROUNDS = 50
"""The most rounds that one command measures, in all searches together."""
RERUN_SECONDS = 120.0
CASE_SECONDS = 60.0
"""The time for a re-run without `--budget`, plus that for each case. It ends earlier if all verdicts are clear."""
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
    if budget_seconds is not None and not (confirm or bisect):
        raise BadInput(
            "--budget needs --confirm or --bisect: otherwise nothing is measured",
            received=f"--budget {budget_seconds:g}s",
            legal="--budget with --confirm or --bisect",
            hint="add one of them, or leave --budget out",
        )
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
    searched = _searched(found, results, out_path)
    before = _confirmed(searched) | _read_named_commits(out_path)
    try:
        if (confirm or bisect) and _measure_again(found, out_path, budget_seconds, only_others=bisect):
            found = read_history(results, options, list(_confirmations(out_path, options)))
            searched = _searched(found, results, out_path)
        if bisect:
            _write(searched, out_path)  # keeps what was confirmed even if this is not the repository
            searched = _searched(
                found,
                results,
                out_path,
                _SearchBudget(budget_seconds, options.minimum_effect, time.monotonic()).measure,
            )
    except KeyboardInterrupt:
        place = escape(str(out_path / RERUNS))
        err.print(f"interrupted; finished measurements are in {place}; the same command continues", soft_wrap=True)
        raise
    _write(searched, out_path)
    if as_json:
        out.print_json(read_bytes(out_path / "history.json", REPORT).decode())
    else:
        _print(searched, out_path)
    named = {(one.case, one.environment, one.left) for one in searched.bisected if one.is_slower}
    return EXIT_SLOWER if (confirm or bisect) and (_confirmed(searched) | named) - before else 0


def _confirmed(found: History) -> set[object]:
    """Return the slowdowns that were confirmed, as series and moments."""
    confirmed = [one for one in found.with_status("confirmed") if one.direction == "slower"]
    return {(found.traced[one.number].series.name, one.before, one.after) for one in confirmed}


def _read_named_commits(folder: Path) -> set[object]:
    """Return the slower commits that the last `history.json` names, as case, environment and commits.

    They are not news, even if a longer history searches in another folder. What a command measured and was interrupted
    before it said so, is.
    """
    path = folder / "history.json"
    try:
        bisected = strict_json.parse(read_bytes(path, REPORT))["bisected"]
        slower = [one for one in bisected if one["is_certain"] and one["ratio"] > 1]
        return {(one["case"], one["environment"], tuple(one["left"])) for one in slower}
    except (OSError, BadInput, ValueError, KeyError, TypeError, RecursionError):
        return set()  # there is none, or it is no page; then all that is found is new


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


def _measure_again(found: History, folder: Path, seconds: float | None, *, only_others: bool) -> int:
    """Measure both sides of each suspicion again, and continue if the result is unclear.

    Args:
        found: the history.
        folder: of its page.
        seconds: for each pair; None for the usual time, which grows with the cases.
        only_others: leave out the suspicions that bisection measures.

    Returns:
        How many pairs of moments were measured.
    """
    from pyopbench.report.history import reruns_of

    def is_left(one: Rerun) -> bool:
        return one.tool == "pyopbench" and not (only_others and one.axis == "commit")

    wanted = reruns_of(found)
    able = [one for one in wanted if one.axis in RERUN_AXES and is_left(one) and one.is_safe]
    for one in wanted:
        if one.tool != "pyopbench" or one.axis not in RERUN_AXES or not one.is_safe:
            say(f"[yellow]not measured again:[/] {escape(one.text())}", err)
    for number, one in enumerate(able, 1):
        say(f"re-run {number} of {len(able)}: {escape(one.text())}", err)
        _rerun(one, folder / RERUNS, seconds, found.options.minimum_effect)
    unsettled = [one for one in reruns_of(found, "open") if is_left(one) and one.is_safe]
    for one in unsettled:
        say(f"still unsettled, so measured again: {escape(one.text())}", err)
        _rerun(one, folder / RERUNS, seconds, found.options.minimum_effect)
    return len(able) + len(unsettled)


@dataclass
class _SearchBudget:
    """The budget of a command, which the rounds of all its searches share.

    Attributes:
        seconds: the time for all rounds together; None for no limit.
        effect: the smallest difference that counts.
        began: when that time began.
        longest: the longest time that a round took, divided by its number of commits; 0 before the first round.
        measured: the number of rounds so far.
    """

    seconds: float | None
    effect: float
    began: float
    longest: float = 0.0
    measured: int = 0

    def measure(self, rerun: Rerun, commits: Sequence[str], cases: tuple[str, ...], folder: Path) -> bool:
        """Measure a round, unless it would probably end too late; return whether it was measured.

        The first round is always measured: how long a round takes is not known before.
        """
        began = time.monotonic()
        left = None if self.seconds is None else self.seconds - (began - self.began)
        needed = self.longest * len(commits)
        why = ""
        if self.measured == MOST_ROUNDS:
            why = f"one command measures at most {MOST_ROUNDS} rounds"
        elif left is not None and self.measured and needed > left:
            rest, budget = formatting.duration(max(left, 0.0)), formatting.duration(self.seconds or 0.0)
            why = f"the next round needs about {formatting.duration(needed)}, and {rest} of --budget {budget} is left"
        if why:
            say(f"[yellow]bisection ends early:[/] {why}; the same command continues it", err)
            return False
        is_measured = _measure_round(rerun, commits, cases, folder, left, self.effect)
        self.measured += 1
        self.longest = max(self.longest, (time.monotonic() - began) / len(commits))
        return is_measured


def _searched(
    found: History, results: Sequence[Path], folder: Path, measure: Callable[..., bool] | None = None
) -> History:
    """Return a history with the commits that bisection found: of what is stored, and of what it measures.

    Series of the same ops and environment are searched together, because a run can measure the cases of all of them.

    Args:
        found: the history.
        results: the paths that it was read from.
        folder: the folder of its page, which keeps the rounds of searches.
        measure: measures a round, as `_SearchBudget.measure` does; None to measure nothing.
    """
    groups: dict[tuple[tuple[str, ...], Environment], list[int]] = {}
    for number, rerun in enumerate(found.reruns):
        if rerun is not None and rerun.tool == "pyopbench" and rerun.axis == "commit":
            groups.setdefault((rerun.ops, rerun.environment), []).append(number)
    reruns = folder / RERUNS
    if not groups or not (measure or any(reruns.glob(f"{SEARCH}*"))):
        return found
    from pyopbench.judge.comparison.bisection import read_launches
    from pyopbench.judge.comparison.changes import importance

    # Without `.part`: finished rounds, of all searches.
    rounds = [path for path in sorted(reruns.glob(f"{SEARCH}*/*")) if path.name.isdecimal()]
    stored = read_launches([*results, *sorted(reruns.glob("*"))], rounds)
    for numbers in groups.values():
        found = _searched_group(found, numbers, stored, reruns, measure)
    return replace(found, changes=tuple(sorted(found.changes, key=importance)))


def _searched_group(
    found: History,
    numbers: Sequence[int],
    stored: Mapping[CaseAndEnvironment, CommitLaunches],
    folder: Path,
    measure: Callable[..., bool] | None,
) -> History:
    """Return a history with the results of one search.

    Args:
        found: the history.
        numbers: of series with the same ops and environment.
        stored: launches that exist already.
        folder: the folder of re-runs and searches.
        measure: as in `_searched`.
    """
    from pyopbench.engine import revisions
    from pyopbench.judge.comparison.bisection import CommitLaunches, CommitSearch, each_once, run_searches
    from pyopbench.judge.comparison.changes import Bisected

    series = {number: found.traced[number].series for number in numbers}
    reruns = [again for number in numbers if (again := found.reruns[number]) is not None]
    rerun = reruns[0]
    order = [moment.value for moment in found.moments]
    first = min((one.before for one in reruns), key=order.index)
    last = max((one.after for one in reruns), key=order.index)
    name = zlib.crc32(" ".join((*rerun.ops, rerun.environment.text, first, last)).encode())
    place = folder / f"{SEARCH}{first[:10]}-{last[:10]}-{name:08x}"
    commits = _commits_of(place, rerun.ops, first, last, is_asked=measure is not None)
    if commits is None:
        return found
    if len(commits) < 2:
        changed = [series[one.number].case for one in found.changes if one.number in series]
        return replace(found, bisected=(*found.bisected, *(Bisected(case, first, last, (), ()) for case in changed)))
    launched = {number: stored.get((one.case, rerun.environment), CommitLaunches()) for number, one in series.items()}
    searches = [CommitSearch.of(found, number, commits, launched[number]) for number in series]
    searches = [one for one in searches if one.is_worthwhile]
    if measure is not None and searches and not rerun.is_safe:
        say(f"[yellow]not bisected:[/] {escape(rerun.text())}", err)
    elif measure is not None and searches:
        run_searches(searches, rerun.environment, place, partial(measure, rerun), revisions.most_at_once())
    for one in searches:
        found = replace(found, changes=tuple(one.judged(change, place) for change in found.changes))
    steps = each_once(step for one in searches for step in one.bisected(rerun.environment))
    return replace(found, bisected=(*found.bisected, *steps))


def _measure_round(
    rerun: Rerun, commits: Sequence[str], cases: tuple[str, ...], folder: Path, seconds: float | None, effect: float
) -> bool:
    """Measure commits interleaved; return whether the run finished.

    It is measured in `NNN.part`, which is renamed once it is finished. An interrupted round is not continued: its
    launches have fewer samples, but would count as much as complete ones.
    """
    from pyopbench.store import run_sides

    words = (
        *replace(rerun, cases=cases).over(commits),
        "--quick",
        "--launches",
        str(LAUNCHES_OF_ROUND),
        "--until",
        "end",
    )
    unfinished = folder.with_name(f"{folder.name}.part")
    say(f"bisecting: {escape(shlex.join(words))}", err)
    has_ended = _start(words, unfinished, None if seconds is None else max(math.ceil(seconds), 1), effect)
    if not has_ended or not run_sides.is_here(unfinished):
        return False
    unfinished.rename(folder)
    return True


def _commits_of(place: Path, ops: Sequence[str], first: str, last: str, *, is_asked: bool) -> list[str] | None:
    """Return the commits of a search, oldest first, from its folder, or from the repository if `is_asked`."""
    from pyopbench.engine import revisions

    path = place / COMMITS
    if path.exists():
        return read_bytes(path, REPORT).decode(errors="replace").split()
    if not is_asked:
        return None
    commits = [first, *revisions.between(revisions.repository_at(ops), first, last)]
    if len(commits) > 1:
        place.mkdir(parents=True, exist_ok=True)
        write_atomically(path, "\n".join(commits).encode())
    return commits


def _rerun(rerun: Rerun, folder: Path, seconds: float | None, effect: float) -> None:
    """Measure two moments again, or continue such a run that was interrupted or left a case unresolved."""
    from pyopbench.store import run_folder, run_sides

    for number in itertools.count(1):
        place = folder / (rerun.folder if number == 1 else f"{rerun.folder}-{number}")
        if not run_sides.is_here(place):
            break
        planned = run_folder.read_run(run_sides.read(place)[0].folder).cases
        if set(rerun.cases) <= set(planned):
            _run(("pyopbench", "resume", str(place), *rerun.own_words, "--yes", *_effect(effect)))
            return
    _start(rerun.command, place, seconds or RERUN_SECONDS + CASE_SECONDS * len(rerun.cases), effect)


def _start(words: Sequence[str], folder: Path, seconds: float | None, effect: float) -> bool:
    if folder.exists():
        shutil.rmtree(folder)  # a run that was killed while it was planned, or a round that was interrupted
    budget = () if seconds is None else ("--budget", f"{seconds:g}s")
    return _run((*words, *_effect(effect), *budget, "--out", str(folder)))


def _effect(effect: float) -> tuple[str, str]:
    return ("--min-effect", f"{effect:.9f}".rstrip("0"))


def _run(words: Sequence[str]) -> bool:
    """Run a pyopbench command in another process; return whether it succeeded.

    Its report is in its folder. Printed, the reports of all rounds would hide the answer.
    """
    code = subprocess.run((sys.executable, "-m", *words), stdout=subprocess.DEVNULL, check=False).returncode
    if code not in (0, EXIT_SLOWER):
        say(f"[yellow]warning:[/] a measurement ended with exit code {code}; its changes stay as they were", err)
    return code in (0, EXIT_SLOWER, EXIT_NOTHING)


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
