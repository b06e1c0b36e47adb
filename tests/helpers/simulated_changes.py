"""Changes of the fastest along the sizes, candidates left out after a look, and contrasts, on made-up runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pyopbench.judge.choice import Rules
from pyopbench.judge.crossovers import crossovers, size_trend_of
from pyopbench.judge.interim_analysis import open_labels
from pyopbench.model.case import MINIMUM_EFFECT
from simulated_choices import chosen, true_losses
from simulated_worlds import Report, World, repeated, run_of

IDENTICAL = 5
"""Candidates of a setting that cost what the current callback costs."""


@dataclass(frozen=True)
class Changes:
    """Shares of decisions, and of reports, with a change that is not there.

    Attributes:
        fastest: decisions that name a change of the fastest.
        fastest_in_report: reports with such a decision.
        trends: reports in which some candidate is said to cross the current callback.
    """

    fastest: float
    fastest_in_report: float
    trends: float


def false_changes(launches: int, rounds: int, count: int, seed: int, settings: int = 24) -> Changes:
    """Return what is named in so many reports of identical variants at three sizes."""
    ports = (False, *[True] * IDENTICAL)
    world = World(repeated(np.ones(1 + IDENTICAL), settings, 3), ports, tuple(range(-1, IDENTICAL)), added=0.05)
    rng, rules = np.random.default_rng(seed), Rules(MINIMUM_EFFECT)
    fastest, trends = [], []
    for _ in range(count):
        report = run_of(world, launches, rounds, rng)
        made = [report.comparison(setting) for setting in range(settings)]
        fastest.append([bool(crossovers(one, rules)) for one in made])
        each = ((one, candidate) for one in made for candidate in one.candidates)
        trends.append(any(size_trend_of(candidate, one, rules).answer == "crosses" for one, candidate in each))
    return Changes(float(np.mean(fastest)), float(np.any(fastest, axis=1).mean()), float(np.mean(trends)))


@dataclass(frozen=True)
class Dropped:
    """What a look made of decisions.

    Attributes:
        lost: share of decisions of which all that cost at most the minimum effect more than the best were left out, or
            that were called certain with an answer that costs more than that.
        certain: share of decisions that were called certain.
        left: mean share of the labels that were measured on where they were not.
    """

    lost: float
    certain: float
    left: float


def dropped(reports: Iterable[Report]) -> Dropped:
    """Return what `interim_analysis.open_labels` leaves of decisions."""
    lost, certain, left = [], [], []
    for report in reports:
        for setting, (choice, contrasts) in enumerate(chosen(report)):
            true, still = true_losses(report, setting), open_labels(choice)
            certain.append(not still)
            left += [len(still) / len(true)] if still else []
            kept = still or {choice.label or contrasts.baseline}
            lost.append(min(true[label] for label in kept) > MINIMUM_EFFECT)
    return Dropped(float(np.mean(lost)), float(np.mean(certain)), float(np.mean(left)) if left else 0.0)


@dataclass(frozen=True)
class Gained:
    """Contrasts from differences within rounds, against differences of two medians, over all pairs of candidates.

    Attributes:
        variance: between launches, over that of differences of medians.
        bias: the furthest that a mean over all launches and settings lies from the truth, in shares of the current
        time.
    """

    variance: float
    bias: float


def gained(world: World, launches: int, rounds: int, seed: int) -> Gained:
    """Return what direct differences gain in a world whose settings are all alike."""
    report = run_of(world, launches, rounds, np.random.default_rng(seed))
    found = [report.contrasts(setting) for setting in range(len(world.truth))]
    medians = np.concatenate([one.medians[:, 0] for one in found])
    alone = medians[:, :, 0]
    pairs = [(i, j) for i in range(1, alone.shape[1]) for j in range(1, i)]
    direct = np.stack([medians[:, i, j] for i, j in pairs])
    apart = np.stack([alone[:, i] - alone[:, j] for i, j in pairs])
    true = np.array([world.truth[0, 0, i] - world.truth[0, 0, j] for i, j in pairs])
    ratio = direct.var(axis=1) / apart.var(axis=1)
    return Gained(float(ratio.mean()), float(np.abs(direct.mean(axis=1) - true).max()))
