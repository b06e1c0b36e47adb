"""How much is measured for a certificate: runs of controls, and the main job several times between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyopbench.engine import start
from pyopbench.engine.settings import Settings
from pyopbench.model.case import BASELINE

BASES = ("native", "numpy_function", BASELINE)
"""Variants that have a twin: code that runs without a bridge, and over either of two."""
INJECTED = (5, 10)
"""Percent: above the minimum effect. At 3%, on it, nothing could be promised."""


@dataclass(frozen=True)
class Trial:
    """A run of controls.

    Attributes:
        ops, sizes: what is measured.
        percents: by how much the current callback is slowed down; 0 is the twin of each of `BASES`.
        seconds: its budget, on a machine that is not slower than planned for.
    """

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    percents: tuple[int, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What its folder and its progress are called."""
        return "controls"


@dataclass(frozen=True)
class MainJob:
    """A run of the main job, as `pyopbench run --quick` measures it.

    Attributes:
        ops: what is measured; empty for all, as the main job has them.
        seconds: its budget.
    """

    ops: tuple[str, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What its folder and its progress are called."""
        return "decisions"


@dataclass(frozen=True)
class Extent:
    """How much is measured.

    Attributes:
        settings: how to measure controls; the budget is that of the trial.
        trials: runs of controls, the first of twins: without those nothing is certified.
        job: what is repeated.
        times: how often, spread in time between the trials.
        seconds: when all of it is to be over.
    """

    settings: Settings
    trials: tuple[Trial, ...]
    job: MainJob
    times: int
    seconds: float

    def stages(self) -> Iterator[tuple[int, Trial | MainJob]]:
        """Yield all runs in their order, each with its number among its like, from 1."""
        trials = len(self.trials)
        before = [round(place * trials / max(self.times - 1, 1)) for place in range(self.times)]
        for place in range(trials + 1):
            yield from ((number + 1, self.job) for number, one in enumerate(before) if one == place)
            if place < trials:
                yield place + 1, self.trials[place]


# To show a pair equal, or a slowdown by 5% to be above 3%, takes a standard error of about half a point. A second of
# blocks leaves 2 to 6 points (2 cores) and launches of the same code differ by little else. With 300 rounds at the most
# 67 of 72 pairs were shown equal and 10 of 12 slowdowns by 5% found, with 450 all of both (docs/certification.md).
# All get the same, and none is looked at before the end: what is resolved early would have been resolved cheaply, and
# every look would ask more of all others.
CONTROLS = replace(start.FULL, first_rounds=450, rounds=450, until="end", group_seconds=3.5, further=False)
SIZES = (1, 1_000, 100_000)
FULL = Extent(
    settings=CONTROLS,
    trials=(
        Trial(("sinh", "relu"), SIZES, (0,), 1_100.0),
        Trial(("log", "square"), SIZES, (0,), 1_100.0),
        Trial(("sinh", "square", "log"), (1_000, 100_000), INJECTED, 700.0),
    ),
    job=MainJob((), 170.0),
    times=3,
    seconds=3_700.0,
)
QUICK = Extent(
    settings=replace(CONTROLS, first_rounds=150, rounds=150, group_seconds=1.0),
    trials=(
        Trial(("sinh", "square"), (1, 100_000), (0,), 105.0),
        Trial(("sinh",), (1_000,), INJECTED, 75.0),
    ),
    job=MainJob(("relu", "sinh", "square"), 50.0),
    times=2,
    seconds=345.0,
)
