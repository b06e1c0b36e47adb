"""From samples to verdicts to one decision per op and use: keep the callback, switch, port, or undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.core.errors import BadInput
from pyopbench.core.model import BASELINE, MINIMUM_EFFECT, Case
from pyopbench.judge import requirements
from pyopbench.judge.body_share import BodyShare, body_costs, body_share_of
from pyopbench.judge.candidates import Comparison, Measured, compare, settings_of
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
from pyopbench.judge.decision import Decision, SizeRange, SizeSeconds, Verdict
from pyopbench.judge.evidence import caveats_of, changes_of, reason_of
from pyopbench.judge.findings import Answer, BaselineMeasured, BeyondMeasured, DtypeNotCalled, Reason
from pyopbench.judge.gpu_advice import advice_on_copies
from pyopbench.judge.latencies import baseline_of, checked_frame, latency_table, usual_gradients
from pyopbench.judge.mix import Mix, even_mix
from pyopbench.judge.noise import Disturbance, disturbance_of
from pyopbench.judge.roofline import Bound, Limits, bounds_of, limits_of
from pyopbench.judge.step_savings import Step, Worth, worth_of
from pyopbench.judge.twins import NO_TWINS, Twins, twins_of
from pyopbench.judge.verdicts import SHARES, estimates_of, shares_of, verdicts_from
from pyopbench.results import counted_copies
from pyopbench.results.mix_file import Calls
from pyopbench.stats import costs, estimate, launch_model
from pyopbench.stats.launch_model import RUN_EFFECT, LaunchModel
from pyopbench.stats.looks import Looks

if TYPE_CHECKING:
    from pyopbench.results.run import Run


@dataclass(frozen=True, eq=False)
class Judgement:
    """All that a report is made of.

    Attributes:
        run: what was judged.
        baseline: the current callback, a variant.
        minimum_effect: a share of the baseline's time that is worth acting on.
        mix: size -> how often it is called; None for shares that are even over the log of the size.
        latencies: one row per measured case, as `latencies.latency_table`; without cases that were found wrong.
        verdicts: in the order of `latencies`.
        decisions: ops in the order of the catalogue, inference before training.
        comparisons: what each decision was made from, in the same order.
        rulebook: what all decisions have in common.
        disturbance: how quiet the machine was.
        model: what launches were seen to differ by.
        twins: what became of callbacks that were measured twice.
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
    model: LaunchModel
    twins: Twins = NO_TWINS
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
    def body_shares(self) -> tuple[BodyShare, ...]:
        """How much of each callback's cost is its body, for inference, in the order of the decisions; where told."""
        bodies = body_costs(self.run)
        if bodies.empty:
            return ()
        callbacks = costs.round_costs(checked_frame(self.run), estimate.UNIT)
        made = ((comparison, one[1]) for comparison, one in self.choices if one is not None)
        found = (body_share_of(one, mix, self.run.catalogue, bodies, callbacks) for one, mix in made)
        return tuple(share for share in found if share is not None)

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
    looks: Looks | None = None,
) -> Judgement:
    """Judge a run: latencies, verdicts and decisions. The same samples in any order give the same judgement.

    Args:
        run: what was measured.
        baseline: the current callback, a variant.
        minimum_effect: a share of the baseline's time that is worth acting on (0.03 is 3%), at least 0 and below 1.
        mix: size -> how often it is called, as from `mix_file.read_mix`; None spreads today's time evenly over the log
            of the size.
        step: of the user's program, for what a port is worth there.
        requires: what a port has to be able to do, names of `requirements.NAMES`; candidates that cannot are removed.
        looks: at the data that are charged; None for those that the run held.

    Raises:
        BadInput: the baseline is no variant of the run, the minimum effect is out of range, or the mix fits no
            op that was measured.
    """
    _check(run, baseline, minimum_effect)
    frame = checked_frame(run)
    latencies = latency_table(frame, run.catalogue)
    pairs = run.settings.get("pairs")
    baselines = baseline_of(latencies, baseline, usual_gradients(run.catalogue, baseline), pairs)
    ratios = costs.ratios(costs.round_costs(frame, estimate.UNIT), baselines, estimate.UNIT)
    looks = looks or Looks.of(run.settings, len(run.looks))
    ports = () if pairs else _ports(run, baselines)
    shares = shares_of(costs.launch_medians(ratios, "ratio", estimate.UNIT))
    model = launch_model.fit(list(shares.values()), _run_effect(run))
    estimates = estimates_of(shares, baselines, ports, model, max(frame["run"].nunique(), 1))
    verdicts = verdicts_from(estimates, baselines, minimum_effect, looks, SHARES)
    # Where variants are compared in pairs of their own, there is no current callback to decide about.
    settings = () if pairs else settings_of(run)
    measured = Measured(latencies, ratios, model, costs.surcharges(frame, estimate.UNIT))
    compared = (compare(run, setting, measured, baseline) for setting in settings)
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
        disturbance=disturbance_of(run, verdicts, estimates, minimum_effect, level),
        model=model,
        twins=twins_of(run, model, minimum_effect),
        splits=splits_of(run),
        limits=limits,
        bounds=bounds_of(latencies, run.catalogue["ops"], limits),
        step=step,
        requires=tuple(requires),
    )


def _run_effect(run: Run) -> float:
    """Return what ports shift by from run to run, as the certificate of the machine says; else as is usual."""
    told = (run.certificate or {}).get("run_effect")
    return RUN_EFFECT if told is None else float(told["deviation"])


def _ports(run: Run, baselines: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the cases that are ports and compared with a callback: these shift from run to run."""
    kinds = {name: variant.get("kind") for name, variant in run.catalogue["variants"].items()}
    pairs = (
        (case, kinds.get(Case.from_id(case).variant), kinds.get(Case.from_id(other).variant))
        for case, other in baselines.items()
    )
    return frozenset(case for case, kind, of_baseline in pairs if kind == "port" and of_baseline == "callback")


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
        return replace(_undecided(comparison, reason), ranges=_ranges(comparison, rulebook.rules))
    choice, mix = made
    at_size = replace(rulebook.rules, preferred=choice.label, must_change=comparison.must_change)
    gain = choice.gain
    return replace(
        _undecided(comparison, reason_of(choice, comparison)),
        action=choice.action,
        choice=choice.label,
        saved=_finite(gain.saved if gain else None),
        saved_low=_finite(gain.saved_low if gain else None),
        saved_high=_finite(gain.saved_high if gain else None),
        loss=_finite(choice.loss),
        is_provisional=choice.is_provisional,
        as_good=choice.as_good,
        seconds=_seconds(comparison, choice),
        ranges=_ranges(comparison, at_size),
        crossovers=crossovers(comparison, at_size),
        size_trends=tuple(size_trend_of(candidate, comparison, at_size) for candidate in comparison.candidates),
        caveats=caveats_of(comparison, mix),
        would_change=() if comparison.must_change else changes_of(choice, mix, comparison.baseline),
        launches=gain.change.n if gain else None,
    )


def _seconds(comparison: Comparison, choice: Choice) -> tuple[SizeSeconds, ...]:
    """Return what one op costs now and with what was chosen, at each measured size."""
    label = choice.label or comparison.baseline
    after = comparison.curves[label] if label in comparison.curves else pd.Series(dtype="float64")
    return tuple(
        SizeSeconds(size, today, _finite(float(after.get(size, math.nan))))
        for size, today in comparison.seconds.items()
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
        saved=None,
        saved_low=None,
        saved_high=None,
        reason=reason,
        would_change=(BaselineMeasured(comparison.baseline),),
        barred=comparison.barred,
        unknown=comparison.unknown,
    )


def _ranges(comparison: Comparison, rules: Rules) -> tuple[SizeRange, ...]:
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


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
