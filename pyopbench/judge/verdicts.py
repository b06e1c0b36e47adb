"""Verdicts: faster, slower, equivalent, or unresolved and why; of variants, of sides, and of identical code.

**Within a run** each case is held against the baseline of its group, in shares of the baseline's time.

**Between two sides** each case is held against the same case, by the log of their ratio. The interval of a case is the
one that its verdict goes by: it holds a border of the minimum effect exactly where the verdict is open.
`stats.corrections` says how the cases share the error.

**A/A controls** are variants that were measured twice: what noise made of nothing, on this machine at this hour.
They are held against what they are copies of in shares of the time of the callback that is there today. That is the
unit of every decision. A port by itself may cost so little that a hundredth of it is nothing that anybody could
measure, or would port an op for, and what two callbacks differ by counts by what it is of the current time. Both of a
pair cross the same bridge, or none, so that they have in common what ports shift by against callbacks from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pyopbench.judge.decision import Outcome, Verdict
from pyopbench.judge.latencies import checked_frame
from pyopbench.model import formatting
from pyopbench.model.case import CONTROL_SUFFIX, Case
from pyopbench.stats import costs
from pyopbench.stats.corrections import ONE_ANALYSIS, Analyses, holm, step_down
from pyopbench.stats.estimate import FAMILY_ERROR, UNIT, Estimate, Spread, exp
from pyopbench.stats.launch_model import LaunchModel, Shares
from pyopbench.stats.unresolved import AcrossBorder, NeverPaired, NotAboveZero, Unresolved

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run


NO_SHARES = Shares(np.array([]), np.array([]), 0.0)

INTERLEAVED_ERROR = 0.01
"""How often any verdict of an interleaved comparison may be wrong. One is made for every change, so that 5% would be a
false alarm in up to every twentieth of them; docs/decisions/0022-errors-of-a-gate.md has what this costs."""

ROLE = "twin"


def estimates_of(
    shares: Mapping[str, Shares], baselines: Mapping[str, str], ports: Collection[str], model: LaunchModel, runs: int
) -> list[Estimate]:
    """Return the estimate of each case over launches, in the order of `baselines`.

    Args:
        shares: `shares_of` the cases.
        baselines: id of a case -> id of its baseline.
        ports: ids of the cases that are ports compared with a callback: these shift from run to run.
        model: what launches differ by.
        runs: how many runs the launches are of.
    """
    estimates = []
    for case in baselines:
        found = shares.get(case, NO_SHARES)
        moved = 1 + float(found.values.mean()) if case in ports and found.values.size else 0.0
        estimates.append(model.estimate(found, moved, runs))
    return estimates


def shares_of(medians: pd.DataFrame) -> dict[str, Shares]:
    """Return for each case what it costs less its baseline, in shares of the baseline's time, by launch.

    Args:
        medians: `costs.launch_medians`.
    """
    values, errors = (medians[name].to_numpy(dtype="float64") for name in ("value", "error"))
    return {
        str(case): Shares(
            values[places] - 1,
            errors[places],
            float(values[places].mean()) ** 2,
        )
        for case, places in sorted(medians.groupby("case", observed=True).indices.items())
    }


def verdicts_from(
    estimates: Sequence[Estimate], baselines: Mapping[str, str], minimum_effect: float, looks: Analyses = ONE_ANALYSIS
) -> tuple[Verdict, ...]:
    """Return the verdicts on differences in shares of a baseline's time, corrected for all of them and every look.

    Args:
        estimates: with the spread that they are to be judged by.
        baselines: id of a case -> id of its baseline.
        minimum_effect: a relative difference that is worth acting on (0.03 is 3%).
        looks: how often the run looked at its data.

    Returns:
        One verdict per case of `baselines`, in their order.
    """
    adjusted = holm([looks.spent(estimate.effect_p(minimum_effect)) for estimate in estimates])
    # Of an interval that is corrected for all of them and all looks in a single step. It straddles a border whenever
    # Holm's steps leave a verdict open, because no adjusted p is above its p times both.
    level = 1 - looks.share(FAMILY_ERROR, len(estimates)) if estimates else math.nan
    found = []
    for (case, baseline), estimate, p in zip(baselines.items(), estimates, adjusted, strict=True):
        outcome = _outcome(estimate, p, minimum_effect)
        is_open, border = outcome == "unresolved", math.copysign(minimum_effect, estimate.mean)
        low, high = map(_ratio, estimate.interval())
        found.append(
            Verdict(
                case=case,
                baseline=baseline,
                ratio=_ratio(estimate.mean),
                low=low,
                high=high,
                launches=estimate.n,
                p=p,
                outcome=outcome,
                reason=_why_unresolved(estimate, border, level, len(estimates), looks, _ratio) if is_open else None,
                needed=estimate.launches_to_clear(border, level) if is_open else estimate.n,
                fewest=estimate.fewest_launches(border, level) if is_open else estimate.n,
                trimmed=estimate.trimmed,
            )
        )
    return tuple(found)


def _ratio(share: float) -> float:
    """Return seconds over the baseline's seconds, of a difference in shares of these; what costs nothing is 0."""
    return max(1 + share, 0.0)


def _outcome(estimate: Estimate, p: float, delta: float, error: float = FAMILY_ERROR) -> Outcome:
    # "Not at most" instead of "above", so that a p that is no number resolves nothing.
    if not estimate.known or not p <= error:
        return "unresolved"
    if abs(estimate.mean) <= delta:
        return "equivalent"
    return "faster" if estimate.mean < 0 else "slower"


def _why_unresolved(  # noqa: PLR0913 - its caller knows each of them
    estimate: Estimate, border: float, level: float, verdicts: int, looks: Analyses, ratio: Callable[[float], float]
) -> Unresolved:
    """Return how far the interval reaches and what would settle it.

    Args:
        estimate: the difference.
        border: the end of the minimum effect that it lies nearer to.
        level: of the interval by which it is open.
        verdicts: how many the level is corrected for.
        looks: how often the data were looked at, which it is corrected for as well.
        ratio: turns a difference into a ratio.
    """
    if estimate.n == 0:
        return NeverPaired()
    if not estimate.known:
        return estimate.why_unknown
    low, high = map(ratio, estimate.interval(level))
    remedy = estimate.remedy(border, level)
    return AcrossBorder(low, high, ratio(border), verdicts=verdicts, looks=looks.planned, remedy=remedy)


@dataclass(frozen=True)
class Correction:
    """What the verdicts of a comparison are corrected for beside being many, and what is known from others.

    Attributes:
        among: how many comparisons of one run share the error, of which this is one.
        looks: at the data that are charged; None for those that paired runs tell of.
        error: how often any verdict may be wrong; None for what is usual of such sides.
        usual: the spread that is usual between launches; None for what these sides tell of it.
    """

    among: int = 1
    looks: Analyses | None = None
    error: float | None = None
    usual: Spread | None = None


NOTHING_ELSE = Correction()


@dataclass(frozen=True)
class CaseVerdict:
    """A case on the second side against the first.

    Attributes:
        ratio: seconds of the second over seconds of the first; nan where there is none.
        low, high: the interval that the verdict goes by.
        level: of that interval, two-sided; nan where there is none.
        launches: what the ratio is made of, or pairs of launches.
        p: adjusted for all cases and for the looks at the data.
        outcome: follows from `p` and the minimum effect.
        reason: why an `unresolved` one is left open.
    """

    ratio: float
    low: float
    high: float
    level: float
    launches: int
    p: float
    outcome: Outcome
    reason: Unresolved | None = None


def verdicts_on(
    estimates: Sequence[Estimate], minimum_effect: float, looks: Analyses, error: float = FAMILY_ERROR
) -> list[CaseVerdict]:
    """Return a verdict on each estimate of a log ratio, in order.

    Args:
        estimates: with the spread that they are to be judged by.
        minimum_effect: a relative difference that is worth acting on.
        looks: how often the data were looked at, or could have been.
        error: how often any of the verdicts may be wrong.
    """
    delta = math.log1p(minimum_effect)
    found = []
    for estimate, step in zip(estimates, step_down(estimates, delta, looks, error), strict=True):
        outcome, border = _outcome(estimate, step.p, delta, error), math.copysign(delta, estimate.mean)
        low, high = map(exp, estimate.interval(step.level))
        reason = None
        if outcome == "unresolved":
            reason = _why_unresolved(estimate, border, step.level, step.cases, looks, exp)
        found.append(CaseVerdict(exp(estimate.mean), low, high, step.level, estimate.n, step.p, outcome, reason))
    return found


def not_above_zero(frame: pd.DataFrame, logs: pd.DataFrame) -> dict[str, NotAboveZero]:
    """Return the cases of mode node that cost nothing that could be told from zero in some launch.

    Their cost is a difference of two times, and noise can take it below zero. The launches in which it does not would
    be a choice of the slow ones, so that no ratio is made of them.

    Args:
        frame: one row per timed block, as `sides.ComparedSide.frame`.
        logs: `stats.estimate.launch_logs` of it.
    """
    rows = frame[(frame["mode"] == costs.MODE) & (frame["copies"] > 0)]  # without the empty function
    measured = rows[["case", *UNIT]].drop_duplicates().groupby("case", observed=True).size()
    above = logs.groupby("case", observed=True).size()
    lost = {str(case): (count - int(above.get(case, 0)), count) for case, count in measured.items()}
    return {case: NotAboveZero(gone, int(made)) for case, (gone, made) in lost.items() if gone}


def too_small(reason: NotAboveZero) -> CaseVerdict:
    """Return the verdict on a case that is too small for a ratio."""
    nan = math.nan
    return CaseVerdict(nan, nan, nan, nan, reason.launches, 1.0, "unresolved", reason)


def shares_of_pairs(found: pd.DataFrame, pairs: Mapping[str, str], today: Mapping[str, str]) -> dict[str, Shares]:
    """Return for each case what it costs more than its original, by launch.

    The difference is taken within each round, and over launches as any cost is, by `costs.ratios`: of costs that vary
    by a lognormal of 0.8 the median of differences finds 8.6 of 10% that a callback is slower by (simulated).

    Args:
        found: `costs.round_costs`.
        pairs: id of a case -> id of its original.
        today: id of a case -> id of the current callback's in its group and direction; without it there is no share.
    """
    known = {**today, **{case: case for case in today.values()}}
    there = {case: original for case, original in pairs.items() if original in known}
    if not there:
        return {}
    units = {case: known[original] for case, original in there.items()}
    differences = pd.concat([_differences(found, there), found[found["case"].isin(list(units.values()))]])
    ratios = costs.ratios(differences, units, UNIT)
    medians = costs.launch_medians(ratios.assign(ratio=1 + ratios["ratio"]), "ratio", UNIT)
    originals = costs.ratios(found, {original: known[original] for original in there.values()}, UNIT)
    levels = originals.groupby("case", observed=True)["ratio"].mean()
    # What launches differ by is in proportion to what the two cost, and not to the current time.
    return {case: replace(one, leverage=float(levels[there[case]]) ** 2) for case, one in shares_of(medians).items()}


def _differences(found: pd.DataFrame, pairs: Mapping[str, str]) -> pd.DataFrame:
    """Return what each case costs more than its original in the same round, as `costs.round_costs`."""
    cases = found[found["case"].isin(list(pairs))]
    cases = cases.assign(original=cases["case"].astype(str).map(dict(pairs)))
    originals = found.assign(original=found["case"].astype(str)).drop(columns="case")
    paired = cases.merge(originals, on=["original", *UNIT, "round"], suffixes=("", "_of_original"))
    more = paired.assign(seconds=paired["seconds"] - paired["seconds_of_original"])
    return more[list(found.columns)]


@dataclass(frozen=True)
class Controls:
    """What became of the pairs of identical code.

    Attributes:
        pairs: a verdict on each twin against the variant that it is.
        minimum_effect: the share that verdicts were held against.
    """

    pairs: tuple[Verdict, ...]
    minimum_effect: float

    @property
    def told_apart(self) -> tuple[Verdict, ...]:
        """The pairs that were found to differ, which is wrong of each."""
        return tuple(pair for pair in self.pairs if pair.outcome in ("faster", "slower"))

    @property
    def equal(self) -> tuple[Verdict, ...]:
        """The pairs that were shown to differ by less than the minimum effect."""
        return tuple(pair for pair in self.pairs if pair.outcome == "equivalent")

    @property
    def farthest(self) -> float | None:
        """By how much the pair that is furthest apart differs, as a share; None without a pair."""
        return max((abs(pair.ratio - 1) for pair in self.pairs), default=None)

    def text(self) -> str:
        """Return how many pairs of identical code were told apart, shown equal, or left open; "" without a pair."""
        if not self.pairs:
            return ""
        effect = formatting.percent(self.minimum_effect)
        apart, equal, many = len(self.told_apart), len(self.equal), len(self.pairs)
        found = f"{apart:,} found different, {equal:,} equal within {effect}, {many - apart - equal:,} unresolved"
        measured = f"{formatting.count(many, 'callback')} measured twice under two names"
        return f"A/A controls in this run ({measured}): {found}; largest difference {formatting.points(self.farthest)}."


NO_CONTROLS = Controls((), 0.0)


def controls_of(run: Run, model: LaunchModel, minimum_effect: float) -> Controls:
    """Return the verdicts on the twins of a run, corrected for all of them and for the looks at its data.

    Args:
        run: what was measured.
        model: what its launches differ by.
        minimum_effect: a share that is worth acting on.
    """
    names = run.catalogue.parts_of_role(ROLE)
    cases = [Case.from_id(key) for key in run.costs.cases]
    bases = {case.id: _base(case).id for case in cases if case.variant in names}
    if not bases:
        return Controls((), minimum_effect)
    frame = pd.concat([run.costs.frame, checked_frame(run)], ignore_index=True)
    frame = frame[frame["case"].isin([*bases, *bases.values()])]
    ratios = costs.ratios(costs.round_costs(frame, UNIT), bases, UNIT)
    shares = shares_of(costs.launch_medians(ratios, "ratio", UNIT))
    measured = {twin: base for twin, base in bases.items() if twin in shares}
    estimates = estimates_of(shares, measured, (), model, 1)
    looks = Analyses.of(len(run.looks))
    return Controls(verdicts_from(estimates, measured, minimum_effect, looks), minimum_effect)


def _base(case: Case) -> Case:
    return replace(case, variant=case.variant.removesuffix(CONTROL_SUFFIX))
