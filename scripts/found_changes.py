"""Print which changes of a made repository `pyopbench run --rev` finds between neighbours, and what else it tells.

python scripts/found_changes.py FOLDER [--repetitions 10] [--budget 10m] [--portion 60m] [--kept FILE]

The repository has twelve commits of an op that is nothing but NumPy. One makes it about 5% slower, one 10% faster, one
changes a value; the others change what costs nothing. Each pair of neighbours is measured once, and the pair with the
5% so many times more, each with a seed of its own: six cases a run. Run the same command again to go on: what was
interrupted is resumed. After `--portion` nothing is begun that would probably end later. `FOLDER/summary.json`, or the
file that `--kept` names, keeps a row for each run; a run that has one is not made again, in whatever folder. Nothing
else may run meanwhile.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gate_trials import (
    OUTCOMES,
    Trial,
    at_least,
    found_slower,
    in_portions,
    keep,
    kept_rows,
    rows_of,
    still_to_run,
    told_apart,
)
from helpers import helper

from pyopbench.model.parse import parse_duration
from pyopbench.store import run_folder, run_sides

OP = """import numpy as np

from pyopbench import OwnOp
from work import worked


def body(x):
    return worked(x)


OP = OwnOp(inputs=(np.linspace(-1, 1, 2000, dtype=np.float32),), numpy=body, differentiable=())
"""
WORK = """import numpy as np

ROUNDS = {rounds}
SHIFT = {shift}
NOTE = {note!r}


def worked(x):
    for _ in range(ROUNDS):
        y = np.sin(x)
    return y + np.float32(SHIFT)
"""
FILE = "my_op.py"
OPTIONS = ("--variant", "py_function_numpy,numpy_function,py_func", "--mode", "node,call", "--direction", "forward")
"""Six cases: three callbacks, each inside a graph and called."""
COMMITS = 12
SLOWER, FASTER, CHANGED = 3, 6, 9
"""The commits that change something: a call becomes about 5% slower, then 10% faster, then its result larger by 0.5."""


@dataclass(frozen=True)
class Expected:
    """What a pair of neighbours differs in: `slower`, `faster`, `values` or `nothing`."""

    number: int

    @property
    def change(self) -> str:
        """In a word."""
        return {SLOWER: "slower", FASTER: "faster", CHANGED: "values"}.get(self.number, "nothing")

    def is_met(self, answer: Mapping[str, Any]) -> bool:
        """Whether a gate says that and nothing else."""
        told = {row["outcome"] for row in told_apart(rows_of(answer))}
        values = bool(_differences(answer))
        wanted = {self.change} & {"slower", "faster"}
        return told == wanted and values == (self.change == "values")


def rounds_of(number: int) -> int:
    """Return how often a commit computes the same."""
    return 200 if number < SLOWER else 222 if number < FASTER else 173


def make_repository(folder: Path) -> list[str]:
    """Make the repository where it is not there; return the hashes of its commits, in order."""
    repositories = helper("repositories")
    if not (folder / ".git").exists():
        repositories.repository(folder)
        for number in range(COMMITS):
            shift = 0.5 if number >= CHANGED else 0.0
            work = WORK.format(rounds=rounds_of(number), shift=shift, note=f"commit {number}")
            repositories.commit(folder, {FILE: OP, "work.py": work}, f"commit {number}", day=number + 1)
    found: str = repositories.git(folder, "rev-list", "--reverse", "main")
    return found.split()


def trials_in(folder: Path, commits: Sequence[str], budget: str, repetitions: int) -> list[tuple[Expected, Trial]]:
    """Return every pair of neighbours once, then the pair with the 5% again and again."""

    def trial(number: int, seed: int) -> Trial:
        options = (*OPTIONS, "--budget", budget, "--settings", f"seed={seed}")
        pair = (commits[number - 1], commits[number])
        return Trial(folder / f"pair-{number:02}-{seed}", folder / "repository", (FILE,), pair, options)

    found = [(Expected(number), trial(number, 0)) for number in range(1, len(commits))]
    return [*found, *((Expected(SLOWER), trial(SLOWER, seed)) for seed in range(1, repetitions + 1))]


def _differences(answer: Mapping[str, Any]) -> list[Any]:
    return [one for other in answer["others"] for one in other["values"]["differences"]]


def measured_by(folder: Path) -> str | None:
    """Return the commit of pyopbench that measured a run; None where that is not known."""
    commit: str | None = run_folder.read_run(run_sides.read(folder)[0].folder).environment["commit"]
    return commit


def row_of(expected: Expected, trial: Trial, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what became of a pair, as plain data."""
    rows = rows_of(answer)
    return {
        "run": trial.folder.name,
        "pyopbench": measured_by(trial.folder),
        "change": expected.change,
        "cases": len(rows),
        **{outcome: sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES},
        "values": len(_differences(answer)),
        "ratios": [row["ratio"] for row in rows],
        "intervals": [[row["low"], row["high"]] for row in rows],
        "minutes": answer["seconds"] / 60,
        "met": expected.is_met(answer),
        "gate": answer["outcome"],
    }


def lines(rows: Sequence[Mapping[str, Any]], wanted: int) -> Iterator[str]:
    """Yield the table, and how often the 5% was found."""
    columns = ("cases", "slower", "faster", "equivalent", "unresolved", "values")
    head = "".join(f"{name:>12}" for name in columns)
    yield f"{'pair':12} {'change':8} {head} {'minutes':>8}  ratios"
    for row in rows:
        counts = "".join(f"{row[name]:>12}" for name in columns)
        ratios = " ".join("  -  " if one is None else f"{one:.3f}" for one in row["ratios"])
        mark = "" if row["met"] else "  NOT what was expected"
        yield f"{row['run']:12} {row['change']:8} {counts} {row['minutes']:>8.1f}  {ratios}{mark}"
    pairs = [row for row in rows if row["run"].endswith("-0")]
    yield f"{sum(row['met'] for row in pairs)} of {len(pairs)} pairs of neighbours as expected, of {COMMITS - 1}"
    found, runs = found_slower(rows)
    if runs:
        share = at_least(found, runs)
        yield f"5% found in {found} of {runs} runs (of {wanted} wanted): at least {share:.0%} (95% confidence)"


def main() -> None:
    """Measure what is left within the portion, print the table and keep the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--budget", default="10m")
    parser.add_argument("--portion", type=parse_duration, default=None)
    parser.add_argument("--kept", type=Path, default=None)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    summary = asked.kept or folder / "summary.json"
    commits = make_repository(folder / "repository")
    trials = trials_in(folder, commits, asked.budget, asked.repetitions)
    expected = {trial.folder: one for one, trial in trials}
    rows = kept_rows(summary)
    for trial, answer in in_portions(still_to_run([trial for _, trial in trials], rows), asked.portion):
        rows.append(row_of(expected[trial.folder], trial, answer))
        keep(summary, {"example": " ".join(trials[0][1].command), "rows": rows})
    for line in lines(rows, asked.repetitions + 1):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
