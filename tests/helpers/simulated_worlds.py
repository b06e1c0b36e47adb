"""Made-up rounds of whole reports with known truth, brought to the nouns of the judging half by its own code.

A world says what every variant of every setting really costs, in shares of the current callback's time, and what its
measurements vary by; the defaults are what was measured (docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.judge.candidates import Candidate, Setting, SettingComparison
from pyopbench.judge.contrasts import Contrasts
from pyopbench.judge.verdicts import shares_of
from pyopbench.stats import costs, launch_model
from pyopbench.stats.launch_model import RUN_EFFECT, LaunchModel, Shares

Floats: TypeAlias = npt.NDArray[np.float64]

TAIL = 5
"""Degrees of freedom of Student's t that launches differ by."""


@dataclass(frozen=True)
class World:
    """What is true, and how measurements of it vary.

    Attributes:
        truth: `(settings, sizes, labels)` float64, shares of the current time; the current callback is first,
            with 1.
        ports: which labels are ports, `(labels,)`.
        effort: rank of the work that each label takes, `(labels,)`; that of the current callback is not used.
        launch: standard deviation between launches of the log of a ratio of two labels.
        rounds: the same from round to round within a launch.
        added: standard deviation of a round that does not shrink with the cost, as a share of the current time: the
            call of a graph of copies, and of the empty function, are timed with it.
        run_effect: standard deviation from run to run of the log of all ports' costs over the callbacks'.
        unlike: standard deviation of the log of a factor on the spreads of each label, setting and size.
    """

    truth: Floats
    ports: tuple[bool, ...]
    effort: tuple[float, ...]
    launch: float = 0.035
    rounds: float = 0.15
    added: float = 0.0
    run_effect: float = 0.0
    unlike: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the labels, the current callback first."""
        return tuple(f"v{place:02}" for place in range(self.truth.shape[2]))

    def draw(self, launches: int, rounds: int, rng: np.random.Generator) -> Floats:
        """Return one run: costs over the current callback's in each round, `(rounds, launches, *truth.shape)`."""
        shape = self.truth.shape
        spread = np.exp(self.unlike * rng.standard_normal(shape)) / math.sqrt(2)
        per_launch = rng.standard_t(TAIL, (launches, *shape)) * math.sqrt((TAIL - 2) / TAIL)
        per_round = rng.standard_normal((rounds, launches, *shape))
        moved = self.run_effect * rng.standard_normal() * np.array(self.ports)
        cost = self.truth * np.exp(moved + spread * (self.launch * per_launch + self.rounds * per_round))
        if self.added:
            floor = rng.standard_normal((rounds, launches, *shape[:2], 1))
            cost += self.added * (rng.standard_normal(cost.shape) - floor) / math.sqrt(2)
        return cost / cost[..., :1]


@dataclass(frozen=True, eq=False)
class Report:
    """One run of a world, as the judging half holds it.

    Attributes:
        world: that it is of.
        ratios: as `World.draw`.
        run_effect: that is taken into account.
    """

    world: World
    ratios: Floats
    run_effect: float = RUN_EFFECT

    @cached_property
    def _medians(self) -> tuple[Floats, Floats]:
        return costs.median_and_error(self.ratios)

    @cached_property
    def shares(self) -> dict[str, Shares]:
        """Each case but the baselines, as verdicts are made of them."""
        medians, errors = self._medians
        launches, *rest = medians.shape
        names = [f"s{setting}/{size}/{label}" for setting, size, label in np.ndindex(*rest)]
        frame = pd.DataFrame(
            {"case": names * launches, "value": medians.ravel(), "error": errors.ravel()},
        )
        return shares_of(frame[~frame["case"].str.endswith("/0")])

    @cached_property
    def port_cases(self) -> frozenset[str]:
        """Ids of the cases that are ports."""
        return frozenset(case for case in self.shares if self.world.ports[int(case.rsplit("/", 1)[1])])

    def true_shares(self) -> Floats:
        """Return what is true of each case, in the order of `shares`."""
        places = [tuple(int(part) for part in case[1:].split("/")) for case in self.shares]
        return np.array([self.world.truth[place] for place in places])

    @cached_property
    def model(self) -> LaunchModel:
        """What launches differ by, fitted to all cases."""
        return launch_model.fit(list(self.shares.values()), self.run_effect)

    def contrasts(self, setting: int) -> Contrasts:
        """Return the contrasts of one setting, as `contrasts_of` makes them of a frame."""
        values = self.ratios[:, :, setting]
        medians, errors = costs.median_and_error(values[..., :, None] - values[..., None, :])
        world = self.world
        ports = frozenset(label for label, is_port in zip(world.labels, world.ports, strict=True) if is_port)
        return Contrasts(world.labels[0], ports, self.sizes, world.labels, medians, errors, 1, self.model)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The measured sizes, a decade apart."""
        return tuple(10 ** (place + 1) for place in range(self.world.truth.shape[1]))

    def candidates(self, contrasts: Contrasts) -> tuple[Candidate, ...]:
        """Return all labels but the current callback."""
        world = self.world
        rows = list(zip(world.labels, world.ports, world.effort, strict=True))[1:]
        return tuple(
            Candidate(label, "port" if is_port else "callback", effort, contrasts.shares(label))
            for label, is_port, effort in rows
        )

    def comparison(self, setting: int) -> SettingComparison:
        """Return the comparison of one setting; seconds and curves are not made up."""
        contrasts = self.contrasts(setting)
        where = Setting("op", "forward", "node", "float32", "cpu")
        sizes = self.sizes
        return SettingComparison(
            where, "v00", dict.fromkeys(sizes, 1.0), self.candidates(contrasts), pd.DataFrame(), contrasts, sizes, {}
        )


def run_of(world: World, launches: int, rounds: int, rng: np.random.Generator, **changes: float) -> Report:
    """Return a run of a world, judged without a run effect unless `run_effect` is given."""
    return Report(world, world.draw(launches, rounds, rng), **{"run_effect": 0.0, **changes})


def repeated(row: Sequence[float] | Floats, settings: int, sizes: int = 1) -> Floats:
    """Return a truth in which every setting and size has the same shares."""
    return np.tile(np.asarray(row, dtype=np.float64), (settings, sizes, 1))


def changed(world: World, **fields: float) -> World:
    """Return the world with some fields changed."""
    return replace(world, **fields)  # type: ignore[arg-type]
