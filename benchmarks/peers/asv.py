"""asv: two runs of one commit's code stored under two commits, then `asv compare`; everything as it comes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peers.figures import Pair, Row, Stated, missing, ratio_of_stated
from peers.processes import SOURCES, SUITES, PeerFailed, Task, call

CONFIGURATION = {
    "version": 1,
    "project": "peers",
    "repo": ".",
    "branches": ["HEAD"],
    "environment_type": "existing",
    "benchmark_dir": str(SUITES / "asv_suite"),
    "results_dir": "results",
    "env_dir": "environments",
    "html_dir": "html",
}
STATED_LEVEL = 0.99
"""Of the columns stats_ci_99_a and stats_ci_99_b."""
MACHINE = "here"

_LINE = re.compile(r"^\|\s*(?P<mark>[^|\s]?)\s*\|.*\('(?P<case>[^']+)'\)\s*\|$")

NOTE = (
    "asv: default settings (2 processes for each case, each of which imports TensorFlow and prepares); the estimate is "
    "its median, the interval is made of its 99% intervals of both runs, scaled to 95% and added as squares; the "
    "verdict is the mark of `asv compare`: a factor of 1.1 and its own statistics."
)


def compare(task: Task) -> list[Row]:
    """Measure twice and read what asv makes of it.

    Raises:
        PeerFailed: asv ended with an error or left a case out.
    """
    commits = _commits(task.folder)
    (task.folder / "asv.conf.json").write_text(json.dumps(CONFIGURATION, indent=2), encoding="utf-8")
    # asv describes the machine in a file in the home folder, which is not ours to write to.
    own = {"HOME": str(task.folder), "ASV_PYTHONPATH": SOURCES}
    call(task, ["-m", "asv", "machine", "--yes", "--machine", MACHINE], "machine.log", **own)
    seconds = []
    for commit in commits:
        command = ["-m", "asv", "run", "--python=same", "--machine", MACHINE, "--set-commit-hash", commit]
        seconds.append(call(task, command, f"run-{commit[:8]}.log", **own)[0])
    took, table = call(task, ["-m", "asv", "compare", *commits], "compare.log", **own)
    first, second = (read(_result(task.folder, commit)) for commit in commits)
    return [Row("asv", sum(seconds) / 2, sum(seconds) + took, pairs(task.cases, first, second, marks(table)), NOTE)]


def _commits(folder: Path) -> list[str]:
    """Make a repository with two empty commits, because asv files results under the hash of a commit."""
    identity = ["-c", "user.name=peers", "-c", "user.email=peers@localhost", "-c", "commit.gpgsign=false"]
    hashes = []
    _git(folder, "init", "--quiet")
    for name in ("first", "second"):
        _git(folder, *identity, "commit", "--quiet", "--allow-empty", "--message", name)
        hashes.append(_git(folder, "rev-parse", "HEAD"))
    return hashes


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerFailed(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _result(folder: Path, commit: str) -> Any:
    found = sorted((folder / "results" / MACHINE).glob(f"{commit[:8]}-*.json"))
    if len(found) != 1:
        raise PeerFailed(f"{len(found)} results of commit {commit[:8]} instead of one")
    return json.loads(found[0].read_text(encoding="utf-8"))


def read(document: Mapping[str, Any]) -> dict[str, Stated]:
    """Return the estimate of each case with its interval, from a file of results (version 2).

    A case that failed has null for a result and is left out; an end of an interval that is null is taken for unknown.
    """
    (values,) = document["results"].values()
    row = dict(zip(document["result_columns"], values, strict=False))
    cases = [parameter.strip("'") for parameter in row["params"][0]]
    columns = zip(cases, row["result"], row["stats_ci_99_a"], row["stats_ci_99_b"], strict=True)
    return {case: Stated(value, _number(low), _number(high)) for case, value, low, high in columns if value is not None}


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def marks(table: str) -> dict[str, str]:
    """Return the mark that `asv compare` gives each case: empty for one that did not change."""
    return {found["case"]: found["mark"] for line in table.splitlines() if (found := _LINE.match(line))}


def pairs(
    wanted: Sequence[str], first: Mapping[str, Stated], second: Mapping[str, Stated], marked: Mapping[str, str]
) -> tuple[Pair, ...]:
    """Return the pair of each case.

    Raises:
        PeerFailed: a case has no estimate or no line in the comparison.
    """
    if lacking := missing(wanted, first, second, marked):
        raise PeerFailed(f"asv has no result for {', '.join(lacking)}")
    return tuple(
        Pair(
            case,
            first[case].value,
            second[case].value,
            *ratio_of_stated(first[case], second[case], STATED_LEVEL),
            different=marked[case] != "",
        )
        for case in wanted
    )
