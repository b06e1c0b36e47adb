"""What to do about a callback in an input pipeline: the choice among its arrangements, by the rules of all choices.

What is compared is the time of an element, in shares of the current callback's in a plain `map`. A training step that
overlaps with its input takes the longer of the two, so with a step the time of an element is `max(input, step)`: what
hides behind the step costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pyopbench.judge.candidates import Candidate
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.contrasts import contrasts_of
from pyopbench.judge.lock_share import LockShare, lock_share
from pyopbench.judge.mix import even_mix
from pyopbench.judge.verdicts import shares_of
from pyopbench.model.arrangement import Action, Arrangement
from pyopbench.stats import costs
from pyopbench.stats.estimate import UNIT, Estimate, exp, moderated
from pyopbench.stats.launch_model import fit

THREADS: Action = "parallel"
"""What is done to have a callback called by several threads."""
FEWEST_LAUNCHES = 2
"""With fewer there is no interval: what was measured in one launch alone is shown, and not chosen."""
ALIKE = 0.2
"""How much longer than with the best an element may take, as a share, without more effort being worth it: in the usual
time less is told about every second time only, and arrangements about as good would take turns in the answer
(`benchmarks/pipeline_pairs.py`)."""
LOOP_SECONDS = 1.5e-3
"""Python of a training loop in each step, as Keras' `fit` has it, for which a callback may have to wait, or it for the
callback: both need the interpreter's lock."""


@dataclass(frozen=True)
class TrainingStep:
    """A step that takes its elements from the pipeline and overlaps with it.

    Attributes:
        elements: that one step takes.
        seconds: that it takes with its input at hand; None where it is not known.
    """

    elements: int
    seconds: float | None = None

    @property
    def floor(self) -> float:
        """Seconds an element below which input hides behind the step; 0 where the step is not known."""
        return 0.0 if self.seconds is None else self.seconds / self.elements


@dataclass(frozen=True)
class Throughput:
    """What one arrangement delivers.

    Attributes:
        arrangement: which.
        seconds: for an element.
        low, high: of these, the interval of 95% over launches; nan for one launch.
        launches: in which it was measured.
        pool_start_seconds: what starting its processes took, the median; None where it has none.
        is_steady: had it become steady in every launch, before it was measured?
    """

    arrangement: Arrangement
    seconds: float
    low: float
    high: float
    launches: int
    pool_start_seconds: float | None
    is_steady: bool

    @property
    def rate(self) -> float:
        """Elements a second."""
        return 1 / self.seconds


@dataclass(frozen=True, eq=False)
class PipelineJudgement:
    """What came of an op in a pipeline.

    Attributes:
        document: what was measured.
        step: what takes the elements.
        throughputs: of every arrangement with a number, the quickest first.
        choice: among them.
        lock: how much of the body holds the lock; None where it was not measured.
    """

    document: Mapping[str, Any]
    step: TrainingStep
    throughputs: tuple[Throughput, ...]
    choice: Choice
    lock: LockShare | None

    @cached_property
    def by_key(self) -> dict[str, Throughput]:
        """The throughputs by the keys of their arrangements."""
        return {one.arrangement.key: one for one in self.throughputs}

    @property
    def current(self) -> Throughput:
        """The current callback in a plain `map`."""
        return self.by_key[self.document["baseline"]]

    @property
    def chosen(self) -> Throughput | None:
        """What to go to; the current callback for keep, and None for undecided."""
        if self.choice.action == "undecided":
            return None
        return self.current if self.choice.label is None else self.by_key[self.choice.label]

    @property
    def threads_bound(self) -> float | None:
        """How many times as fast any number of threads can make the body, by Amdahl's law.

        None where that is not known, or where a `map` with parallel calls was measured to gain more, because more than
        the body runs at the same time there.
        """
        if self.lock is None or not self.lock.is_known:
            return None
        bound = 1 / self.lock.share if self.lock.share else math.inf
        gained = (self.current.seconds / one.seconds for one in self.throughputs if one.arrangement.action == THREADS)
        return bound if all(one <= max(bound, 1 + self.choice.minimum_effect) for one in gained) else None

    @property
    def action(self) -> str:
        """What to do: an action of `Arrangement`, or `undecided`."""
        return "undecided" if self.chosen is None else self.chosen.arrangement.action

    def input_seconds(self, of: Throughput) -> tuple[float, float, float]:
        """Return what the input of one step takes: seconds, and the ends of its interval."""
        return of.seconds * self.step.elements, of.low * self.step.elements, of.high * self.step.elements

    @property
    def is_hidden(self) -> bool:
        """Does the current input hide behind the step, as far as the data tell?"""
        high = self.current.high if math.isfinite(self.current.high) else self.current.seconds
        return self.step.seconds is not None and high <= self.step.floor

    @property
    def is_not_hidden(self) -> bool:
        """Does the step wait for the current input, as far as the data tell?"""
        low = self.current.low if math.isfinite(self.current.low) else self.current.seconds
        return self.step.seconds is not None and low > self.step.floor

    def steps_per_second(self, of: Throughput) -> tuple[float, float, float] | None:
        """Return steps a second with an arrangement, and the ends of the interval; None where the step is not known.

        The lower end allows for a training loop whose Python takes turns with that of the pipeline.
        """
        if self.step.seconds is None:
            return None
        taken, quickest, slowest = self.input_seconds(of)
        slowest += self._waits_for_loop(of.arrangement)
        return (
            1 / max(taken, self.step.seconds),
            1 / max(slowest, self.step.seconds),
            1 / max(quickest, self.step.seconds),
        )

    def _waits_for_loop(self, arrangement: Arrangement) -> float:
        """Return the seconds of a step for which a pipeline may wait for the training loop: 0 without Python in it."""
        if arrangement.is_port:
            return 0.0
        share = self.lock.high if self.lock is not None and math.isfinite(self.lock.high) else 1.0
        return LOOP_SECONDS * share


def judge(document: Mapping[str, Any], minimum_effect: float, step: TrainingStep) -> PipelineJudgement:
    """Judge what was measured.

    Args:
        document: of `results.pipeline_file`.
        minimum_effect: the smallest share of the current time that is worth acting on.
        step: what takes the elements.
    """
    arrangements = {one["key"]: _arrangement(one) for one in document["arrangements"]}
    frame = _frame(document)
    choice = _choose(frame, document, arrangements, minimum_effect, step)
    return PipelineJudgement(
        document, step, _throughputs(frame, document, arrangements), choice, lock_share(document["rates"])
    )


def _arrangement(stored: Mapping[str, Any]) -> Arrangement:
    return Arrangement(**{name: value for name, value in stored.items() if name not in ("key", "effort")})


def _frame(document: Mapping[str, Any]) -> pd.DataFrame:
    """Return a row for each block: case, the columns of a launch, round, and the seconds of an element."""
    blocks = document["blocks"]
    return pd.DataFrame(
        {
            "case": [one["key"] for one in blocks],
            "tool": "pyopbench",
            "run": "0",
            "launch": [one["launch"] for one in blocks],
            "round": [one["round"] for one in blocks],
            "seconds": [one["seconds"] / one["elements"] for one in blocks],
        }
    )


def _throughputs(
    frame: pd.DataFrame, document: Mapping[str, Any], arrangements: Mapping[str, Arrangement]
) -> tuple[Throughput, ...]:
    medians = np.log(frame.groupby(["case", *UNIT])["seconds"].median()).rename("value").reset_index()
    keys = [str(key) for key in medians["case"].unique()]
    values = [medians[medians["case"] == key]["value"].to_numpy() for key in keys]
    started = _pool_starts(document["prepared"])
    unsteady = {one["key"] for one in document["prepared"] if not one["warm_up"]["is_steady"]}
    found = []
    for key, estimate in zip(keys, moderated([Estimate.of(one) for one in values]), strict=True):
        low, high = (end if math.isnan(end) else exp(end) for end in estimate.interval())
        found.append(
            Throughput(
                arrangements[key], exp(estimate.mean), low, high, estimate.n, started.get(key), key not in unsteady
            )
        )
    return tuple(sorted(found, key=lambda one: (one.seconds, one.arrangement.key)))


def _pool_starts(prepared: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    starts: dict[str, list[float]] = {}
    for one in prepared:
        if one["pool_start_seconds"] is not None:
            starts.setdefault(one["key"], []).append(one["pool_start_seconds"])
    return {key: float(np.median(seconds)) for key, seconds in starts.items()}


def _choose(
    frame: pd.DataFrame,
    document: Mapping[str, Any],
    arrangements: Mapping[str, Arrangement],
    minimum_effect: float,
    step: TrainingStep,
) -> Choice:
    baseline, size = document["baseline"], document["size"]
    rules = Rules(minimum_effect, alike=ALIKE)
    launches = frame.groupby("case")["launch"].nunique()
    there = [key for key in launches.index if launches[key] >= FEWEST_LAUNCHES and key != baseline]
    felt = frame.assign(seconds=frame["seconds"].clip(lower=step.floor))
    ratios = costs.ratios(felt, dict.fromkeys(there, baseline), UNIT)
    if ratios.empty:
        return Choice("undecided", None, (), (), rules)
    # What ports shift by against callbacks from run to run was measured inside graphs, and is not known of pipelines.
    model = fit(list(shares_of(costs.launch_medians(ratios, "ratio", UNIT)).values()), run_effect=0.0)
    ports = frozenset(key for key in there if arrangements[key].is_port)
    named = ratios.rename(columns={"case": "label"}).assign(size=size)
    contrasts = contrasts_of(named, baseline, ports, model)
    candidates = [
        Candidate(key, "port" if key in ports else "callback", arrangements[key].effort, contrasts.shares(key))
        for key in contrasts.labels
        if key != baseline
    ]
    return choose(candidates, contrasts, even_mix((size,)), rules)
