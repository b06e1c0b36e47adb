"""From samples to verdicts to one decision per op and use: keep the callback, switch, port, or undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.core.errors import BadInput
from pyopbench.core.model import BASELINE, MINIMUM_EFFECT
from pyopbench.judge import requirements
from pyopbench.judge.candidates import Comparison, compare, settings_of
from pyopbench.judge.choice import (
    Choice,
    Rulebook,
    Rules,
    choose,
    choose_over_mix,
    is_called,
    rulebook_of,
    sizes_beyond,
)
from pyopbench.judge.cost_split import Split, splits_of
from pyopbench.judge.crossovers import crossovers, size_trend_of
from pyopbench.judge.decision import Decision, SizeRange, Verdict
from pyopbench.judge.evidence import caveats_of, flips_of, reason_of
from pyopbench.judge.findings import Answer, BaselineMeasured, BeyondMeasured, DtypeNotCalled, Reason
from pyopbench.judge.gpu_advice import advice_on_copies
from pyopbench.judge.latencies import baseline_of, checked_frame, latency_table, usual_gradients
from pyopbench.judge.mix import Mix, even_mix
from pyopbench.judge.noise import Disturbance, disturbance_of
from pyopbench.judge.roofline import Bound, Limits, bounds_of, limits_of
from pyopbench.judge.step_savings import Step, Worth, worth_of
from pyopbench.judge.verdicts import verdicts_of
from pyopbench.results import counted_copies
from pyopbench.results.mix_file import Calls
from pyopbench.stats import estimate
from pyopbench.stats.looks import Looks

if TYPE_CHECKING:
    from pyopbench.results.run import Run


@dataclass(frozen=True, eq=False)
class Judgement:
    """All that a report is made of.

    Attributes:
        run: what was judged.
        baseline: the callback of today, a variant.
        minimum_effect: a relative difference that is worth acting on.
        mix: size -> how often it is called; None for shares that are even over the log of the size.
        latencies: one row per measured case, as `latencies.latency_table`; without cases that were found wrong.
        verdicts: in the order of `latencies`.
        decisions: ops in the order of the catalogue, inference before training.
        comparisons: what each decision was made from, in the same order.
        rulebook: what all decisions have in common.
        disturbance: how quiet the machine was.
        splits: where the time of callbacks goes, in the order of `latencies`; none if it was not measured.
        limits: what the machine can do at most; None if it was not measured.
        bounds: how near forward calls come to that, in the order of `latencies`; none without limits.
        step: of the user's program; None if it was not told.
        requires: what a port has to be able to do.
    """

    run: Run
    baseline: str
    minimum_effect: float
    mix: Calls | None
    latencies: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    decisions: tuple[Decision, ...]
    comparisons: tuple[Comparison, ...]
    rulebook: Rulebook
    disturbance: Disturbance
    splits: tuple[Split, ...] = ()
    limits: Limits | None = None
    bounds: tuple[Bound, ...] = ()
    step: Step | None = None
    requires: tuple[str, ...] = ()

    @cached_property
    def choices(self) -> tuple[tuple[Comparison, tuple[Choice, Mix] | None], ...]:
        """Each comparison with its choice over the mix, as `choose_over_mix` makes it."""
        return tuple((comparison, choose_over_mix(comparison, self.rulebook)) for comparison in self.comparisons)

    @cached_property
    def worths(self) -> tuple[Worth, ...]:
        """What the op takes of a step and what candidates save, in the order of the decisions; none without a step."""
        if self.step is None:
            return ()
        return tuple(worth_of(comparison, *made, self.step) for comparison, made in self.choices if made is not None)


def judge(  # noqa: PLR0913 - each has its default, and only the command line gives all of them
    run: Run,
    baseline: str = BASELINE,
    minimum_effect: float = MINIMUM_EFFECT,
    mix: Calls | None = None,
    step: Step | None = None,
    requires: Sequence[str] = (),
) -> Judgement:
    """Judge a run: latencies, verdicts and decisions. The same samples in any order give the same judgement.

    Args:
        run: what was measured.
        baseline: the callback of today, a variant.
        minimum_effect: a relative difference that is worth acting on (0.03 is 3%), at least 0 and below 1.
        mix: size -> how often it is called, as from `mix_file.read_mix`; None spreads today's time evenly over the log
            of the size.
        step: of the user's program, for what a port is worth there.
        requires: what a port has to be able to do, names of `requirements.NAMES`; candidates that cannot are removed.

    Raises:
        BadInput: the baseline is no variant of the run, the minimum effect is out of range, or the mix fits no
            op that was measured.
    """
    _check(run, baseline, minimum_effect)
    frame = checked_frame(run)
    latencies = latency_table(frame, run.catalogue)
    pairs = run.settings.get("pairs")
    baselines = baseline_of(latencies, baseline, usual_gradients(run.catalogue, baseline), pairs)
    paired = estimate.paired_logs(frame, baselines)
    looks = Looks.of(run.settings)
    verdicts = verdicts_of(paired, baselines, minimum_effect, looks)
    # Where variants are compared in pairs of their own, there is no callback of today to decide about.
    settings = () if pairs else settings_of(run)
    compared = (compare(run, setting, latencies, paired, baseline) for setting in settings)
    comparisons = tuple(requirements.narrow(comparison, run, requires) for comparison in compared)
    rulebook = rulebook_of(comparisons, Rules(minimum_effect, looks=looks), mix)
    level = 1 - looks.share(estimate.FAMILY_ERROR, max(len(verdicts), 1))
    limits = limits_of(run)
    return Judgement(
        run=run,
        baseline=baseline,
        minimum_effect=minimum_effect,
        mix=mix,
        latencies=latencies,
        verdicts=verdicts,
        decisions=tuple(_with_sightings(decide(comparison, rulebook), run, comparison) for comparison in comparisons),
        comparisons=comparisons,
        rulebook=rulebook,
        disturbance=disturbance_of(run, verdicts, [*estimate.estimates(paired).values()], minimum_effect, level),
        splits=splits_of(run),
        limits=limits,
        bounds=bounds_of(latencies, run.catalogue["ops"], limits),
        step=step,
        requires=tuple(requires),
    )


def _with_sightings(decision: Decision, run: Run, comparison: Comparison) -> Decision:
    """Return the decision with what was seen beside the samples: counted copies, and what its callback cannot do."""
    copies = (
        advice_on_copies(decision, counted_copies.rows_of(run.counted_copies))
        if run.counted_copies
        else decision.copies
    )
    return replace(decision, copies=copies, blocks=requirements.blocked(run, comparison.baseline))


def _check(run: Run, baseline: str, minimum_effect: float) -> None:
    known = sorted({*run.catalogue["variants"], run.settings.get("baseline", BASELINE)})
    if baseline not in known:
        raise BadInput(
            "the baseline is not a variant of this run",
            received=baseline,
            legal=", ".join(known),
            next_step="name the variant that stands for the callback of today",
        )
    if not 0 <= minimum_effect < 1:
        raise BadInput(
            "the minimum effect is out of range",
            received=minimum_effect,
            legal="0 to below 1; 0.03 is 3%",
            next_step="for example --min-effect 0.03",
        )


def decide(comparison: Comparison, rulebook: Rulebook) -> Decision:
    """Decide in one setting, over the mix and at every measured size."""
    if not comparison.seconds:
        return _undecided(comparison, comparison.baseline_failure())
    if not is_called(comparison, rulebook.calls):
        return _undecided(comparison, DtypeNotCalled(comparison.setting.dtype))
    made = choose_over_mix(comparison, rulebook)
    if made is None:
        beyond, baseline = tuple(sizes_beyond(comparison, rulebook.calls)), comparison.baseline
        reason = BeyondMeasured(baseline, beyond, comparison.statuses(baseline, beyond))
        return replace(_undecided(comparison, reason), ranges=_ranges(comparison, rulebook.at_size))
    choice, mix = made
    at_size = replace(rulebook.at_size, preferred=choice.label, must_change=comparison.must_change)
    return replace(
        _undecided(comparison, reason_of(choice, comparison)),
        action=choice.action,
        choice=choice.label,
        gain=_finite(choice.gain.value if choice.gain else None),
        gain_low=_finite(choice.gain.low if choice.gain else None),
        gain_high=_finite(choice.gain.high if choice.gain else None),
        ranges=_ranges(comparison, at_size),
        crossovers=crossovers(comparison.curves, comparison.log_ratios, at_size),
        size_trends=tuple(
            size_trend_of(candidate, comparison.baseline, at_size) for candidate in comparison.candidates
        ),
        caveats=caveats_of(comparison, mix),
        flips=() if comparison.must_change else flips_of(choice, mix, comparison.baseline),
        launches=choice.gain.log.n if choice.gain else None,
    )


def _undecided(comparison: Comparison, reason: Reason) -> Decision:
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
        gain=None,
        gain_low=None,
        gain_high=None,
        reason=reason,
        flips=(BaselineMeasured(comparison.baseline),),
        barred=comparison.barred,
        unknown=comparison.unknown,
    )


def _ranges(comparison: Comparison, rules: Rules) -> tuple[SizeRange, ...]:
    """Return the answer at each measured size, neighbours with the same answer in one range.

    The choice over all sizes is left only where it is not clear, or another one is clearly faster. The gain of a range
    is that of its size with the least lower bound, so the range holds no worse one.
    """
    candidates, sizes = comparison.candidates, comparison.seconds
    at = [(size, choose(candidates, even_mix((size,)), rules)) for size in sizes]
    return tuple(_range(answer, list(same)) for answer, same in groupby(at, key=lambda pair: pair[1].answer))


def _range(answer: Answer, same: Sequence[tuple[int, Choice]]) -> SizeRange:
    gains = [(choice.gain.low, choice.gain.value) for _, choice in same if choice.gain is not None]
    known = [pair for pair in gains if not math.isnan(pair[0])]
    low, gain = min(known or gains, default=(math.nan, math.nan))
    return SizeRange(same[0][0], same[-1][0], answer.action, answer.choice, gain, low)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
