"""Print how far the answers of runs of the same agree, each valued by what the others found, and what runs differ by.

python scripts/repeated_runs.py RUN RUN [RUN...]     folders of runs of the same commit on the same machine
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.repetition import Repetition, repetition_of, run_effect_of
from pyopbench.model import formatting
from pyopbench.store.read import read_one

LEAST_RUNS = 2


def lines_of_run(judgement: Judgement) -> Iterator[str]:
    """Yield what one run has made and how precise it is."""
    errors = [made[0].gain.change.standard_error for _, made in judgement.choices if made and made[0].gain]
    undecided = sum(decision.action == "undecided" for decision in judgement.decisions)
    provisional = sum(decision.is_provisional for decision in judgement.decisions)
    yield (
        f"{judgement.run.name}: {len(judgement.run.launches)} launches, {len(judgement.decisions)} decisions, "
        f"{undecided} undecided, {provisional} provisional; standard error of what is saved: median "
        f"{100 * statistics.median(errors):.2f} points, at most {100 * max(errors):.2f}"
    )


def lines_of_all(found: Repetition) -> Iterator[str]:
    """Yield how the answers agree."""
    coverage = "no interval" if found.coverage is None else f"{formatting.percent(found.coverage)} of intervals"
    worst = f"{100 * found.worst.loss:.2f} ({found.worst.key[0]} {found.worst.key[1]})" if found.worst else "none"
    yield (
        f"{len(found.renamed)} of {found.decisions} decisions renamed; loss in points of the current time: mean "
        f"{100 * found.mean_loss:.2f}, worst {worst}; {len(found.unbounded)} answers whose bound excludes what the "
        f"others found; {coverage} hold what the others found"
    )
    for key, answers in found.renamed.items():
        losses = [f"{100 * one.loss:.1f}" for one in found.answers if one.key == key]
        each = formatting.listing([answer.text() for answer in answers], "then")
        yield f"  {key[0]} {key[1]}: {each}; {', '.join(losses)}"
    for one in found.unbounded:
        yield f"  {one.key[0]} {one.key[1]}, run {one.run + 1}: {100 * one.loss:.2f} above {100 * (one.bound or 0):.2f}"


def main() -> None:
    """Read the runs that are named and print."""
    if len(sys.argv) <= LEAST_RUNS:
        sys.exit(__doc__)
    judgements = [judge_run(read_one([Path(folder)])) for folder in sys.argv[1:]]
    lines = [line for judgement in judgements for line in lines_of_run(judgement)]
    lines += lines_of_all(repetition_of(judgements))
    effect = run_effect_of(judgements)
    if effect is not None:
        ends = " to ".join(f"{100 * end:.1f}%" for end in (effect.low, effect.high))
        lines.append(
            f"ports differ from run to run by {100 * effect.deviation:.1f}% ({ends}), {effect.cases} cases; intervals "
            f"would allow for {100 * effect.allowed:.1f}%"
        )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
