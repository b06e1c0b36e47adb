"""Count the launches in which `history --bisect` finds planted commits of 30, and those needed to measure all.

python benchmarks/outside/bisection.py --simulate 60             writes results/outside/bisection.json
python benchmarks/outside/bisection.py FOLDER --budget 10m       the same on this machine, printed

Time is proportional to launches. In both ways commits are compared with the first one until each verdict is clear. In
one, all commits are measured. In the other, only the first and the last are if one commit is planted, and every sixth
if there are three; each step between two of these is confirmed, and bisected as `pyopbench history --bisect` does. The
simulation draws the noise of launches. Its verdicts and its bisection are those of pyopbench.

On a machine, `FOLDER` gets a repository whose commits repeat a NumPy call more or less often. Nothing else may run
there meanwhile.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
from helpers import helper

import stored_document
from markdown_table import table
from outside import tallies
from outside.gate import FILE, OP, ROUNDS, WORK
from pyopbench.engine.revisions import first_changed
from pyopbench.judge.verdicts import verdicts_on
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.stats.corrections import ALL_ANALYSES
from pyopbench.stats.estimate import Estimate

VERSION = 1
STORED = tallies.RESULTS / "bisection.json"
COMMITS, STEP = 30, 0.10
EVERY = {1: 30, 3: 6}
"""Planted commits -> the distance between the commits that are measured before any range is bisected."""
SPREADS = (0.01, 0.02, 0.035)
"""Standard deviations of launches of one commit; launches on a quiet machine differ by 3.5% at most."""
FEWEST, MOST = 3, 100
"""Launches of each side before the first verdict, and at most."""


class Machine:
    """Commits with known levels whose launches are drawn, and counted."""

    def __init__(self, rng: np.random.Generator, spread: float, planted: int) -> None:
        self.rng, self.spread, self.launches = rng, spread, 0
        gap = EVERY[planted]
        spare = COMMITS - (planted - 1) * gap
        places = np.sort(rng.choice(spare, planted, replace=False))
        self.planted = [int(one) for one in places + 1 + np.arange(planted) * gap]
        self.levels = math.log1p(STEP) * np.searchsorted(self.planted, np.arange(COMMITS + 1), "right")

    def compare(self, first: int, others: Sequence[int], effect: float) -> list[str]:
        """Return the verdicts on commits against the first; a resolved one is not measured any further."""
        logs = np.full((len(others), MOST), np.nan)
        outcomes = ["unresolved"] * len(others)
        for block in range(MOST):
            left = [number for number, outcome in enumerate(outcomes) if outcome == "unresolved"]
            if not left:
                break
            noise = self.spread * self.rng.standard_normal(1 + len(left))
            self.launches += noise.size
            moves = self.levels[[others[number] for number in left]] - self.levels[first]
            logs[left, block] = moves + noise[1:] - noise[0]
            if block + 1 >= FEWEST:
                estimates = [Estimate.of(row[np.isfinite(row)]) for row in logs]
                found = verdicts_on(estimates, effect, ALL_ANALYSES)
                for number in left:
                    outcomes[number] = found[number].outcome
        return outcomes


def simulated(seed: int, spread: float, planted: int) -> dict[str, Any]:
    """Return the launches of both ways on one series of commits, and whether bisection found the planted ones."""
    machine = Machine(np.random.default_rng([seed, planted, round(1000 * spread)]), spread, planted)
    machine.compare(0, range(1, COMMITS + 1), MINIMUM_EFFECT)
    of_all, machine.launches = machine.launches, 0
    points = list(range(0, COMMITS + 1, EVERY[planted]))
    machine.compare(0, points[1:], MINIMUM_EFFECT)
    half = math.expm1(math.log1p(STEP) / 2)
    found = []
    for before, after in pairwise(points):
        # A real step counts as suspected, because simulated histories find nearly all steps of this size.
        if machine.levels[before] == machine.levels[after]:
            continue
        if machine.compare(before, [after], MINIMUM_EFFECT) == ["slower"]:
            found += _bisected(machine, before, after, half)
    return {
        "planted": planted,
        "spread": spread,
        "all": of_all,
        "bisected": machine.launches,
        "found": len(set(found) & set(machine.planted)),
        "wrong": len(set(found) - set(machine.planted)),
    }


def _bisected(machine: Machine, before: int, after: int, half: float) -> list[int]:
    def has_changed(commit: str) -> bool | None:
        (outcome,) = machine.compare(before, [int(commit)], half)
        return None if outcome == "unresolved" else outcome == "slower"

    left = first_changed([str(one) for one in range(before + 1, after + 1)], has_changed)
    return [int(one) for one in left] if len(left) == 1 else []


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each spread of launches, as Markdown."""
    rows = []
    for planted, spread in dict.fromkeys((row["planted"], row["spread"]) for row in document["rows"]):
        of = [row for row in document["rows"] if (row["planted"], row["spread"]) == (planted, spread)]
        shares = [row["bisected"] / row["all"] for row in of]
        rows.append(
            (
                f"{planted}",
                f"{spread:.1%}",
                f"{len(of):,}",
                f"{sum(row['found'] for row in of):,} of {planted * len(of):,}",
                f"{sum(row['wrong'] for row in of):,}",
                f"{np.median([row['all'] for row in of]):,.0f}",
                f"{np.median([row['bisected'] for row in of]):,.0f}",
                "{:.0%} ({:.0%}-{:.0%})".format(*np.quantile(shares, (0.5, 0.05, 0.95))),
            )
        )
    head = (
        "planted",
        "launches differ by",
        "series",
        "planted commits found",
        "others named",
        "launches, all measured",
        "launches, bisected",
        "share, median and 90% range",
    )
    return table(head, rows)


def measure(folder: Path, budget: str) -> str:
    """Run both ways on this machine with a repository of 30 commits; return how many launches each took."""
    repositories = helper("repositories")
    repository = folder / "repository"
    places = [5, 14, 25]
    if not (repository / ".git").exists():
        repositories.repository(repository)
        for number in range(COMMITS + 1):
            rounds = round(ROUNDS * (1 + STEP) ** sum(place <= number for place in places))
            work = WORK.format(rounds=rounds, note=f"commit {number}")
            repositories.commit(repository, {FILE: OP, "work.py": work}, f"commit {number}", day=number % 28 + 1)
    commits = repositories.git(repository, "rev-list", "--reverse", "main").split()
    asked = ("run", FILE, "--rev", f"{commits[0]}..{commits[-1]}", "--quick", "--budget", budget)
    ways = {
        "all": [(*asked, "--out", str(folder / "all"))],
        "bisected": [
            (*asked, "--every", str(EVERY[len(places)]), "--out", str(folder / "some")),
            ("history", str(folder / "some"), "--bisect", "--budget", budget, "--out", str(folder / "history")),
        ],
    }
    for commands in ways.values():
        for words in commands:
            subprocess.run([sys.executable, "-m", "pyopbench", *words], cwd=repository, check=False)
    counts = {
        "all": launches_in(folder / "all"),
        "bisected": launches_in(folder / "some") + launches_in(folder / "history"),
    }
    planted = ", ".join(commits[place][:10] for place in places)
    return f"planted: {planted}\nlaunches: {counts['all']} of all, {counts['bisected']} with bisection\n"


def launches_in(folder: Path) -> int:
    """Return how many launches are stored in a folder and below."""
    return sum(
        text.count('"kind":"launch"')
        for text in (path.read_text(encoding="utf-8") for path in folder.rglob("samples.jsonl"))
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate and store, or measure and print."""
    parser = tallies.parser_of(__doc__, STORED)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--simulate", type=int, default=0, metavar="SERIES")
    parser.add_argument("--budget", default="10m", help="of each run on this machine (10m)")
    options = parser.parse_args(arguments)
    if bool(options.simulate) == bool(options.folder):
        parser.error("give a folder, or --simulate")
    if options.folder:
        folder = options.folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.stdout.write(measure(folder, options.budget))
        return
    document = stored_document.begin(VERSION, ("numpy",), {"series": options.simulate})
    document |= {
        "rows": [
            simulated(seed, spread, planted)
            for planted in EVERY
            for spread in SPREADS
            for seed in range(options.simulate)
        ]
    }
    stored_document.write(options.json, document)
    sys.stdout.write(results_table(document))


if __name__ == "__main__":
    main()
