"""How often the default command of a gate finds a planted slowdown, and how often it reports identical commits.

python benchmarks/outside/gate.py FOLDER [--part same ten five curve] [--repetitions 20] [--portion 60m] [--json FILE]

The repository that is made in `FOLDER` has an op of two sizes whose body repeats the same NumPy call; a commit plants a
slowdown by repeating it more often, so that values stay the same. Each part repeats one measurement:

    same    a commit against a copy of itself; anything called slower or faster is wrong
    ten     10% in `run op.py --rev A --rev B --quick --fail-on slower:5%`, which takes 90 s
    five    5% in the same with `--budget 5m --fail-on slower:3%`
    curve   1, 2, 3, 5, 10 and 20% by the command of `ten` with budgets of 30 s, 90 s and 5 minutes, with the slowdown
            that each run said it would find: `curve_30s`, `curve_90s` and `curve_5m`

A second table shows whether that was true: of the runs whose planted slowdown was as large as what the run said it
would find, how many found it.

The body takes nearly all of a call's time (about 95%), so a call is slower by nearly as much as the body. Run the same
command again to continue: a trial that was interrupted is resumed, and one that has a row is not measured again. No
trial is started that would probably end after `--portion`. Nothing else may run on the machine meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))
import repositories
import stored_document
from markdown_table import table
from outside import tallies
from outside.gate_trials import Trial, at_least, at_most, in_portions, rows_of, still_to_run, told_apart
from pyopbench.model.parse import parse_duration

VERSION = 1
STORED = tallies.RESULTS / "planted_slowdowns.json"
ROUNDS = 200
FILE = "op.py"
OP = """import numpy as np

from pyopbench import OwnOp
from work import worked


def inputs(size, rng):
    return (rng.standard_normal(size).astype(np.float32),)


OP = OwnOp(inputs=inputs, numpy=worked, differentiable=(), sizes=(2000, 20000))
"""
WORK = """import numpy as np

NOTE = {note!r}


def worked(x):
    for _ in range({rounds}):
        y = np.sin(x)
    return y
"""
DEFAULT = ("--quick",)
LONGER = ("--quick", "--budget", "5m")
CURVE = (1, 2, 3, 5, 10, 20)
CURVE_BUDGETS = ("30s", "90s", "5m")


@dataclass(frozen=True)
class Part:
    """What is measured again and again: slowdowns in percent, options, and what the gate fails on."""

    slowdowns: tuple[int, ...]
    options: tuple[str, ...]
    fail_on: str


PARTS: Mapping[str, Part] = {
    "same": Part((0,), DEFAULT, "slower:5%"),
    "ten": Part((10,), DEFAULT, "slower:5%"),
    "five": Part((5,), LONGER, "slower:3%"),
    **{f"curve_{budget}": Part(CURVE, ("--quick", "--budget", budget), "slower:1%") for budget in CURVE_BUDGETS},
}
SLOWDOWNS = (0, *sorted({percent for part in PARTS.values() for percent in part.slowdowns}))
"""Of the commits, in percent; the first two are the same code."""


def make_repository(folder: Path) -> dict[int, tuple[str, str]]:
    """Make the repository where it is not there; return for each slowdown the two commits that are compared."""
    if not (folder / ".git").exists():
        repositories.repository(folder)
        for number, percent in enumerate(SLOWDOWNS):
            rounds = round(ROUNDS * (1 + percent / 100))
            files = {FILE: OP, "work.py": WORK.format(rounds=rounds, note=f"commit {number}")}
            repositories.commit(folder, files, f"commit {number}", day=number + 1)
    commits = repositories.git(folder, "rev-list", "--reverse", "main").split()
    return {percent: (commits[0], commits[place]) for place, percent in enumerate(SLOWDOWNS) if place}


def trials_in(
    folder: Path, commits: Mapping[int, tuple[str, str]], parts: Sequence[str], repetitions: int
) -> list[tuple[str, int, Trial]]:
    """Return the trials of some parts, each with its part and the slowdown in it, in percent."""
    found = []
    for name in parts:
        part = PARTS[name]
        for seed in range(repetitions):
            for percent in part.slowdowns:
                options = (*part.options, "--settings", f"seed={seed}")
                place = folder / f"{name}-{percent:02}-{seed:02}"
                trial = Trial(place, folder / "repository", (FILE,), commits[percent], options, part.fail_on)
                found.append((name, percent, trial))
    return found


def row_of(name: str, percent: int, trial: Trial, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what became of a trial, as plain data."""
    bodies = [body for found in answer["comparisons"].values() for body in found["bodies"]]
    cases = rows_of(answer)
    control = [] if answer["control"] is None else [*answer["control"]["cases"], *answer["control"]["bodies"]]
    return {
        "run": trial.folder.name,
        "part": name,
        "slowdown": percent / 100,
        "failed": answer["outcome"] == "failed",
        "slower": any(row["outcome"] == "slower" for row in (*bodies, *cases)),
        "apart": len(told_apart((*bodies, *cases))),
        "control_apart": len(told_apart(control)),
        "rows": len(bodies) + len(cases),
        "body_ratios": [body["ratio"] for body in bodies],
        "body_ends": [[body["low"], body["high"]] for body in bodies],
        "launches": [body["launches"] for body in bodies],
        "smallest_found": answer["smallest_found"],
        "seconds": answer["seconds"],
    }


def rates(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield for each part and slowdown how often it was found and failed, and what the runs said they would find."""
    for part, percent in dict.fromkeys((row["part"], row["slowdown"]) for row in rows):
        of = [row for row in rows if (row["part"], row["slowdown"]) == (part, percent)]
        slower, failed, many = sum(row["slower"] for row in of), sum(row["failed"] for row in of), len(of)
        bound = f"at least {at_least(slower, many):.0%}" if percent else f"at most {at_most(slower, many):.0%}"
        said = sorted(row["smallest_found"] for row in of if row["smallest_found"] is not None)
        yield (
            part,
            f"{percent:.0%}",
            f"{slower} of {many} ({bound})",
            f"{failed} of {many}",
            f"{sum(row['apart'] for row in of) if not percent else 0} of {sum(row['rows'] for row in of)}"
            if not percent
            else "",
            f"{said[len(said) // 2]:.0%}" if said else "",
            f"{max(row['seconds'] for row in of) / 60:.1f}",
        )


COLUMNS = (
    "part",
    "slowdown",
    "called slower (95% confidence)",
    "gate failed",
    "identical rows reported",
    "said to be found, median",
    "minutes, longest",
)


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each part and slowdown, as Markdown."""
    return table(COLUMNS, list(rates(document["rows"])))


def promises(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield for each part how often runs found a planted slowdown that they said they would find."""
    for part in dict.fromkeys(row["part"] for row in rows):
        of = [row for row in rows if row["part"] == part and row["smallest_found"] is not None]
        promised = [row for row in of if row["slowdown"] >= row["smallest_found"]]
        kept = sum(row["slower"] for row in promised)
        if promised:
            yield (part, f"{len(promised)} of {len(of)}", f"{kept} ({at_least(kept, len(promised)):.0%} or more)")


def promises_table(document: Mapping[str, Any]) -> str:
    """Return how often runs found what they said they would find, as Markdown."""
    head = ("part", "runs with a slowdown that they said they would find", "of them found (95% confidence)")
    return table(head, list(promises(document["rows"])))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is left within the portion, keep a row for each trial, and print the table."""
    parser = tallies.parser_of(__doc__, STORED)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=["same", "ten", "five"])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--portion", type=parse_duration, default=None)
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    begun = stored_document.begin(VERSION, ("tensorflow", "tensorflow-cpu", "numpy"), {"rounds": ROUNDS})
    document = {**begun, "rows": []}
    if options.json.exists():
        document = stored_document.read_to_go_on(options.json, begun)
    trials = trials_in(folder, make_repository(folder / "repository"), options.part, options.repetitions)
    named = {trial.folder: (name, percent) for name, percent, trial in trials}
    left = still_to_run([trial for _, _, trial in trials], document["rows"])
    for trial, answer in in_portions(left, options.portion):
        document["rows"].append(row_of(*named[trial.folder], trial, answer))
        stored_document.write(options.json, document)
    sys.stdout.write(f"{results_table(document)}\n{promises_table(document)}")


if __name__ == "__main__":
    main()
