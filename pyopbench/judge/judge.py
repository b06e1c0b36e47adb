"""From samples to verdicts to one decision per op and use: keep the callback, switch, port, or undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.body_share import BodyShare, body_shares_of
from pyopbench.judge.candidates import SettingComparison
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.decision import Answer, Decision, Reason, SizeRange, SizeSeconds, finite
from pyopbench.judge.devices import DeviceComparison, device_comparisons
from pyopbench.judge.evidence import baseline_failure, beyond_measured, caveats_of, reason_of
from pyopbench.judge.noise import MachineState, machine_state
from pyopbench.judge.program import Mix, even_mix
from pyopbench.judge.verdicts import NO_CONTROLS, Controls, controls_of
from pyopbench.judge.within_run import Compared, compared, is_called, sizes_beyond
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT
from pyopbench.stats.estimate import INTERIM_ERROR
from pyopbench.store.mix_file import Calls

if TYPE_CHECKING:
    from pyopbench.judge.interim_analysis import InterimAnalysis
    from pyopbench.judge.pipeline import PipelineInterimAnalysis, PipelineJudgement
    from pyopbench.store.measured_run import Run
    from pyopbench.store.run import Source


@dataclass(frozen=True, eq=False)
class Judgement(Compared):
    """Everything that a report shows: the comparisons and their consequences.

    Attributes:
        decisions: ops in the order of the catalogue, inference before training; one for each comparison.
        machine: how busy it was; None if nothing was recorded.
        controls: verdicts on callbacks that were measured twice.
        requires: features that a port must support.
    """

    decisions: tuple[Decision, ...]
    machine: MachineState | None = None
    controls: Controls = NO_CONTROLS
    requires: tuple[str, ...] = ()

    @cached_property
    def body_shares(self) -> tuple[BodyShare, ...]:
        """The bodies that bound what another callback around them can save, in the order of the decisions."""
        return body_shares_of(self.run, self.choices, self.rounds)

    @cached_property
    def devices(self) -> tuple[DeviceComparison, ...]:
        """Where each op should run, by size, in the order of the latencies; empty if only one device was measured."""
        return device_comparisons(self)

    @cached_property
    def pipeline(self) -> PipelineJudgement | None:
        """The results of the op in an input pipeline; None where it was not measured there."""
        from pyopbench.judge import pipeline

        rows = self.run.pipeline
        return None if rows is None else pipeline.judge(rows, self.minimum_effect, pipeline.step_of(rows.plan))


def judge_run(
    run: Run,
    baseline: str = BASELINE,
    minimum_effect: float = MINIMUM_EFFECT,
    mix: Calls | None = None,
    requires: Sequence[str] = (),
) -> Judgement:
    """Judge a run: latencies, verdicts and decisions. The same samples in any order give the same judgement.

    Args:
        run: the measurements.
        baseline: the current callback, a variant.
        minimum_effect: a share of the baseline's time that is worth acting on (0.03 is 3%), at least 0 and below 1.
        mix: size -> how often it is called, as from `mix_file.read_mix`; None spreads the current time evenly over the
            log of the size.
        requires: features that a port must support, names of requirements; candidates that cannot are removed.
    """
    found = compared(run, baseline, minimum_effect, mix, requires)
    return Judgement(
        **{field.name: getattr(found, field.name) for field in fields(found)},
        decisions=tuple(decide(comparison, made, found.rules, mix) for comparison, made in found.choices),
        machine=machine_state([run]),
        controls=controls_of(run, found.spread, minimum_effect),
        requires=tuple(requires),
    )


def decide(
    comparison: SettingComparison, made: tuple[Choice, Mix] | None, rules: Rules, calls: Calls | None
) -> Decision:
    """Decide in one setting, over the mix and at every measured size.

    Args:
        comparison: of the setting.
        made: what `choose_over_mix` made of it.
        rules: how to choose.
        calls: the mix.
    """
    if not comparison.seconds:
        return _undecided(comparison, baseline_failure(comparison))
    if not is_called(comparison, calls):
        reason = Reason("dtype_not_called", f"your mix has no calls in {comparison.setting.dtype}")
        return _undecided(comparison, reason)
    if made is None:
        reason = beyond_measured(comparison, sizes_beyond(comparison, calls))
        return replace(_undecided(comparison, reason), ranges=_ranges(comparison, rules))
    choice, mix = made
    at_size = replace(rules, preferred=choice.label, must_change=comparison.must_change)
    gain = choice.gain
    return replace(
        _undecided(comparison, reason_of(choice, comparison)),
        action=choice.action,
        choice=choice.label,
        saved=finite(gain.saved if gain else None),
        saved_low=finite(gain.saved_low if gain else None),
        saved_high=finite(gain.saved_high if gain else None),
        loss=finite(choice.loss),
        is_provisional=choice.is_provisional,
        as_good=choice.as_good,
        seconds=_seconds(comparison, choice),
        ranges=_ranges(comparison, at_size),
        caveats=caveats_of(comparison, mix),
        launches=gain.change.n if gain else None,
    )


def _seconds(comparison: SettingComparison, choice: Choice) -> tuple[SizeSeconds, ...]:
    """Return what one op costs now and with what was chosen, at each measured size."""
    baseline, label = comparison.baseline, choice.label or comparison.baseline
    after = comparison.curves[label] if label in comparison.curves else pd.Series(dtype="float64")
    return tuple(
        SizeSeconds(
            size,
            today,
            finite(float(after.get(size, math.nan))),
            today_too_noisy=(baseline, size) in comparison.unclear,
            after_too_noisy=(label, size) in comparison.unclear,
        )
        for size, today in comparison.seconds.items()
    )


def _undecided(comparison: SettingComparison, reason: Reason) -> Decision:
    setting = comparison.setting
    return Decision(
        op=setting.op,
        use=setting.use,
        mode=setting.mode,
        dtype=setting.dtype,
        placement=setting.placement,
        baseline=comparison.baseline,
        action="undecided",
        choice=None,
        saved=None,
        saved_low=None,
        saved_high=None,
        reason=reason,
        barred=comparison.barred,
        unknown=comparison.unknown,
    )


def _ranges(comparison: SettingComparison, rules: Rules) -> tuple[SizeRange, ...]:
    """Return the answer at each measured size, neighbours with the same answer in one range.

    The choice over all sizes is left only where another one is better by more than the minimum effect. What a range
    saves is what is saved at its size with the least lower bound, so the range holds no worse one.
    """
    at = [
        (size, choose(comparison.candidates, comparison.contrasts, even_mix((size,)), rules))
        for size in comparison.seconds
    ]
    return tuple(_range(answer, list(same)) for answer, same in groupby(at, key=lambda pair: pair[1].answer))


def _range(answer: Answer, same: Sequence[tuple[int, Choice]]) -> SizeRange:
    found = [(choice.gain.saved_low, choice.gain.saved) for _, choice in same if choice.gain is not None]
    known = [pair for pair in found if not math.isnan(pair[0])]
    low, saved = min(known or found, default=(math.nan, math.nan))
    return SizeRange(same[0][0], same[-1][0], answer.action, answer.choice, saved, low)


@dataclass(frozen=True)
class Judging:
    """How to judge: baseline, smallest difference that counts, calls of each size, requirements."""

    baseline: str
    minimum_effect: float
    mix: Calls | None = None
    requires: tuple[str, ...] = ()


def interim_analysis(
    source: Source, judging: Judging, launches: int, most: int
) -> InterimAnalysis | PipelineInterimAnalysis:
    """Judge what a run has measured in so many launches, of at most so many, to see what is left open.

    What is closed is not measured again, so it has to be clear at `INTERIM_ERROR`.
    """
    from pyopbench.judge import interim_analysis as interim
    from pyopbench.judge import pipeline
    from pyopbench.store.read import read_one

    run = read_one([source])
    if run.pipeline is not None:
        return pipeline.interim_analysis_of(run.pipeline, launches)
    how = (judging.baseline, judging.minimum_effect, judging.mix, judging.requires)
    return interim.interim_analysis_of(compared(run, *how, error=INTERIM_ERROR), launches, most)


def judge(sources: Sequence[Source], judging: Judging) -> Judgement:
    """Judge results, stored or in memory, of several runs as one; of asv and pytest-benchmark a single one.

    Raises:
        BadInput: the results are not what they should be, or the baseline or the mix does not fit them.
    """
    # pandas, SciPy and Altair cost a second and 150 MB, which a parent does not need before it judges.
    from pyopbench.store.read import read_one

    return judge_run(read_one(sources), **vars(judging))
