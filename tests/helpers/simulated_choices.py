"""How rules of choice do on made-up runs with known truth: what is named twice alike, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pyopbench.judge.choice import Choice, Rules, Standing, choose
from pyopbench.judge.contrasts import Contrasts
from pyopbench.judge.program import even_mix
from pyopbench.model.case import MINIMUM_EFFECT
from simulated_worlds import Floats, Report, World, repeated, run_of

KEEP = ""
"""What a rule names that stays with the current callback, or leaves open what to do."""
LARGE_LOSS = 0.05
Rule: TypeAlias = Callable[[Choice, Contrasts], str]

EFFORT = (-1.0, 0.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0)
PORTS = (False, False, False, True, True, True, True, True)
MIXTURES: dict[str, tuple[float, ...]] = {
    "ports at 1%": (1.0, 0.8, 0.7, 0.02, 0.016, 0.01, 0.012, 0.05),
    "ports at 50%": (1.0, 0.95, 0.9, 0.6, 0.56, 0.5, 0.52, 0.75),
    "ports at 90%": (1.0, 1.0, 0.97, 0.95, 0.93, 0.9, 0.99, 1.2),
    "near ties at 50%": (1.0, 0.95, 0.9, 0.51, 0.5, 0.505, 0.5, 0.51),
    "one clear best": (1.0, 0.9, 0.8, 0.5, 0.45, 0.4, 0.2, 0.35),
    "nothing pays": (1.0, 1.0, 1.1, 1.05, 1.0, 1.2, 2.0, 4.0),
}
"""Shares of the current time of the current callback, two other callbacks and five ports."""
RANDOM = "ports near one another"


def world_of(name: str, rng: np.random.Generator, settings: int = 6, **fields: float) -> World:
    """Return a world of one kind; of `RANDOM` ones each is another.

    There callbacks take 60% to 110% of the current time, and ports differ by a lognormal factor (0.3) around 1% to 90%.
    """
    if name != RANDOM:
        return World(repeated(MIXTURES[name], settings), PORTS, EFFORT, **fields)
    truth = np.ones((settings, 1, len(PORTS)))
    truth[..., 1:3] = rng.uniform(0.6, 1.1, (settings, 1, 2))
    around = np.exp(rng.uniform(np.log(0.01), np.log(0.9), (settings, 1, 1)))
    truth[..., 3:] = around * np.exp(0.3 * rng.standard_normal((settings, 1, 5)))
    return World(truth, PORTS, EFFORT, **fields)


def ours(choice: Choice, contrasts: Contrasts) -> str:
    """Name what the product names."""
    return choice.label or KEEP


def within(points: float) -> Rule:
    """Name the least effort among those whose mean is within so much of the best; 0 names the smallest share."""
    return _by(lambda one, _: one.lag <= points)


def not_shown_worse(choice: Choice, contrasts: Contrasts) -> str:
    """Name the least effort among those that are not shown to cost the minimum effect more than the best."""
    return _by(lambda one, least: one.lag - one.reach <= least)(choice, contrasts)


def by_proof(choice: Choice, contrasts: Contrasts) -> str:
    """Begin with the least effort that clearly pays, and take more of it only where that is shown to pay as well.

    So the choice was made until shares of the current time were introduced.
    """
    mix = even_mix(contrasts.sizes)
    clear = [gain for gain in choice.gains if gain.saved_low > choice.minimum_effect]
    chosen = KEEP
    for gain in sorted(clear, key=lambda one: (one.candidate.effort, -one.saved, one.label)):
        if chosen == KEEP or contrasts.over(mix, chosen, gain.label).interval(gain.level)[0] > choice.minimum_effect:
            chosen = gain.label
    return chosen


def _by(is_in: Callable[[Standing, float], bool]) -> Rule:
    def rule(choice: Choice, contrasts: Contrasts) -> str:
        gains = {gain.label: gain for gain in choice.gains}
        fitting = [one for one in choice.standings if is_in(one, choice.minimum_effect)]
        for one in sorted(fitting, key=lambda one: (one.effort, one.share, one.label)):
            if one.label not in gains:
                return KEEP
            if gains[one.label].saved_low > choice.minimum_effect:
                return one.label
        return KEEP

    return rule


def within_doubt(choice: Choice, contrasts: Contrasts) -> str:
    """Name the least effort within the minimum effect, and up to as much again for all that the data cannot tell."""
    return _by(lambda one, least: one.lag <= least + min(one.reach, least))(choice, contrasts)


RULES: dict[str, Rule] = {
    "more effort only on proof (before)": by_proof,
    "not shown worse by 3 points, least effort": not_shown_worse,
    "smallest share": within(0.0),
    "within 3 points of the smallest, least effort": within(0.03),
    "within 5 points of the smallest, least effort": within(0.05),
    "within 3 points and up to 3 more for all doubt, least effort": within_doubt,
    "pyopbench: within 3 points and a standard error, least effort": ours,
}


@dataclass(frozen=True)
class Tally:
    """What came of one rule.

    Attributes:
        agree: share of decisions in which two independent runs named the same.
        loss: mean of what the named one really costs more than the best, in shares of the current time.
        large: share of decisions in which that is above `LARGE_LOSS`.
    """

    agree: float
    loss: float
    large: float


@dataclass(frozen=True)
class Bounds:
    """How often what is said beside the choice is true: the best is in the best set, and all bounds of losses hold.

    `provisional` is the share of answers that were said to be.
    """

    best_in_set: float
    losses: float
    provisional: float


def chosen(report: Report) -> list[tuple[Choice, Contrasts]]:
    """Return the choice in each setting of a report."""
    found = []
    for setting in range(len(report.world.truth)):
        contrasts = report.contrasts(setting)
        rules = Rules(MINIMUM_EFFECT)
        found.append((choose(report.candidates(contrasts), contrasts, even_mix(report.sizes), rules), contrasts))
    return found


def true_losses(report: Report, setting: int) -> dict[str, float]:
    """Return what each label really costs more than the best of a setting, over an even mix."""
    shares = even_mix(report.sizes).pull @ report.world.truth[setting]
    return dict(zip(report.world.labels, (shares - shares.min()).tolist(), strict=True))


def tallies(pairs: Iterable[Sequence[Report]], rules: dict[str, Rule] = RULES) -> tuple[dict[str, Tally], Bounds]:
    """Return what came of each rule in pairs of runs of the same world."""
    named: dict[str, list[tuple[str, str]]] = {name: [] for name in rules}
    lost: dict[str, list[float]] = {name: [] for name in rules}
    held: list[tuple[bool, bool, bool]] = []
    for pair in pairs:
        made = [chosen(report) for report in pair]
        for setting, both in enumerate(zip(*made, strict=True)):
            true = true_losses(pair[0], setting)
            held += [_held(choice, true) for choice, _ in both]
            for name, rule in rules.items():
                labels = [rule(*one) for one in both]
                named[name].append((labels[0], labels[-1]))
                lost[name] += [true[label or "v00"] for label in labels]
    result = {}
    for name in rules:
        losses: Floats = np.array(lost[name])
        agree = float(np.mean([first == last for first, last in named[name]]))
        result[name] = Tally(agree, float(losses.mean()), float(np.mean(losses > LARGE_LOSS)))
    return result, Bounds(*np.mean(held, axis=0).tolist())


def _held(choice: Choice, true: dict[str, float]) -> tuple[bool, bool, bool]:
    best = next(label for label, loss in true.items() if loss == 0)
    in_set = next(one.lag <= one.reach for one in choice.standings if one.label == best)
    return in_set, all(true[one.label] <= one.loss + 1e-12 for one in choice.standings), choice.is_provisional


@dataclass(frozen=True)
class Plan:
    """Runs to simulate: their `launches`, `rounds` of each, the run effect that is `there`, and that is `known`."""

    launches: int
    rounds: int = 28
    there: float = 0.0
    known: float = 0.0
    added: float = 0.05


def runs_of(name: str, plan: Plan, count: int, seed: int, times: int = 2, settings: int = 6) -> Iterator[list[Report]]:
    """Yield so many worlds of a kind, each by independent runs of it, `times` of them."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        world = world_of(name, rng, settings, added=plan.added, run_effect=plan.there)
        yield [run_of(world, plan.launches, plan.rounds, rng, run_effect=plan.known) for _ in range(times)]
