"""Count the launches in which `history --bisect` finds planted commits of 30, and those needed to measure all.

python benchmarks/outside/bisection.py --simulate 200            writes results/outside/bisection.json
python benchmarks/outside/bisection.py FOLDER --budget 30m       the same on this machine, in bisection_measured.json

Time is roughly proportional to launches. In the first way, all commits are measured and compared with the first one,
until each verdict is clear. In the second, every eighth commit is measured by two launches, and `stats.step_search`
continues from these in rounds of two blocks, as `pyopbench history --bisect` does. The first commit of each block is
launched twice, because a run over revisions has an A/A control.

The simulation draws the places of the commits and the noise. The drift of blocks is a random walk. Launches have normal
noise, or noise with the tails of Student's t with 3 degrees of freedom. In two more kinds, every third commit has three
times the spread of the others, or each block drifts while it is measured, in random order.

On a machine, the script creates a repository in `FOLDER` whose commits repeat a NumPy call more or less often.
`--budget` limits the run that measures all commits, which ends earlier if each verdict is clear, and the search. The
run over every eighth commit has no such limit: it ends after two launches of each. Each call adds one row to the table.
Nothing else may run on the machine meanwhile.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
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
from pyopbench.judge.verdicts import verdicts_on
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.report.gate import DOCUMENT as GATE
from pyopbench.stats.corrections import ALL_ANALYSES
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.step_search import STEP, StepSearch

VERSION = 2
STORED = tallies.RESULTS / "bisection.json"
MEASURED = tallies.RESULTS / "bisection_measured.json"
COMMITS = 30
PLANTED = (5, 14, 25)
"""The slower commits of the repository that is measured."""
EVERY = 8
"""One of so many commits is measured before the search."""
SPREADS = (0.01, 0.02, 0.035)
"""Standard deviations of launches of one commit; launches on a quiet machine differ by 3.5% at most."""
DRIFT = 0.02
"""Standard deviation of the drift from one block to the next."""
FREEDOM = {"normal": math.inf, "heavy tails": 3, "unequal spreads": math.inf, "drift in blocks": math.inf}
"""Noise -> degrees of freedom of Student's t."""
NUMBERS = {noise: number for number, noise in enumerate(FREEDOM)}
"""Noise -> a number that is part of the seed."""
UNEQUAL = 3.0
"""The spread of every third commit over that of the others, if spreads are unequal."""
KINDS = (
    *((planted, STEP, noise) for planted in (0, 1, 3) for noise in FREEDOM),
    (3, STEP / 2, "normal"),
    (3, 2 * STEP, "normal"),
)
"""How many commits are planted, how much slower each is, and the noise. The search expects steps of `STEP`."""
FEWEST, MOST = 3, 100
"""Launches of each side before the first verdict, and in total at most."""
BLOCKS_OF_ROUND = 2
"""Blocks in a round: the fewest launches of a commit that a run allows."""
MOST_ROUNDS = 100


class Machine:
    """Commits with known levels whose launches are drawn, and counted."""

    def __init__(
        self, rng: np.random.Generator, spread: float, planted: int, step: float = STEP, noise: str = "normal"
    ) -> None:
        self.rng, self.spread, self.freedom, self.launches, self.drift = rng, spread, FREEDOM[noise], 0, 0.0
        self.is_drifting = noise == "drift in blocks"
        self.spreads = np.full(COMMITS + 1, spread)
        if noise == "unequal spreads":
            self.spreads[::3] *= UNEQUAL
        self.planted = sorted(int(one) + 1 for one in rng.choice(COMMITS, planted, replace=False))
        self.levels = math.log1p(step) * np.searchsorted(self.planted, np.arange(COMMITS + 1), "right")

    def launch(self, commits: Sequence[int]) -> np.ndarray:
        """Return the logs of times of commits that are launched together, the first one twice: at both ends."""
        self.drift += DRIFT * float(self.rng.standard_normal())
        places = [*commits, commits[0]]
        self.launches += len(places)
        if math.isinf(self.freedom):
            noise = self.rng.standard_normal(len(places))
        else:
            noise = self.rng.standard_t(self.freedom, len(places)) / math.sqrt(self.freedom / (self.freedom - 2))
        if self.is_drifting:
            # A straight line through a block, whose launches are in an order drawn afresh.
            along = self.rng.permutation(np.linspace(-0.5, 0.5, len(places)))
            noise = noise + DRIFT * float(self.rng.standard_normal()) / self.spread * along
        return self.levels[places] + self.drift + self.spreads[places] * noise

    def compare(self, first: int, others: Sequence[int], effect: float) -> list[str]:
        """Return the verdicts on commits against the first; a resolved one is not measured any further."""
        logs = np.full((len(others), MOST), np.nan)
        outcomes = ["unresolved"] * len(others)
        for block in range(MOST):
            left = [number for number, outcome in enumerate(outcomes) if outcome == "unresolved"]
            if not left:
                break
            launched = self.launch([first, *(others[number] for number in left)])
            logs[left, block] = launched[1:-1] - launched[0]
            if block + 1 >= FEWEST:
                estimates = [Estimate.of(row[np.isfinite(row)]) for row in logs]
                found = verdicts_on(estimates, effect, ALL_ANALYSES)
                for number in left:
                    outcomes[number] = found[number].outcome
        return outcomes

    def search(self) -> list[int]:
        """Return the commits that a search names, starting with the launches of one commit in `EVERY`."""
        search = StepSearch({*range(0, COMMITS, EVERY), COMMITS}, math.log1p(MINIMUM_EFFECT))
        for _ in range(MOST_ROUNDS):
            commits = search.next_block()
            if not commits:
                break
            for _ in range(BLOCKS_OF_ROUND):
                logs = self.launch(commits)
                search.blocks.append(list(zip([*commits, commits[0]], map(float, logs), strict=True)))
        return [step.after for step in search.found]


def simulated(seed: int, spread: float, planted: int, step: float = STEP, noise: str = "normal") -> dict[str, Any]:
    """Return the launches of both ways on one series of commits, and whether the search found the planted ones."""
    rng = np.random.default_rng([seed, planted, round(1000 * spread), round(1000 * step), NUMBERS[noise]])
    machine = Machine(rng, spread, planted, step, noise)
    machine.compare(0, range(1, COMMITS + 1), MINIMUM_EFFECT)
    of_all, machine.launches = machine.launches, 0
    found = machine.search()
    return {
        "planted": planted,
        "step": step,
        "noise": noise,
        "spread": spread,
        "all": of_all,
        "bisected": machine.launches,
        "found": len(set(found) & set(machine.planted)),
        "wrong": len(set(found) - set(machine.planted)),
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the results of the series of one kind: totals, medians, and quantiles of the share of launches."""
    kind = {name: rows[0][name] for name in ("planted", "step", "noise", "spread")}
    shares = [row["bisected"] / row["all"] for row in rows]
    return {
        **kind,
        "series": len(rows),
        "found": sum(row["found"] for row in rows),
        "with_wrong": sum(row["wrong"] > 0 for row in rows),
        **{name: float(np.median([row[name] for row in rows])) for name in ("all", "bisected")},
        "shares": [float(one) for one in np.quantile(shares, (0.5, 0.05, 0.95))],
    }


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each kind of series, as Markdown."""
    rows = [
        (
            f"{row['planted']}" + (f" of {row['step']:.0%}" if row["planted"] else ""),
            f"{row['noise']}, {row['spread']:.1%}",
            f"{row['series']:,}",
            f"{row['found']:,} of {row['planted'] * row['series']:,}",
            f"{row['with_wrong']:,}",
            f"{row['all']:,.0f}",
            f"{row['bisected']:,.0f}",
            "{:.0%} ({:.0%}-{:.0%})".format(*row["shares"]),
        )
        for row in document["rows"]
    ]
    head = (
        "planted",
        "noise of launches",
        "series",
        "planted commits found",
        "series with a wrong commit",
        "launches, all measured",
        "launches, bisected",
        "share, median and 90% range",
    )
    return table(head, rows)


def measure(folder: Path, budget: str) -> list[dict[str, Any]]:
    """Run both ways on this machine with a repository of 30 commits; return what all commits took, then bisection.

    Args:
        folder: for the repository and the results; results that are there are measured again.
        budget: of the run over all commits, and of the search.
    """
    repositories = helper("repositories")
    repository = folder / "repository"
    if not (repository / ".git").exists():
        repositories.repository(repository)
        for number in range(COMMITS + 1):
            rounds = round(ROUNDS * (1 + STEP) ** sum(place <= number for place in PLANTED))
            work = WORK.format(rounds=rounds, note=f"commit {number}")
            repositories.commit(repository, {FILE: OP, "work.py": work}, f"commit {number}", day=number % 28 + 1)
    commits = repositories.git(repository, "rev-list", "--reverse", "main").split()
    asked = ("run", FILE, "--rev", f"{commits[0]}..{commits[-1]}", "--quick")
    every = ("--every", str(EVERY), "--launches", str(BLOCKS_OF_ROUND), "--until", "end")
    ways = {
        "all": [(*asked, "--budget", budget, "--out", str(folder / "all"))],
        "bisected": [
            (*asked, *every, "--out", str(folder / "some")),
            ("history", str(folder / "some"), "--bisect", "--budget", budget, "--out", str(folder / "history")),
        ],
    }
    rows = []
    for way, commands in ways.items():
        began = time.monotonic()
        for words in commands:
            shutil.rmtree(words[-1], ignore_errors=True)
            subprocess.run([sys.executable, "-m", "pyopbench", *words], cwd=repository, check=False)
        seconds = time.monotonic() - began
        folders = [Path(words[-1]) for words in commands]
        rows.append({"way": way, "seconds": seconds, "launches": sum(map(launches_in, folders))})
    first, second = rows
    first["clear"] = share_of_clear(json.loads((folder / "all" / GATE).read_text(encoding="utf-8")))
    history = json.loads((folder / "history" / "history.json").read_text(encoding="utf-8"))
    named = named_in(history)
    planted = {commits[place] for place in PLANTED}
    second |= {"found": len(named & planted), "wrong": len(named - planted)}
    return rows


def share_of_clear(answer: Mapping[str, Any]) -> float:
    """Return the share of verdicts on bodies in `gate.json` that are clear."""
    verdicts = [body["outcome"] for found in answer["comparisons"].values() for body in found["bodies"]]
    return sum(one != "unresolved" for one in verdicts) / len(verdicts)


def named_in(history: Mapping[str, Any]) -> set[str]:
    """Return the commits that the search named with certainty in `history.json`, over all cases."""
    return {one["left"][0] for one in history["bisected"] if one["is_certain"]}


def launches_in(folder: Path) -> int:
    """Return how many launches are stored in a folder and below."""
    return sum(
        text.count('"kind":"launch"')
        for text in (path.read_text(encoding="utf-8") for path in folder.rglob("samples.jsonl"))
    )


def measured_table(document: Mapping[str, Any]) -> str:
    """Return what both ways took on a machine, as Markdown."""
    rows = []
    for all_commits, bisected in document["rows"]:
        share = bisected["seconds"] / all_commits["seconds"]
        rows.append(
            (
                f"{all_commits['seconds'] / 60:.1f}",
                f"{all_commits['launches']:,}",
                f"{all_commits['clear']:.0%}",
                f"{bisected['seconds'] / 60:.1f}",
                f"{bisected['launches']:,}",
                f"{bisected['found']} of {len(PLANTED)}",
                f"{bisected['wrong']}",
                f"{share:.0%}",
            )
        )
    head = (
        "minutes, all measured",
        "launches, all measured",
        "clear verdicts on the body",
        "minutes, bisected",
        "launches, bisected",
        "planted commits found",
        "wrong commits",
        "share of the time",
    )
    return table(head, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate or measure; store and print the result."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--simulate", type=int, default=0, metavar="SERIES")
    parser.add_argument("--budget", default="30m", help="of the run over all commits, and of the search (30m)")
    parser.add_argument("--json", type=Path, help=f"what is written ({STORED.name}, or {MEASURED.name})")
    options = parser.parse_args(arguments)
    if bool(options.simulate) == bool(options.folder):
        parser.error("give a folder, or --simulate")
    if options.folder:
        folder, path = options.folder.resolve(), options.json or MEASURED
        folder.mkdir(parents=True, exist_ok=True)
        packages, settings = ("tensorflow", "tensorflow-cpu", "numpy"), {"step": STEP, "budget": options.budget}
        begun = stored_document.begin(VERSION, packages, settings)
        document = stored_document.read_to_go_on(path, begun) if path.exists() else {**begun, "rows": []}
        document["rows"].append(measure(folder, options.budget))
        stored_document.write(path, document)
        sys.stdout.write(measured_table(document))
        return
    document = stored_document.begin(VERSION, ("numpy",), {"series": options.simulate})
    document |= {
        "rows": [
            summary([simulated(seed, spread, *kind) for seed in range(options.simulate)])
            for kind in KINDS
            for spread in SPREADS
        ]
    }
    stored_document.write(options.json or STORED, document)
    sys.stdout.write(results_table(document))


if __name__ == "__main__":
    main()
