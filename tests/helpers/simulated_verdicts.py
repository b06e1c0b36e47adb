"""Verdicts and their intervals on made-up runs: how often the intervals hold the truth, and what verdicts are false."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopbench.judge.verdicts import estimates_of, verdicts_from
from pyopbench.model.case import MINIMUM_EFFECT
from simulate import false_ones
from simulated_worlds import Report, World, repeated, run_of

SETTINGS = 28
SPREAD_OUT = (1.0, *np.exp(np.linspace(np.log(0.005), np.log(50), 7)).tolist())
"""Shares of the current time from half a percent to fifty times."""
IDENTICAL = (1.0,) * 8
AT_BORDER = (1.0,) + (1 + MINIMUM_EFFECT,) * 7


def world_of(row: tuple[float, ...], **fields: float) -> World:
    """Return a world of 196 ports, each setting with the same shares."""
    return World(repeated(row, SETTINGS), (False, *[True] * 7), tuple(range(-1, 7)), **fields)


@dataclass(frozen=True)
class Held:
    """What became of the verdicts of some reports.

    Attributes:
        covered: share of 95% intervals that hold the truth.
        false: share of reports with a false verdict.
        resolved: share of verdicts that are resolved.
    """

    covered: float
    false: float
    resolved: float


def held(world: World, launches: int, rounds: int, count: int, seed: int, known: float = 0.0) -> Held:
    """Return what becomes of the verdicts of so many runs of a world; `known` is the run effect in the model."""
    rng = np.random.default_rng(seed)
    return _mean([_of(run_of(world, launches, rounds, rng, run_effect=known)) for _ in range(count)])


def _of(report: Report) -> Held:
    baselines = dict.fromkeys(report.shares, "today")
    estimates = estimates_of(report.shares, baselines, report.port_cases, report.model, 1)
    true = report.true_shares()
    ends = 1 + np.array([one.interval() for one in estimates])
    verdicts = verdicts_from(estimates, baselines, MINIMUM_EFFECT)
    return Held(
        float(np.mean((ends[:, 0] <= true) & (true <= ends[:, 1]))),
        float(false_ones(verdicts, true, MINIMUM_EFFECT) > 0),
        float(np.mean([verdict.outcome != "unresolved" for verdict in verdicts])),
    )


def _mean(found: list[Held]) -> Held:
    return Held(*np.mean([(one.covered, one.false, one.resolved) for one in found], axis=0).tolist())
