"""From samples to verdicts to one decision per op and use: keep the callback, switch, port, or undecided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyopbench.judge import pipeline, requirements
from pyopbench.judge.body_share import BodyShare, body_shares_of
from pyopbench.judge.candidates import SettingComparison, comparisons_of
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.decision import Answer, Decision, Reason, SizeRange, SizeSeconds, Verdict, finite
from pyopbench.judge.devices import DeviceComparison, device_comparisons
from pyopbench.judge.evidence import baseline_failure, beyond_measured, caveats_of, reason_of
from pyopbench.judge.interim_analysis import InterimAnalysis, interim_analysis_of
from pyopbench.judge.latencies import baseline_of, checked_frame, latency_table, partners_of, usual_gradients
from pyopbench.judge.noise import UNKNOWN_STATE, MachineState, machine_state
from pyopbench.judge.program import Mix, calls_in, calls_mix, even_mix
from pyopbench.judge.verdicts import (
    NO_CONTROLS,
    Controls,
    controls_of,
    estimates_of,
    shares_of,
    shares_of_pairs,
    verdicts_from,
)
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT, Case
from pyopbench.model.errors import BadInput
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import FAMILY_ERROR, INTERIM_ERROR, Spread
from pyopbench.store.mix_file import Calls
from pyopbench.store.read import read_one

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run
    from pyopbench.store.run import Source

TEXTS_OF_UNIT = ("tool", "run")
"""Columns of `estimate.UNIT` that hold text. Their values are numbered once, because comparing a million texts takes as
long as everything that follows."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Everything that a report shows: the comparisons within a run and their consequences."""

    run: Run
    baseline: str  # the current callback, a variant
    minimum_effect: float  # a share of the baseline's time that is worth acting on
    mix: Calls | None  # size -> how often it is called; None for shares that are even over the log of the size
    requires: tuple[str, ...]  # features that a port must support
    rules: Rules
    # One row per measured case, as `latencies.latency_table`; without cases that were found wrong
    latencies: pd.DataFrame
    verdicts: tuple[Verdict, ...]  # in the order of `latencies`
    # Each comparison with its choice over the mix, as `choose_over_mix` makes it
    choices: tuple[tuple[SettingComparison, tuple[Choice, Mix] | None], ...]
    spread: Spread  # the spread between launches that was seen
    # What each case costs in each round, as `costs.round_costs`; without cases that were found wrong
    rounds: pd.DataFrame
    # Ops in the order of the catalogue, inference before training; one for each comparison
    decisions: tuple[Decision, ...] = ()
    machine: MachineState = UNKNOWN_STATE  # how busy it was
    controls: Controls = NO_CONTROLS  # verdicts on callbacks that were measured twice

    @cached_property
    def rows_by_op(self) -> dict[str, list[dict[str, Any]]]:
        """The rows of `latencies` of each op, ops in the same order, each row with its columns by name."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.latencies.to_dict("records"):
            found.setdefault(str(row["op"]), []).append({str(key): value for key, value in row.items()})
        return found

    @cached_property
    def body_shares(self) -> tuple[BodyShare, ...]:
        """The bodies that bound what another callback around them can save, in the order of the decisions."""
        return body_shares_of(self.run, self.choices, self.rounds)

    @cached_property
    def devices(self) -> tuple[DeviceComparison, ...]:
        """Where each op should run, by size, in the order of the latencies; empty if only one device was measured."""
        return device_comparisons(self)

    @cached_property
    def pipeline(self) -> pipeline.PipelineJudgement | None:
        """The results of the op in an input pipeline; None where it was not measured there."""
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
    found = compare_variants(run, baseline, minimum_effect, mix, requires)
    return replace(
        found,
        decisions=tuple(decide(comparison, made, found.rules, mix) for comparison, made in found.choices),
        machine=machine_state([run]),
        controls=controls_of(run, found.spread, minimum_effect),
    )


def compare_variants(  # noqa: PLR0913 - as `judge_run`
    run: Run,
    baseline: str,
    minimum_effect: float,
    mix: Calls | None = None,
    requires: Sequence[str] = (),
    error: float = FAMILY_ERROR,
) -> Judgement:
    """Return a judgement without its consequences, which an interim analysis needs no more of.

    The arguments are those of `judge_run`, and how often any verdict of one op and use, or any gain of one choice, may
    be wrong.

    Raises:
        BadInput: the baseline is no variant of the run, or it has no decisions that a mix or requirements could change.
    """
    _check(run, baseline)
    if (mix or requires) and (run.pipeline is not None or run.settings.pairs):
        raise BadInput(
            "neither a mix nor requirements can change what this run shows",
            received="--mix" if mix else f"--require {','.join(requires)}",
            hint="leave it out, or name the results of pyopbench run",
        )
    frame = checked_frame(run).astype(dict.fromkeys(("case", *TEXTS_OF_UNIT), "category"))
    rounds = costs.round_costs(frame, estimate.UNIT)
    latencies = latency_table(frame, run.catalogue, rounds, baseline)
    pairs = run.settings.pairs
    today = baseline_of(latencies, baseline, usual_gradients(run.catalogue, baseline))
    baselines = partners_of(latencies, pairs) if pairs else today
    ratios = costs.ratios(rounds, baselines, estimate.UNIT)
    medians = costs.launch_medians(ratios, "ratio", estimate.UNIT)
    shares = shares_of_pairs(rounds, baselines, today) if pairs else shares_of(medians)
    spread = estimate.usual_spread(shares.values())
    ports = frozenset[str]() if pairs else _ports(run, baselines)
    estimates = estimates_of(shares, baselines, ports, spread)
    # Where variants are compared in pairs of their own, there is no current callback to decide about.
    wide = () if pairs else comparisons_of(run, latencies, ratios, spread, baseline)
    comparisons = tuple(requirements.narrow(comparison, run, requires) for comparison in wide)
    rules = Rules(minimum_effect, error=error)
    return Judgement(
        run=run,
        baseline=baseline,
        minimum_effect=minimum_effect,
        mix=mix,
        requires=tuple(requires),
        rules=rules,
        latencies=latencies,
        verdicts=verdicts_from(estimates, baselines, minimum_effect, error),
        choices=tuple((comparison, choose_over_mix(comparison, rules, mix)) for comparison in comparisons),
        spread=spread,
        rounds=rounds,
    )


def is_called(comparison: SettingComparison, calls: Calls | None) -> bool:
    """Does the mix have calls in the dtype of the setting? Without a mix every dtype is called."""
    return calls is None or bool(calls_in(calls, comparison.setting.dtype))


def sizes_beyond(comparison: SettingComparison, calls: Calls | None) -> list[int]:
    """Return the sizes of a mix that lie beyond what the baseline was measured at; they leave the op undecided."""
    low, high = min(comparison.seconds), max(comparison.seconds)
    return [size for size in sorted(calls_in(calls or {}, comparison.setting.dtype)) if not low <= size <= high]


def choose_over_mix(comparison: SettingComparison, rules: Rules, calls: Calls | None) -> tuple[Choice, Mix] | None:
    """Return the choice over the mix, and the mix; None where the baseline has no number at some size of it."""
    if not comparison.seconds or not is_called(comparison, calls) or sizes_beyond(comparison, calls):
        return None
    mix = _mix(comparison, calls)
    rules = replace(rules, must_change=comparison.must_change)
    return choose(comparison.candidates, comparison.contrasts, mix, rules), mix


def _mix(comparison: SettingComparison, calls: Calls | None) -> Mix:
    if calls is None:
        return even_mix(tuple(comparison.seconds))
    return calls_mix(calls_in(calls, comparison.setting.dtype), comparison.seconds)


def _ports(run: Run, baselines: Mapping[str, str]) -> frozenset[str]:
    """Return the ids of the cases that are ports and compared with a callback: these shift from run to run."""

    def kind_of(case: str) -> str:
        return run.catalogue.variant(Case.from_id(case).variant).kind

    pairs = ((case, kind_of(case), kind_of(other)) for case, other in baselines.items())
    return frozenset(case for case, kind, of_baseline in pairs if kind == "port" and of_baseline == "callback")


def _check(run: Run, baseline: str) -> None:
    known = sorted({*run.catalogue.variants, run.settings.baseline})
    if baseline not in known:
        raise BadInput(
            "the baseline is not a variant of this run",
            received=baseline,
            legal=", ".join(known),
            hint="name the variant that is your current callback",
        )


def decide(
    comparison: SettingComparison, made: tuple[Choice, Mix] | None, rules: Rules, calls: Calls | None
) -> Decision:
    """Decide in one setting, over the mix and at every measured size."""
    if not comparison.seconds:
        return _undecided(comparison, baseline_failure(comparison))
    if not is_called(comparison, calls):
        reason = Reason("dtype_not_called", f"your mix has no calls in {comparison.setting.dtype}")
        return _undecided(comparison, reason)
    if made is None:
        reason = beyond_measured(comparison, sizes_beyond(comparison, calls))
        return replace(_undecided(comparison, reason), ranges=_ranges(comparison, rules))
    choice, mix = made
    at_size = replace(rules, preferred=choice.label)
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
    label = choice.label or comparison.baseline
    after = comparison.curves[label] if label in comparison.curves else pd.Series(dtype="float64")
    return tuple(
        SizeSeconds(
            size,
            today,
            finite(float(after.get(size, math.nan))),
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
        reason=reason,
        barred=comparison.barred,
        unknown=comparison.unknown,
    )


def _ranges(comparison: SettingComparison, rules: Rules) -> tuple[SizeRange, ...]:
    """Return the answer at each measured size, neighbours with the same answer in one range.

    The choice over all sizes is left only where another one is better by more than the minimum effect. What a range
    saves is what is saved at its size with the least lower bound, so the range holds no worse one.
    """
    rules = replace(rules, must_change=comparison.must_change)
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


def interim_analysis(source: Source, judging: Judging, launches: int, most: int) -> InterimAnalysis:
    """Judge what a run has measured in so many launches, of at most so many, to see what is left open.

    What is closed is not measured further, so it has to be clear at `INTERIM_ERROR`.
    """
    run = read_one([source])
    if run.pipeline is not None:
        return pipeline.interim_analysis_of(run.pipeline, launches)
    return interim_analysis_of(compare_variants(run, **vars(judging), error=INTERIM_ERROR), launches, most)


def judge(sources: Sequence[Source], judging: Judging) -> Judgement:
    """Judge results, stored or in memory, of several runs as one; of asv and pytest-benchmark a single one.

    Raises:
        BadInput: the results are not what they should be, or the baseline does not fit them.
    """
    return judge_run(read_one(sources), **vars(judging))
