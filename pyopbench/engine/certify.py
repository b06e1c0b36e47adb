"""How reliable pyopbench is on this machine: runs with known answers, judged as any other run is.

Controls are A/A controls, which are the same code in a graph of their own, and the current callback slowed down by a
known share of its cost. They are measured in the mode of the main job and by the same workers, all of them equally
long, and each is compared with the variant that it is made from.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec.structs import replace
from scipy import stats

from pyopbench.engine import plan, sides, stored_run
from pyopbench.engine.run import Busy, Event, measure
from pyopbench.judge import judge
from pyopbench.judge.decision import Verdict
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT, Axes, Case
from pyopbench.model.discover import CONTROLS, PATH_VARIABLE
from pyopbench.model.errors import NothingMeasured
from pyopbench.model.files import write_atomically
from pyopbench.store.json_file import encode_in_lines
from pyopbench.store.types import Settings

FILE = "certificate.json"
BASES = ("native", "numpy_function", BASELINE)
"""Variants that have an A/A control: code that runs without a bridge, and over either of two."""
MODE = "node"
"""What the main job measures."""
DIRECTIONS = ("forward", "forward_backward")
HOW = judge.Judging(BASELINE, MINIMUM_EFFECT)

PROMISES: tuple[tuple[int, str, tuple[str, ...], Literal["at least", "at most"], float], ...] = (
    (0, "A/A controls, found equivalent", ("equivalent",), "at least", 0.95),
    (0, "A/A controls, found different", ("slower", "faster"), "at most", 0.001),
    (5, "slowed by 5%, found", ("slower",), "at least", 0.95),
    (10, "slowed by 10%, found", ("slower",), "at least", 0.99),
)
"""By how many percent pairs differ (0: A/A controls), the outcomes that are counted, and the share that is promised."""
INJECTED = tuple(percent for percent, *_ in PROMISES if percent)
"""Injected slowdowns in percent, all above the minimum effect: for one of exactly 3%, nothing could be promised."""
LEVEL = 0.95
LEAST_LAUNCHES = 2
"""A pair that was measured in fewer has no interval, and so could not be judged at all."""


@dataclass(frozen=True)
class Trial:
    """A run of controls; of `percents`, 0 is the A/A control of each of `BASES`."""

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    percents: tuple[int, ...]
    settings: Settings


# To show a pair equal, or a slowdown by 5% to be above 3%, takes a standard error of about half a point. A second of
# blocks leaves 2 to 6 points (2 cores) and launches of the same code differ by little else. With 300 rounds at the most
# 67 of 72 pairs were shown equal and 10 of 12 slowdowns by 5% found, with 450 all of both (docs/certification.md).
# All get the same, and none is looked at before the end: what is resolved early would have been resolved cheaply, and
# every interim analysis would ask more of all others.
CONTROL_SETTINGS = replace(plan.FULL, first_rounds=450, rounds=450, until="end", group_seconds=3.5)
QUICK_SETTINGS = replace(CONTROL_SETTINGS, first_rounds=150, rounds=150, group_seconds=1.0)
SIZES = (1, 1_000, 100_000)
FULL = (
    Trial(("sinh", "relu"), SIZES, (0,), replace(CONTROL_SETTINGS, budget_seconds=1_100.0)),
    Trial(("log", "square"), SIZES, (0,), replace(CONTROL_SETTINGS, budget_seconds=1_100.0)),
    Trial(("sinh", "square", "log"), (1_000, 100_000), INJECTED, replace(CONTROL_SETTINGS, budget_seconds=700.0)),
)
QUICK = (
    Trial(("sinh", "square"), (1, 100_000), (0,), replace(QUICK_SETTINGS, budget_seconds=105.0)),
    Trial(("sinh",), (1_000,), INJECTED, replace(QUICK_SETTINGS, budget_seconds=75.0)),
)


@dataclass(frozen=True)
class Figure:
    """How many pairs came out in some way, of how many, and the share of them that is promised.

    `bound` is the one-sided 95% bound of Clopper and Pearson of the true share: from below for a promise of at least
    so much, from above for one of at most. It takes pairs for independent, though those of a launch are not.
    """

    what: str
    hits: int
    pairs: int
    promise: Literal["at least", "at most"]
    share: float
    bound: float

    @property
    def found(self) -> str:
        """The result as it is printed."""
        return f"{self.hits:,} of {self.pairs:,} ({self.promise} {formatting.percent(self.bound)})"

    @property
    def promised(self) -> str:
        """The promise as it is printed."""
        return f"{self.promise} {formatting.percent(self.share)}"

    @property
    def is_kept(self) -> bool:
        """Whether the result is as promised; not if no pair was judged."""
        promised = self.share * self.pairs
        return self.pairs > 0 and (self.hits >= promised if self.promise == "at least" else self.hits <= promised)


def certify(
    folder: Path, trials: Sequence[Trial], command: tuple[str, ...]
) -> Generator[Event | tuple[Figure, ...], None, None]:
    """Measure how reliable pyopbench is here, and store the certificate in the folder of its runs.

    Yields what happens, and at last a figure for each promise; raises `NothingMeasured` if no A/A control was measured.
    """
    runs = []
    for number, trial in enumerate(trials, start=1):
        names = controls(trial.percents)
        axes = Axes(
            ops=trial.ops,
            sizes=trial.sizes,
            variants=tuple(dict.fromkeys((BASELINE, *names.values(), *names))),
            modes=(MODE,),
            directions=DIRECTIONS,
            parts=False,
        )
        settings = replace(trial.settings, seed=number, pairs=names)
        with controls_found():
            yield Busy(f"planning run {number} of {len(trials)}")
            run = sides.begin(folder / f"controls-{number}", plan.Request(axes, settings, command))
            yield from measure(run, HOW)
        stored_run.require_measured(run.measured[0])
        runs.append(run)
    verdicts = [verdict for run in runs for verdict in judge.judge([run], HOW).verdicts]
    figures = figures_of(verdicts)
    if not figures[0].pairs:
        raise NothingMeasured(
            "cannot certify: no A/A control was measured in two launches",
            received=folder,
            hint=f"pyopbench report {folder}/controls-1 shows what failed; then certify again",
        )
    certificate = {"environment": runs[0].measured[0].side.environment, "figures": figures}
    write_atomically(folder / FILE, encode_in_lines(certificate))
    yield figures


def controls(percents: tuple[int, ...]) -> dict[str, str]:
    """Return the controls that are slowed down by some percents (0 for A/A), each with its original.

    Only the current callback has slowed copies, because a slowdown is a share of the current time.
    """
    slowed = {f"{BASELINE}_slowed_{percent}": BASELINE for percent in percents if percent}
    return ({f"{base}_twin": base for base in BASES} if 0 in percents else {}) | slowed


@contextmanager
def controls_found() -> Iterator[None]:
    """Let workers find controls, and nothing that is somebody's own: what is shipped is what is certified."""
    before = os.environ.get(PATH_VARIABLE)
    os.environ[PATH_VARIABLE] = str(CONTROLS)
    try:
        yield
    finally:
        os.environ.pop(PATH_VARIABLE) if before is None else os.environ.update({PATH_VARIABLE: before})


def figures_of(verdicts: Iterable[Verdict]) -> tuple[Figure, ...]:
    """Return how the verdicts on pairs came out, a figure for each promise."""
    judged = [(Case.from_id(one.case).variant, one.outcome) for one in verdicts if one.launches >= LEAST_LAUNCHES]
    figures = []
    for percent, what, counted, promise, share in PROMISES:
        outcomes = [outcome for variant, outcome in judged if variant in controls((percent,))]
        hits, pairs = sum(outcome in counted for outcome in outcomes), len(outcomes)
        bound = 0.0 if promise == "at least" else 1.0
        if pairs:
            test = stats.binomtest(hits, pairs, alternative="greater" if promise == "at least" else "less")
            interval = test.proportion_ci(LEVEL, method="exact")
            bound = float(interval.low if promise == "at least" else interval.high)
        figures.append(Figure(what, hits, pairs, promise, share, bound))
    return tuple(figures)
