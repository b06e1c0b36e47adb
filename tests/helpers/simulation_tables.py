"""Write the tables of docs/statistics.md, as Markdown.

python tests/helpers/simulation_tables.py verdicts looks power choices bounds dropped changes contrasts unpaired
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

import simulate
import simulated_verdicts
from pyopbench.stats.looks import look_schedule
from simulated_changes import dropped, false_changes, gained
from simulated_choices import MIXTURES, RANDOM, RULES, Plan, runs_of, tallies, world_of

EFFECTS = ((0.0, 0.0), (0.04, 0.0), (0.04, 0.04))
"""The run effect that is there, and that is in the model."""


def verdicts() -> Iterator[str]:
    yield "| shares | spreads | launches | rounds | hold | reports with a false one | resolved |"
    rows = {
        "0.005 to 50": simulated_verdicts.SPREAD_OUT,
        "1 (identical)": simulated_verdicts.IDENTICAL,
        "1.03 (at the border)": simulated_verdicts.AT_BORDER,
    }
    for name, row in rows.items():
        for spreads, unlike in (("alike", 0.0), ("unlike, lognormal 0.5", 0.5)):
            for launches, rounds in ((2, 8), (2, 40), (3, 8), (3, 40), (4, 28), (8, 28)):
                world = simulated_verdicts.world_of(row, unlike=unlike, added=0.05)
                found = simulated_verdicts.held(world, launches, rounds, 40, 1)
                numbers = f"{found.covered:.1%} | {found.false:.1%} | {found.resolved:.0%}"
                yield f"| {name} | {spreads} | {launches} | {rounds} | {numbers} |"


def looks() -> Iterator[str]:
    yield "| families of 200 | false, minimum effect 3% | at the border of 3% | no minimum effect |"
    for name, setting in simulate.KINDS.items():
        found = (simulate.alarms(simulate.changed(setting, **one), 40, 1).families for one in simulate.CHANGES)
        yield f"| {name} | {' | '.join(f'{share:.1%}' for share in found)} |"


def power() -> Iterator[str]:
    yield "| slowdown | spread of a launch | looks after | found | launches taken |"
    for schedule in (look_schedule(3, 8), (8,), look_schedule(4, 24)):
        for spread in (0.01, 0.02):
            for ratio in (1.05, 1.10):
                found = simulate.power(simulate.Setting(ratio, spread, looks=schedule), 4, 2)
                after = ", ".join(map(str, schedule))
                yield f"| {ratio - 1:.0%} | {spread:.0%} | {after} | {found.found:.0%} | {found.launches:.1f} |"


def choices() -> Iterator[str]:
    yield "| rule | launches x rounds | same name | mean loss, points | loss above 5 points |"
    for launches, rounds in ((2, 8), (2, 28), (3, 28), (4, 28)):
        found, _ = tallies(runs_of(RANDOM, Plan(launches, rounds, 0.04, 0.04), 100, 1))
        for name, one in found.items():
            numbers = f"{one.agree:.2f} | {100 * one.loss:.2f} | {one.large:.1%}"
            yield f"| {name} | {launches} x {rounds} | {numbers} |"


def bounds() -> Iterator[str]:
    yield "| setting | launches | best in the set | no run effect | 4% | 4%, known | provisional | same name | loss |"
    ours = dict(list(RULES.items())[-1:])
    for name in (*MIXTURES, RANDOM):
        for launches in (2, 3, 4):
            plans = (Plan(launches, 28, there, known) for there, known in EFFECTS)
            made = [tallies(runs_of(name, plan, 60, 1, settings=2), ours) for plan in plans]
            cells = [f"{made[-1][1].best_in_set:.1%}", *(f"{said.losses:.1%}" for _, said in made)]
            (one,), said = made[-1][0].values(), made[-1][1]
            cells += [f"{said.provisional:.0%}", f"{one.agree:.2f}", f"{100 * one.loss:.1f}"]
            yield f"| {name} | {launches} | {' | '.join(cells)} |"


def left_out() -> Iterator[str]:
    yield "| setting | run effect | best left out | certain | labels that are measured on |"
    for name in (*MIXTURES, RANDOM):
        for effect, there in (("none", 0.0), ("4%", 0.04)):
            plan = Plan(3, 6, there, 0.04)
            found = dropped(one for (one,) in runs_of(name, plan, 60, 2, times=1))
            yield f"| {name} | {effect} | {found.lost:.1%} | {found.certain:.0%} | {found.left:.0%} |"


def changes() -> Iterator[str]:
    yield "| launches | rounds | decisions with a change | reports with one | reports with a crossing trend |"
    for launches in (2, 3):
        for rounds in (8, 28):
            found = false_changes(launches, rounds, 60, 1)
            numbers = f"{found.fastest:.2%} | {found.fastest_in_report:.1%} | {found.trends:.1%}"
            yield f"| {launches} | {rounds} | {numbers} |"


def contrasts() -> Iterator[str]:
    yield "| setting | rounds | variance | largest bias, points |"
    for name in MIXTURES:
        for rounds in (8, 28):
            world = world_of(name, np.random.default_rng(1), 60, added=0.05)
            found = gained(world, 6, rounds, 1)
            yield f"| {name} | {rounds} | {found.variance:.2f} | {100 * found.bias:.1f} |"


def unpaired(count: int = 100) -> Iterator[str]:
    yield "| cases | runs differ by | how | pairs with a false verdict | slowdown by 15% found | by 30% |"
    for cases in (10, 30, 100):
        for spread in (0.01, 0.03, 0.06):
            for name, moves in simulate.NOISY.items():
                false = [simulate.unpaired_outcomes(cases, spread, moves, seed, 1.0) for seed in range(count)]
                cells = [f"{np.mean(['slower' in one or 'faster' in one for one in false]):.0%}"]
                for ratio in (1.15, 1.3):
                    found = [
                        simulate.unpaired_outcomes(cases, spread, moves, seed, ratio)[0] for seed in range(count // 2)
                    ]
                    cells.append(f"{np.mean([one == 'slower' for one in found]):.0%}")
                yield f"| {cases} | {spread:.0%} | {name} | {' | '.join(cells)} |"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "verdicts": verdicts,
    "looks": looks,
    "power": power,
    "choices": choices,
    "bounds": bounds,
    "dropped": left_out,
    "changes": changes,
    "contrasts": contrasts,
    "unpaired": unpaired,
}


def main(names: list[str]) -> None:
    for name in names or list(TABLES):
        lines = TABLES[name]()
        head = next(lines)
        sys.stdout.write(f"\n{head}\n{'|---' * (head.count('|') - 1)}|\n")
        for line in lines:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
