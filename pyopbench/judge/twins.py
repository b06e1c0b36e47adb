"""Variants that were measured twice in the same run: what noise made of nothing, on this machine at this hour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.latencies import checked_frame
from pyopbench.judge.verdicts import SHARES, estimates_of, shares_of, verdicts_from
from pyopbench.model.case import TWIN_SUFFIX, Case
from pyopbench.stats import costs, estimate
from pyopbench.stats.corrections import Looks

if TYPE_CHECKING:
    from pyopbench.judge.decision import Verdict
    from pyopbench.stats.launch_model import LaunchModel
    from pyopbench.store.run import Run

ROLE = "twin"


@dataclass(frozen=True)
class Twins:
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


NO_TWINS = Twins((), 0.0)


def twins_of(run: Run, model: LaunchModel, minimum_effect: float) -> Twins:
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
        return Twins((), minimum_effect)
    frame = pd.concat([run.costs.frame, checked_frame(run)], ignore_index=True)
    frame = frame[frame["case"].isin([*bases, *bases.values()])]
    ratios = costs.ratios(costs.round_costs(frame, estimate.UNIT), bases, estimate.UNIT)
    shares = shares_of(costs.launch_medians(ratios, "ratio", estimate.UNIT), run.hosts)
    measured = {twin: base for twin, base in bases.items() if twin in shares}
    estimates = estimates_of(shares, measured, (), model, 1)
    looks = Looks.of(len(run.looks))
    return Twins(verdicts_from(estimates, measured, minimum_effect, looks, SHARES), minimum_effect)


def _base(case: Case) -> Case:
    return replace(case, variant=case.variant.removesuffix(TWIN_SUFFIX))
