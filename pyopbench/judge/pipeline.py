"""The decision on a callback in an input pipeline: a choice among its arrangements, by the rules of all choices.

What is compared is the time of an element, in shares of the current callback's in a plain `map`. A training step that
overlaps with its input takes the longer of the two, so with a step the time of an element is `max(input, step)`: what
hides behind the step costs nothing.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pyopbench.judge.candidates import Candidate
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.contrasts import contrasts_of
from pyopbench.judge.decision import NO_LOSS_DIGITS
from pyopbench.judge.evidence import launches_to_settle
from pyopbench.judge.interim_analysis import InterimAnalysis
from pyopbench.judge.program import even_mix
from pyopbench.judge.verdicts import shares_of
from pyopbench.model import formatting
from pyopbench.model.arrangement import CURRENT, Arrangement, read_key
from pyopbench.model.case import PIPELINE, Case
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.variant import PORTABLE, port_words
from pyopbench.stats import costs
from pyopbench.stats.estimate import UNIT, Launches, exp, moderated, usual_spread

if TYPE_CHECKING:
    from pyopbench.store.measured_run import PipelineRows
    from pyopbench.store.types import PipelinePlan, ProgramFacts

ACTIONS = {
    "keep": "keep the callback as it is",
    "parallel": "raise num_parallel_calls",
    "batch": "batch first",
    "processes": "move the body to processes",
    "port": "port the body",
    "undecided": "undecided",
}
THROUGHPUT_ALT = "elements a second of each arrangement, with intervals, on a logarithmic axis"
FEWEST_DECIDING, MOST_ASKED = 4, 200
"""The fewest and the most launches that are suggested if an answer needs more: nobody would wait for even more."""
FEWEST_LAUNCHES = 2
"""With fewer there is no interval: what was measured in one launch alone is shown, and not chosen."""
ALIKE = 0.2
"""How much longer than with the best an element may take, as a share, for an arrangement to count as good. In the
default time a smaller difference is found only about half the time, so the answer would alternate between arrangements
that are about as good."""
NEAR_BEST, NEAR_SHARE = 2.0, 0.1
"""What takes more than so many times as long as the best, or as the training step if that is longer, and by more than
this share of the current callback's time longer, is measured no more: it is not as good, whatever noise there was."""


@dataclass(frozen=True)
class TrainingStep:
    """A step that takes its elements from the pipeline and overlaps with it."""

    elements: int  # that one step takes
    seconds: float | None = None  # that it takes with its input at hand; None where it is not known

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise BadInput(
                "not the time of a training step",
                received=f"--step-ms {1000 * self.seconds:g}",
                legal="above 0",
                hint="for example --step-ms 120",
            )

    @property
    def seconds_per_element(self) -> float:
        """Time of the step for each element: faster input hides behind the step. 0 where the step is not known."""
        return 0.0 if self.seconds is None else self.seconds / self.elements


@dataclass(frozen=True)
class Throughput:
    """What one arrangement delivers."""

    arrangement: Arrangement
    seconds: float  # for an element
    low: float  # low and high: of these, the interval of 95% over launches; nan for one launch
    high: float
    launches: int  # in which it was measured
    pool_start_seconds: float | None  # what starting its processes took, the median; None where it has none

    @property
    def rate(self) -> float:
        """Elements a second."""
        return 1 / self.seconds


@dataclass(frozen=True, eq=False)
class PipelineJudgement:
    """The results of an op in a pipeline."""

    rows: PipelineRows
    step: TrainingStep  # the training step that takes the elements
    throughputs: tuple[Throughput, ...]  # of every arrangement with a number, the quickest first
    choice: Choice
    current: Throughput  # the current callback in a plain `map`
    chosen: Throughput | None  # what to go to; the current callback for keep, None for undecided
    # True if the current input hides behind the step, False if the step waits for it; None where the interval does not
    # tell, or the step is not known
    is_hidden: bool | None

    @property
    def by_key(self) -> dict[str, Throughput]:
        """The throughputs by the keys of their arrangements."""
        return {one.arrangement.key: one for one in self.throughputs}

    @property
    def action(self) -> str:
        """What to do: an action of `Arrangement`, or `undecided`."""
        return "undecided" if self.chosen is None else self.chosen.arrangement.action

    @property
    def input_seconds(self) -> tuple[float, float, float]:
        """What the input of one step takes today: seconds, and the ends of its interval."""
        elements = self.step.elements
        return self.current.seconds * elements, self.current.low * elements, self.current.high * elements

    @property
    def program(self) -> ProgramFacts | None:
        """The user's own pipeline in which the op was measured; None if only the op was in the pipeline."""
        return self.rows.plan.program

    @property
    def command(self) -> tuple[str, ...]:
        """The command that writes the file of the answer; empty if there is nothing to write.

        Nothing is written for built-in ops, or for ports and callbacks that the user has written.
        """
        chosen = self.chosen
        if chosen is None or self.action == "keep" or not self.rows.words:
            return ()
        key, variant = chosen.arrangement.key, chosen.arrangement.variant
        is_theirs = bool(variant) and variant not in PORTABLE
        if read_key(key) is None or is_theirs:
            return ()
        return tuple(port_words(self.rows.words, key, f"{self.rows.current.op}_arranged.py"))

    def answer_text(self) -> str:
        """Return what to do, with the change in one line where there is one."""
        words = ACTIONS[self.action]
        return words if self.chosen is None or self.action == "keep" else f"{words}: {self.chosen.arrangement.code}"

    def sentences(self) -> tuple[str, ...]:
        """Return why, and what else there is to know, a sentence or two each."""
        program, loss, others = self.rows.plan.program, self.choice.loss, self.choice.as_good
        where = "The measured pipeline contained only this function: no reading, no parsing and no other stage of your "
        where += "program."
        if program is not None:
            where = f"Measured in the whole pipeline of {program.name}, whose stage is at {program.stage}."
            where += (
                "" if program.is_repeatable else " Its elements differ each time, so their values were not compared."
            )
        found = [where, self.why_text()]
        if self.command:
            found.append(f"Write it as a file, with its test: {shlex.join(self.command)}")
        if self.chosen is not None and self.chosen.pool_start_seconds is not None:
            start = formatting.seconds(self.chosen.pool_start_seconds)
            found.append(
                "In each of its processes, OpenCV, OpenMP and linear algebra libraries are limited to one thread, as "
                f"they were during the measurement. Starting the processes takes {start} once, which is not included."
            )
        if loss is not None and round(loss, NO_LOSS_DIGITS) <= 0:
            found.append("No other arrangement is better.")
        elif loss is not None and math.isfinite(loss):
            found.append(
                f"It costs at most {formatting.points(loss)} of the current time per element more than the best."
            )
        if others:
            found.append(f"About as good: {formatting.listing(others)}.")
        return (*found, self._step())

    def why_text(self) -> str:
        """Return what the answer rests on."""
        best = self.choice.gain
        if self.chosen is None:
            return self._why_undecided()
        if self.action != "keep" and best is not None:
            times = formatting.ratio_interval(*best.times)
            rate = "as many steps a second" if self.is_hidden is False else "as many elements a second"
            return f"{times} {rate} as with the current callback."
        if self.is_hidden:
            return "The input is not the bottleneck: it is ready before the step asks for it."
        if best is None:
            return "No other arrangement could be measured."
        return (
            f"Nothing clearly saves more than {formatting.percent(self.choice.minimum_effect)} of the time per element."
        )

    def _why_undecided(self) -> str:
        best = self.choice.gain
        if any(one.case == self.rows.current.id for one in self.rows.failures):
            return "The current callback failed, so there is nothing to compare with."
        why, launches = "One launch gives no interval.", FEWEST_DECIDING
        if best is not None and best.change.known:
            label, _, enough = launches_to_settle(self.choice)
            why = f"{label} may be better, but the intervals are too wide to say."
            launches = min(max(enough or MOST_ASKED, FEWEST_DECIDING), MOST_ASKED)
        minutes = math.ceil(launches * self.rows.launch_seconds / 60) or 1
        about = "at least" if launches == MOST_ASKED else "about"
        return (
            f"{why} A decision needs {about} {launches} launches: --launches {launches} --budget {minutes}m, "
            f"{formatting.count(minutes, 'minute')}."
        )

    def _step(self) -> str:
        """Return how the input compares with the step, or from which step time on it stops mattering."""
        step, (seconds, low, high) = self.step, self.input_seconds
        taken = formatting.seconds_interval(seconds, low, high)
        batch = formatting.count(step.elements, "element")
        if step.seconds is None:
            return (
                f"The input of a step of {batch} takes {taken}. If your step takes longer, the input is hidden behind "
                "it; give your step time with --step-ms."
            )
        share = formatting.percent(seconds / step.seconds)
        of_step = (
            f"The input of a step of {batch} takes {taken}, {share} of the step ({formatting.seconds(step.seconds)})"
        )
        if self.is_hidden is None:
            return f"{of_step}. It is too close to say whether it is hidden behind the step."
        if self.is_hidden:
            return f"{of_step}. It could take {formatting.ratio(step.seconds / seconds)} as long and still be hidden."
        return f"{of_step}, so the step waits for its input."


def judge(rows: PipelineRows, minimum_effect: float, step: TrainingStep) -> PipelineJudgement:
    """Judge what was measured.

    Raises:
        NothingMeasured: the current callback has no block.
    """
    arrangements, frame = rows.plan.by_key, _frame(rows)
    if not (frame["case"] == CURRENT).any():
        raise NothingMeasured(
            "the current callback has no number in this run",
            received=rows.current.id,
            hint="`pyopbench resume` measures what is left",
        )
    choice = _choose(frame, rows.current.size, arrangements, minimum_effect, step)
    throughputs = _throughputs(frame, rows, arrangements)
    by_key = {one.arrangement.key: one for one in throughputs}
    current = by_key[CURRENT]
    chosen = None if choice.action == "undecided" else by_key[choice.label or CURRENT]
    return PipelineJudgement(rows, step, throughputs, choice, current, chosen, _is_hidden(current, step))


def _is_hidden(current: Throughput, step: TrainingStep) -> bool | None:
    if step.seconds is None:
        return None
    if current.high <= step.seconds_per_element:
        return True
    return False if current.low > step.seconds_per_element else None


def step_of(plan: PipelinePlan) -> TrainingStep:
    """Return the step that a run was planned for."""
    return TrainingStep(plan.step_elements, plan.step_seconds * plan.step_elements or None)


def interim_analysis_of(rows: PipelineRows, launches: int) -> InterimAnalysis:
    """Return what is measured on after so many launches: nothing that is far from the best.

    An arrangement that keeps up with the training step is near enough, however much quicker others are. Those that
    others are compared with are measured in every launch.
    """
    medians = _frame(rows).groupby("case")["seconds"].median()
    seconds = {str(key): float(value) for key, value in medians.items()}
    enough = max(min(seconds.values(), default=0.0), rows.plan.step_seconds)
    most = max(NEAR_BEST * enough, enough + NEAR_SHARE * seconds.get(CURRENT, 0.0))
    kept = (CURRENT, rows.plan.in_program)
    far = {key for key, typical in seconds.items() if key not in kept and typical > most}
    cases = {key: Case.from_id(key).arrangement for key in rows.cases}
    near = frozenset(key for key, arrangement in cases.items() if arrangement not in far)
    after = formatting.count(launches, "launch", "launches")
    measuring = f"{len(seconds) - len(far):,} of {len(seconds):,} arrangements"
    return InterimAnalysis(near, f"after {after}: still measuring {measuring}")


def _frame(rows: PipelineRows) -> pd.DataFrame:
    """Return a row for each block of an arrangement: case (its key), columns of a launch, round, seconds of an element.

    What has failed in any launch has no number, but for the current callback: what it did before it failed is what all
    others are compared with.
    """
    failed = {Case.from_id(one.case).arrangement for one in rows.failures} - {CURRENT}
    known = rows.plan.by_key.keys() - failed
    keys = rows.frame["mode"].str.removeprefix(f"{PIPELINE}:") if len(rows.frame) else rows.frame["mode"]
    frame = rows.frame.assign(case=keys, seconds=rows.frame["seconds"] / rows.frame["calls"])
    return frame[frame["case"].isin(known)][["case", *UNIT, "round", "seconds"]].reset_index(drop=True)


def _throughputs(
    frame: pd.DataFrame, rows: PipelineRows, arrangements: Mapping[str, Arrangement]
) -> tuple[Throughput, ...]:
    medians = np.log(frame.groupby(["case", *UNIT])["seconds"].median()).rename("value").reset_index()
    values = {str(key): Launches(of_case.to_numpy()) for key, of_case in medians.groupby("case")["value"]}
    pools = {Case.from_id(key).arrangement: float(np.median(found)) for key, found in rows.pool_seconds.items()}
    found = []
    for key, estimate in zip(values, moderated(list(values.values())), strict=True):
        seconds, low, high = map(exp, (estimate.mean, *estimate.interval()))
        found.append(Throughput(arrangements[key], seconds, low, high, estimate.n, pools.get(key)))
    return tuple(sorted(found, key=lambda one: (one.seconds, one.arrangement.key)))


def _choose(
    frame: pd.DataFrame,
    size: int,
    arrangements: Mapping[str, Arrangement],
    minimum_effect: float,
    step: TrainingStep,
) -> Choice:
    rules = Rules(minimum_effect, alike=ALIKE)
    launches = frame.drop_duplicates(["case", *UNIT]).groupby("case").size()
    there = [key for key in launches.index if launches[key] >= FEWEST_LAUNCHES and key != CURRENT]
    felt = frame.assign(seconds=frame["seconds"].clip(lower=step.seconds_per_element))
    ratios = costs.ratios(felt, dict.fromkeys(there, CURRENT), UNIT)
    if ratios.empty:
        return Choice("undecided", None, (), (), rules)
    # What ports shift by against callbacks from run to run was measured inside graphs, and is not known of pipelines.
    spread = usual_spread(shares_of(costs.launch_medians(ratios, "ratio", UNIT)).values())
    contrasts = contrasts_of(ratios.rename(columns={"case": "label"}).assign(size=size), CURRENT, frozenset(), spread)
    candidates = [
        Candidate(key, "port" if arrangements[key].action == "port" else "callback", arrangements[key].effort)
        for key in contrasts.labels
        if key != CURRENT
    ]
    return choose(candidates, contrasts, even_mix((size,)), rules)
