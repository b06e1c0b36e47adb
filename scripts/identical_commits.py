"""Print how many rows a gate tells apart where both revisions are one and the same commit.

python scripts/identical_commits.py FOLDER [--rows 2000] [--budget 8m] [--portion 60m] [--kept FILE] [OP...]

`pyopbench run --quick --rev HEAD --rev HEAD` of the built-in ops, or of those that are named, with one seed after the
other until there are so many rows, those of the control among them. Run the same command again to go on: what was
interrupted is resumed. After `--portion` nothing is begun that would probably end later. `FOLDER/summary.json`, or the
file that `--kept` names, keeps a row for each run; a run that has one is not made again, in whatever folder. Nothing
else may run meanwhile.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gate_trials import (
    Trial,
    apart_of_same,
    at_most,
    in_portions,
    keep,
    kept_rows,
    rows_of,
    still_to_run,
    told_apart,
)

from pyopbench.model.parse import parse_duration

REPOSITORY = Path(__file__).resolve().parents[1]
MOST_RUNS = 200
"""However few rows a run has."""


def row_of(trial: Trial, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what became of one run, as plain data; the control is two times the same as well, and counted apart."""
    rows = rows_of(answer)
    control = [] if answer["twins"] is None else answer["twins"]["cases"]
    kept = ("case", "ratio", "low", "high", "outcome")
    return {
        "run": trial.folder.name,
        "command": " ".join(trial.command),
        "commit": answer["first"]["commit"],
        "rows": len(rows),
        "control_rows": len(control),
        "outcomes": dict(Counter(row["outcome"] for row in (*rows, *control))),
        "told_apart": [{name: row[name] for name in kept} for row in told_apart([*rows, *control])],
        "other_values": [one for other in answer["others"] for one in other["values"]["differences"]],
        "gate": answer["outcome"],
        "smallest_found": answer["smallest_found"],
        "minutes": answer["seconds"] / 60,
    }


def lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each run, those that were told apart, and the share of all."""
    for row in rows:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(row["outcomes"].items()))
        measured = f"{row['rows']} rows and {row['control_rows']} of the control in {row['minutes']:.1f} min"
        yield f"{row['run']}: {measured}: {counts}"
        for one in row["told_apart"]:
            yield f"  {one['outcome']}: {one['case']} {one['ratio']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        for one in row["other_values"]:
            yield f"  other values: {one}"
    apart, of = apart_of_same(rows)
    if of:
        yield f"{apart} of {of} rows told apart: at most {at_most(apart, of):.2%} (95% confidence)"


def main() -> None:
    """Measure until there are enough rows or the portion is spent, print what came out, and keep the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--budget", default="8m")
    parser.add_argument("--portion", type=parse_duration, default=None)
    parser.add_argument("--kept", type=Path, default=None)
    asked = parser.parse_intermixed_args()
    folder = asked.folder.resolve()
    summary = asked.kept or folder / "summary.json"
    options = ("--quick", "--budget", asked.budget)
    trials = [
        Trial(
            folder / f"seed-{seed}",
            REPOSITORY,
            tuple(asked.ops),
            ("HEAD", "HEAD"),
            (*options, "--settings", f"seed={seed}"),
        )
        for seed in range(MOST_RUNS)
    ]
    rows = kept_rows(summary)
    enough = apart_of_same(rows)[1] >= asked.rows
    for trial, answer in in_portions([] if enough else still_to_run(trials, rows), asked.portion):
        rows.append(row_of(trial, answer))
        keep(summary, {"rows": rows})
        if apart_of_same(rows)[1] >= asked.rows:
            break
    for line in lines(rows):
        sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
