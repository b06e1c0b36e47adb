"""Verdicts: faster, slower, equivalent, or unresolved and why; of variants, of sides, and of identical code.

**Within a run** each case is compared with the baseline of its group, in shares of the baseline's time. The verdicts of
one op and use are corrected together: that is what a reader compares.

**Between two sides** each case is compared with the same case, by the log of their ratio, and all cases are corrected
together.

A verdict follows from its corrected probability (Holm); the interval next to it is the plain one of 95%.

**A/A controls** are variants that were measured twice: they show the effect of noise alone, on this machine at this
hour. What they differ by is in shares of the time of their originals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pyopbench.judge.candidates import Setting
from pyopbench.judge.decision import CaseVerdict, Outcome, Verdict
from pyopbench.judge.latencies import checked_frame
from pyopbench.model import formatting
from pyopbench.model.case import CONTROL_SUFFIX, Case
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import FAMILY_ERROR, MOST_LAUNCHES, RUN_EFFECT, UNIT, Estimate, Launches, Spread, holm

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run


NO_SHARES = Launches(np.array([]))

ROLE = "twin"


def estimates_of(
    shares: Mapping[str, Launches], baselines: Mapping[str, str], ports: Collection[str], spread: Spread
) -> list[Estimate]:
    """Return the estimate of each case over launches, in the order of `baselines`.

    `ports` are compared with callbacks, and shift against them from run to run.
    """
    estimates = []
    for case in baselines:
        found = shares.get(case, NO_SHARES)
        moved = 1 + float(found.values.mean()) if case in ports and found.values.size else 0.0
        estimates.append(spread.estimate(found, (RUN_EFFECT * moved) ** 2))
    return estimates


def shares_of(medians: pd.DataFrame) -> dict[str, Launches]:
    """Return for each case what it costs less its baseline, in shares of the baseline's time, by launch."""
    return {
        case: Launches(one.values - 1, one.errors, float(one.values.mean()) ** 2)
        for case, one in estimate.launches_by_case(medians).items()
    }


def verdicts_from(
    estimates: Sequence[Estimate], baselines: Mapping[str, str], minimum_effect: float, error: float = FAMILY_ERROR
) -> tuple[Verdict, ...]:
    """Return the verdicts on differences in shares of a baseline's time, those of one op and use corrected together."""
    families: dict[Setting, list[tuple[str, Estimate]]] = {}
    for case, one in zip(baselines, estimates, strict=True):
        families.setdefault(Setting.of(Case.from_id(case)), []).append((case, one))
    found: dict[str, Verdict] = {}
    for family in families.values():
        verdicts = verdicts_on([one for _, one in family], minimum_effect, error, of_shares=True)
        for (case, _), verdict in zip(family, verdicts, strict=True):
            found[case] = Verdict(**vars(verdict), case=case, baseline=baselines[case])
    return tuple(found[case] for case in baselines)


def verdicts_on(
    estimates: Sequence[Estimate], minimum_effect: float, error: float = FAMILY_ERROR, *, of_shares: bool = False
) -> list[CaseVerdict]:
    """Return a verdict on each estimate, in order, corrected for all of them.

    Args:
        estimates: with the spread that they are to be judged by.
        minimum_effect: a relative difference that is worth acting on.
        error: how often any of the verdicts may be wrong.
        of_shares: whether these are differences in shares of the baseline's time, in which those without a spread share
            the error as well; else they are log ratios.
    """
    delta, ratio = (minimum_effect, _ratio) if of_shares else (math.log1p(minimum_effect), estimate.exp)
    counted = [place for place, one in enumerate(estimates) if one.known or of_shares]
    adjusted = dict(zip(counted, holm([estimates[place].border_p(delta) for place in counted]), strict=True))
    level, last = (1 - rate / max(len(counted), 1) for rate in (error, FAMILY_ERROR))
    found = []
    for place, one in enumerate(estimates):
        p = adjusted.get(place, 1.0)
        low, high = map(ratio, one.interval())
        verdict = CaseVerdict(ratio(one.mean), low, high, one.n, p, _outcome(one, p, delta, error), None, one.n, one.n)
        if verdict.outcome == "unresolved":
            border = math.copysign(delta, one.mean)
            needed = one.launches_to_clear(border, level)
            why = _why_unresolved(one, border, one.interval(level), needed, len(counted), ratio)
            fewest = one.fewest_launches(border, last)  # by the error of the report
            verdict = replace(verdict, reason=why, needed=needed, fewest=fewest)
        found.append(verdict)
    return found


def _ratio(share: float) -> float:
    """Return seconds over the baseline's seconds, of a difference in shares of these; what costs nothing is 0."""
    return max(1 + share, 0.0)


def _outcome(one: Estimate, p: float, delta: float, error: float) -> Outcome:
    # "Not at most" instead of "above", so that a p that is no number resolves nothing.
    if not one.known or not p <= error:
        return "unresolved"
    if abs(one.mean) <= delta:
        return "equivalent"
    return "faster" if one.mean < 0 else "slower"


def _why_unresolved(  # noqa: PLR0913 - what the sentence names
    one: Estimate,
    border: float,
    interval: tuple[float, float],
    needed: int | None,
    verdicts: int,
    ratio: Callable[[float], float],
) -> str:
    """Return how far the corrected interval reaches across the nearer border, and how many launches would settle it."""
    if one.n == 0:
        return "never measured in the same launch and round"
    if not one.known:
        return "one launch gives no interval"
    low, high, at = (formatting.ratio(ratio(end)) for end in (*interval, border))
    remedy = (
        f"this would take more than {MOST_LAUNCHES:,} launches instead of {one.n}"
        if needed is None
        else f"about {needed} launches instead of {one.n} would decide it"
    )
    corrected = f"corrected for {formatting.count(verdicts, 'verdict')}"
    return f"the interval ({corrected}) is {low} to {high} and includes {at}; {remedy}"


def not_above_zero(launches: Mapping[str, Launches]) -> dict[str, CaseVerdict]:
    """Return a verdict without a number for the cases whose cost is not above zero in some launch.

    In mode node a cost is a difference of two times, and noise can take it below zero. The launches in which it does
    not would be a choice of the slow ones, so that no ratio is made of them.
    """
    found = {}
    for case, one in launches.items():
        n, lost = len(one.values), int(np.isnan(one.values).sum())
        if lost:
            of = formatting.count(n, "launch", "launches")
            why = f"too small for a ratio: in {lost} of {of} its cost is not above zero"
            found[case] = CaseVerdict(math.nan, math.nan, math.nan, n, 1.0, "unresolved", why)
    return found


def shares_of_pairs(found: pd.DataFrame, pairs: Mapping[str, str], today: Mapping[str, str]) -> dict[str, Launches]:
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
    """The verdicts on pairs of identical code."""

    pairs: tuple[Verdict, ...]  # a verdict on each copy against its original
    minimum_effect: float  # of the verdicts, a share

    @property
    def differing(self) -> tuple[Verdict, ...]:
        """The pairs that were wrongly found to differ."""
        return tuple(pair for pair in self.pairs if pair.outcome in ("faster", "slower"))

    def text(self) -> str:
        """Return how many pairs of identical code were found different, equal or unresolved; "" without a pair."""
        if not self.pairs:
            return ""
        measured = f"{formatting.count(len(self.pairs), 'callback')} measured twice under two names"
        return f"A/A controls in this run ({measured}): {identical_text(self.pairs, self.minimum_effect)}."


def identical_text(pairs: Sequence[CaseVerdict], minimum_effect: float) -> str:
    """Return how many pairs of identical code were found different, equal or unresolved, a clause."""
    outcomes = [pair.outcome for pair in pairs]
    equal, unresolved = outcomes.count("equivalent"), outcomes.count("unresolved")
    known = [abs(pair.ratio - 1) for pair in pairs if math.isfinite(pair.ratio)]
    return (
        f"{len(pairs) - equal - unresolved:,} found different, {equal:,} equal within "
        f"{formatting.percent(minimum_effect)}, {unresolved:,} unresolved; largest difference "
        f"{formatting.points(max(known, default=math.nan))}"
    )


NO_CONTROLS = Controls((), 0.0)


def controls_of(run: Run, spread: Spread, minimum_effect: float) -> Controls:
    """Return the verdicts on the A/A controls of a run, corrected for all of them."""
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
    estimates = estimates_of(shares, measured, (), spread)
    return Controls(verdicts_from(estimates, measured, minimum_effect), minimum_effect)


def _base(case: Case) -> Case:
    return replace(case, variant=case.variant.removesuffix(CONTROL_SUFFIX))
