"""Changes of the fastest along the sizes, candidates left out after a look, and contrasts, on made-up runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pyopbench.judge.interim_analysis import open_labels
from pyopbench.model.case import MINIMUM_EFFECT
from simulated_choices import chosen, true_losses
from simulated_worlds import Report, World, run_of


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
