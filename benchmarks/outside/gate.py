"""How often the default command of a gate finds a planted slowdown, and how often it reports identical commits.

    python benchmarks/outside/gate.py FOLDER [--part same ten five curve_90s] [--repetitions 20] [--json FILE]

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
command with `--json` again to continue. Nothing else may run on the machine meanwhile.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))
import repositories
from pyopbench.report.gate import DOCUMENT
from tally import Document, new_parser, parse_options, table

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
CURVE = (1, 2, 3, 5, 10, 20)
ENDED = (0, 1, 3)
"""Exit codes of a gate that has something to say: passed, failed, nothing to compare."""


@dataclass(frozen=True)
class Part:
    """What is measured again and again: slowdowns in percent, options, and what the gate fails on."""

    slowdowns: tuple[int, ...]
    options: tuple[str, ...]
    fail_on: str


PARTS: Mapping[str, Part] = {
    "same": Part((0,), ("--quick",), "slower:5%"),
    "ten": Part((10,), ("--quick",), "slower:5%"),
    "five": Part((5,), ("--quick", "--budget", "5m"), "slower:3%"),
    **{f"curve_{one}": Part(CURVE, ("--quick", "--budget", one), "slower:1%") for one in ("30s", "90s", "5m")},
}
SLOWDOWNS = (0, *sorted({percent for part in PARTS.values() for percent in part.slowdowns}))
"""Of the commits, in percent; the first two are the same code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the gates that have no row yet, and print the tables."""
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", nargs="+", choices=list(PARTS), default=["same", "ten", "five"])
    parser.add_argument("--repetitions", type=int, default=20)
    options = parse_options(parser, sys.argv[1:] if arguments is None else arguments)
    repository = options.folder.resolve() / "repository"
    commits = make_repository(repository)
    trials = {
        f"{part}-{percent:02}-{repetition:02}": (part, percent)
        for part in options.part
        for repetition in range(options.repetitions)
        for percent in PARTS[part].slowdowns
    }
    document = Document(options.json, {"rounds": ROUNDS})
    document.add_all(trials, lambda name: run_gate(repository, name, commits, trials[name]))
    rows = [document.results[name] for name in trials]
    print(table(COLUMNS, list(rates(rows))))
    head = ("part", "runs with a slowdown that they said they would find", "of them found (95% confidence)")
    print(table(head, list(promises(rows))))
    return 0


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


def run_gate(
    repository: Path, name: str, commits: Mapping[int, tuple[str, str]], trial: tuple[str, int]
) -> dict[str, Any]:
    """Return the answer of one gate as a row.

    Raises:
        SystemExit: the command failed.
    """
    part, percent = trial
    out = repository.parent / name
    shutil.rmtree(out, ignore_errors=True)  # of one that was interrupted
    revisions = [word for commit in commits[percent] for word in ("--rev", commit)]
    options = [*PARTS[part].options, "--fail-on", PARTS[part].fail_on]
    command = [sys.executable, "-m", "pyopbench", "run", FILE, *revisions, *options, "--out", str(out)]
    began = time.monotonic()
    done = subprocess.run(command, cwd=repository, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in ENDED:
        sys.exit(f"exit code {done.returncode} of {' '.join(command)}; the same command as before continues from here")
    answer = json.loads((out / DOCUMENT).read_text(encoding="utf-8"))
    bodies = [body for found in answer["comparisons"].values() for body in found["bodies"]]
    outcomes = [row["outcome"] for found in answer["comparisons"].values() for row in found["cases"]]
    outcomes += [body["outcome"] for body in bodies]
    return {
        "part": part,
        "slowdown": percent / 100,
        "failed_gate": answer["outcome"] == "failed",
        "slower": "slower" in outcomes,
        "different": sum(one in ("slower", "faster") for one in outcomes),
        "rows": len(outcomes),
        "body_ratios": [[body["low"], body["ratio"], body["high"]] for body in bodies],
        "launches": [body["launches"] for body in bodies],
        "smallest_found": answer["smallest_found"],
        "seconds": time.monotonic() - began,
    }


COLUMNS = (
    "part",
    "slowdown",
    "called slower (95% confidence)",
    "gate failed",
    "identical rows reported",
    "said to be found, median",
    "minutes, longest",
)


def rates(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield for each part and slowdown how often it was found and failed, and what the runs said they would find."""
    for part, percent in dict.fromkeys((row["part"], row["slowdown"]) for row in rows):
        of = [row for row in rows if (row["part"], row["slowdown"]) == (part, percent)]
        slower, many = sum(row["slower"] for row in of), len(of)
        bound = (
            f"at least {_at_least(slower, many):.0%}"
            if percent
            else f"at most {1 - _at_least(many - slower, many):.0%}"
        )
        said = sorted(row["smallest_found"] for row in of if row["smallest_found"] is not None)
        identical = f"{sum(row['different'] for row in of)} of {sum(row['rows'] for row in of)}"
        yield (
            part,
            f"{percent:.0%}",
            f"{slower} of {many} ({bound})",
            f"{sum(row['failed_gate'] for row in of)} of {many}",
            "" if percent else identical,
            f"{said[len(said) // 2]:.0%}" if said else "",
            f"{max(row['seconds'] for row in of) / 60:.1f}",
        )


def promises(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield for each part how often runs found a planted slowdown that they said they would find."""
    for part in dict.fromkeys(row["part"] for row in rows):
        of = [row for row in rows if row["part"] == part and row["smallest_found"] is not None]
        promised = [row for row in of if row["slowdown"] >= row["smallest_found"]]
        kept = sum(row["slower"] for row in promised)
        if promised:
            yield (part, f"{len(promised)} of {len(of)}", f"{kept} ({_at_least(kept, len(promised)):.0%} or more)")


def _at_least(count: int, of: int) -> float:
    """Return the lower 95% bound of a share (Clopper and Pearson, Biometrika 26 (1934) 404-413)."""
    return float(binomtest(count, of, alternative="greater").proportion_ci(0.95).low)


if __name__ == "__main__":
    sys.exit(main())
