"""Print the tables of docs/statistics.md, as Markdown, or write them there.

python tests/helpers/simulation_tables.py verdicts looks power choices bounds dropped changes contrasts ...
python tests/helpers/simulation_tables.py --write power     the same between its marks in docs/statistics.md

Everything is seeded: the same code prints the same figures.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import simulate
import simulated_gates
import simulated_states
import simulated_verdicts
from places import ROOT
from pyopbench.judge.verdicts import INTERLEAVED_ERROR
from simulated_changes import dropped, false_changes, gained
from simulated_choices import MIXTURES, RANDOM, RULES, Plan, runs_of, tallies, world_of

PAGE = ROOT / "docs" / "statistics.md"
EFFECT = 0.04
EFFECTS = ((0.0, 0.0), (EFFECT, 0.0), (EFFECT, EFFECT))
"""The run effect that is there, and that is in the model."""
REPORTS = 40
"""Of a row of `verdicts`, and of a cell of `looks`."""
POWER_REPORTS = 4
OF_REPORT = 6
"""Decisions of a report of `choices` and `dropped`."""
CHOICE_RUNS, CHOICE_ROUNDS = 100, 28
BOUND_RUNS, BOUND_SETTINGS = 60, 2
CHANGE_REPORTS = 60
DROPPED = Plan(3, 6, EFFECT, EFFECT)
DROPPED_RUNS = 60
CONTRAST_SETTINGS, CONTRAST_LAUNCHES = 60, 6
SLOWDOWNS = (1.15, 1.3)
PAIRS = 100
"""Of two runs, a row of `unpaired`; half as many for slowdowns."""

ERRORS = (0.05, INTERLEAVED_ERROR)
GATES = ((45, 2), (45, 3), (400, 2))
"""Cases and launches."""
GATE_ROWS, MOST_GATES, GATE_SLOWDOWNS = 4_500, 200, 20
"""Rows and gates of identical code at the most, and gates of slower code, a cell of `gates`."""
STATE_BLOCKS = ((8, 1), (12, 1), (8, 3), (8, 30))
STATE_GATES = 1_000
"""Number of gates in a row of `states`."""


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
                found = simulated_verdicts.held(world, launches, rounds, REPORTS, 1)
                numbers = f"{found.covered:.1%} | {found.false:.1%} | {found.resolved:.0%}"
                yield f"| {name} | {spreads} | {launches} | {rounds} | {numbers} |"


def looks() -> Iterator[str]:
    yield "| families of 200 | false, minimum effect 3% | at the border of 3% | no minimum effect |"
    for name, setting in simulate.KINDS.items():
        found = (simulate.alarms(simulate.changed(setting, **one), REPORTS, 1).families for one in simulate.CHANGES)
        yield f"| {name} | {' | '.join(f'{share:.1%}' for share in found)} |"


def power() -> Iterator[str]:
    yield "| slowdown | spread of a launch | analyses after | found | launches taken |"
    for schedule in (simulate.FEW_LOOKS, (8,), simulate.MANY_LOOKS):
        for spread in (0.01, 0.02):
            for ratio in (1.05, 1.10):
                found = simulate.power(simulate.Setting(ratio, spread, looks=schedule), POWER_REPORTS, 2)
                after = ", ".join(map(str, schedule))
                yield f"| {ratio - 1:.0%} | {spread:.0%} | {after} | {found.found:.0%} | {found.launches:.1f} |"


def choices() -> Iterator[str]:
    yield "| rule | launches x rounds | same name | mean loss, points | loss above 5 points |"
    for launches, rounds in ((2, 8), *((launches, CHOICE_ROUNDS) for launches in (2, 3, 4))):
        found, _ = tallies(runs_of(RANDOM, Plan(launches, rounds, EFFECT, EFFECT), CHOICE_RUNS, 1, settings=OF_REPORT))
        for name, one in found.items():
            numbers = f"{one.agree:.2f} | {100 * one.loss:.2f} | {one.large:.1%}"
            yield f"| {name} | {launches} x {rounds} | {numbers} |"


def bounds() -> Iterator[str]:
    yield "| setting | launches | best in the set | no run effect | 4% | 4%, known | provisional | same name | loss |"
    ours = dict(list(RULES.items())[-1:])
    for name in (*MIXTURES, RANDOM):
        for launches in (2, 3, 4):
            plans = (Plan(launches, CHOICE_ROUNDS, there, known) for there, known in EFFECTS)
            made = [tallies(runs_of(name, plan, BOUND_RUNS, 1, settings=BOUND_SETTINGS), ours) for plan in plans]
            cells = [f"{made[-1][1].best_in_set:.1%}", *(f"{said.losses:.1%}" for _, said in made)]
            (one,), said = made[-1][0].values(), made[-1][1]
            cells += [f"{said.provisional:.0%}", f"{one.agree:.2f}", f"{100 * one.loss:.1f}"]
            yield f"| {name} | {launches} | {' | '.join(cells)} |"


def left_out() -> Iterator[str]:
    yield "| setting | run effect | best left out | certain | labels that are measured on |"
    for name in (*MIXTURES, RANDOM):
        for effect, there in (("none", 0.0), (f"{EFFECT:.0%}", EFFECT)):
            plan = replace(DROPPED, there=there)
            found = dropped(one for (one,) in runs_of(name, plan, DROPPED_RUNS, 2, times=1, settings=OF_REPORT))
            yield f"| {name} | {effect} | {found.lost:.1%} | {found.certain:.0%} | {found.left:.0%} |"


def changes() -> Iterator[str]:
    yield "| launches | rounds | decisions with a change | reports with one | reports with a crossing trend |"
    for launches in (2, 3):
        for rounds in (8, 28):
            found = false_changes(launches, rounds, CHANGE_REPORTS, 1)
            numbers = f"{found.fastest:.2%} | {found.fastest_in_report:.1%} | {found.trends:.1%}"
            yield f"| {launches} | {rounds} | {numbers} |"


def contrasts() -> Iterator[str]:
    yield "| setting | rounds | variance | largest bias, points |"
    for name in MIXTURES:
        for rounds in (8, 28):
            world = world_of(name, np.random.default_rng(1), CONTRAST_SETTINGS, added=0.05)
            found = gained(world, CONTRAST_LAUNCHES, rounds, 1)
            yield f"| {name} | {rounds} | {found.variance:.2f} | {100 * found.bias:.1f} |"


def unpaired(count: int = PAIRS) -> Iterator[str]:
    first, second = (f"{100 * ratio - 100:.0f}%" for ratio in SLOWDOWNS)
    yield f"| cases | runs differ by | how | pairs with a false verdict | slowdown by {first} found | by {second} |"
    for cases in (10, 30, 100):
        for spread in (0.01, 0.03, 0.06):
            for name, moves in simulate.NOISY.items():
                false = [simulate.unpaired_outcomes(cases, spread, moves, seed, 1.0) for seed in range(count)]
                cells = [f"{np.mean(['slower' in one or 'faster' in one for one in false]):.0%}"]
                for ratio in SLOWDOWNS:
                    found = [
                        simulate.unpaired_outcomes(cases, spread, moves, seed, ratio)[0] for seed in range(count // 2)
                    ]
                    cells.append(f"{np.mean([one == 'slower' for one in found]):.0%}")
                yield f"| {cases} | {spread:.0%} | {name} | {' | '.join(cells)} |"


def gates() -> Iterator[str]:
    head = " | ".join(
        f"{what} at {error:.0%}" for what in ("rows found different", "gates", "5% found") for error in ERRORS
    )
    yield f"| cases | launches | launches differ by | {head} |"
    for cases, launches in GATES:
        for name, noise in simulated_gates.NOISES.items():
            some = [simulated_gates.Gate(cases, launches, noise, error) for error in ERRORS]
            false = [simulated_gates.false_alarms(one, min(GATE_ROWS // cases, MOST_GATES), 1) for one in some]
            found = [simulated_gates.found_slower(one, 0.05, GATE_SLOWDOWNS, 2) for one in some]
            cells = [f"{one.rows:.2%}" for one in false] + [f"{one.gates:.1%}" for one in false]
            cells += [f"{one.gates:.0%}" for one in found]
            yield f"| {cases} | {launches} | {name} | {' | '.join(cells)} |"


def states() -> Iterator[str]:
    ends = " | ".join(f"{what} | with the rule" for what in ("found different", "length of the interval", "10% found"))
    yield f"| slow core | blocks | pairs in each | discarded | {ends} |"
    for state, text in simulated_states.STATES.items():
        for blocks, sweeps in STATE_BLOCKS:
            judged = simulated_states.gates(state, blocks, sweeps, STATE_GATES)
            cells = [f"{one.told_apart / STATE_GATES:.1%}" for one in judged]
            cells += [f"{one.width:.3f}" for one in judged]
            cells += [f"{one.found / STATE_GATES:.0%}" for one in judged]
            yield f"| {text} | {blocks} | {sweeps} | {judged[1].discarded:.1%} | {' | '.join(cells)} |"


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
    "gates": gates,
    "states": states,
}


def block(name: str) -> re.Pattern[str]:
    """Return what finds a table of the page, `head` and `rows`, and the marks around it."""
    table = r"(?P<head>[^\n]+)\n[^\n]+\n(?P<rows>.*?)"
    return re.compile(rf"(?P<begin><!-- printed: {name} -->\n\n){table}(?P<end>\n<!-- end of print -->)", re.DOTALL)


def _between(made: str, found: re.Match[str]) -> str:
    return found["begin"] + made + found["end"]


def main(arguments: list[str]) -> None:
    is_written = "--write" in arguments
    for name in [one for one in arguments if one != "--write"] or list(TABLES):
        lines = TABLES[name]()
        head = next(lines)
        made = f"{head}\n{'|---' * (head.count('|') - 1)}|\n"
        sys.stdout.write(f"\n{made}")
        for line in lines:
            made += f"{line}\n"
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        if is_written:
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(block(name).sub(partial(_between, made), page), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
