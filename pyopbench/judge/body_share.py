"""The share of a callback's time that its body takes: another kind of callback can save no more than the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pyopbench.model import formatting
from pyopbench.model.case import NO_GRADIENT, Case, variant_in
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.judge.candidates import Setting, SettingComparison
    from pyopbench.judge.choice import Choice
    from pyopbench.judge.program import Mix
    from pyopbench.store.measured_run import Run
    from pyopbench.store.types import Catalogue


ROLE = "body_alone"


@dataclass(frozen=True)
class BodyShare:
    """The share of the current time that the body of the current callback takes by itself, over the mix."""

    op: str  # op, mode, dtype and placement: of the decision, which is one for inference
    mode: str
    dtype: str
    placement: str
    baseline: str  # label of the current callback
    body: str  # which body, for example `numpy`
    share: float  # of the current time; above 1 only by noise

    def text(self) -> str:
        """Return what a body takes of the cost of the callback around it, and so what no other bridge can gain."""
        most_gain = 1 / min(self.share, 1.0)
        return (
            f"the {self.body} body takes {formatting.points(self.share)} of the time of {self.baseline}, so a callback "
            f"around the same {self.body} body gains at most {formatting.ratio(most_gain)}; another body may gain more"
        )


def body_shares_of(
    run: Run, choices: Iterable[tuple[SettingComparison, tuple[Choice, Mix] | None]], rounds: pd.DataFrame
) -> tuple[BodyShare, ...]:
    """Return the shares of bodies that bound what another callback around them can save, in the order of the choices.

    A body does that if it takes more than the bridge, no callback around it was measured to save more than the bridge
    costs, and the answer is not another body. There is none for training, where bodies are not timed alone, and where
    some size of the mix has no such number.

    Args:
        run: the measurements.
        choices: each setting with the choice in it, and the mix of the sizes that the op is called with.
        rounds: `costs.round_costs` of everything that is compared.
    """
    catalogue, frame = run.catalogue, run.costs.frame
    alone = {catalogue.parts[name].body: name for name in catalogue.parts_of_role(ROLE)}
    bodies = costs.round_costs(frame[frame["variant"].isin(list(alone.values()))], estimate.UNIT)
    if bodies.empty:
        return ()
    settings = []
    callback_of: dict[str, str] = {}
    for comparison, made in choices:
        setting, variant = comparison.setting, variant_in(comparison.baseline)
        body = catalogue.variant(variant).body
        if made is not None and setting.direction == "forward" and body in alone:
            choice, mix = made
            bare, around_it = (_cases(setting, name, mix.needed) for name in (alone[body], variant))
            callback_of |= zip(bare, around_it, strict=True)
            settings.append((comparison, choice, mix, body, bare))
    share_of = _shares_of_cases(bodies, rounds, callback_of)
    found = []
    for comparison, choice, mix, body, bare in settings:
        share = float(np.array([share_of.get(case, math.nan) for case in bare]) @ mix.pull)
        around = {gain.label: gain.saved for gain in choice.gains if _runs(catalogue, gain.label, body)}
        is_bound = share > 1 / 2 and not any(saved > 1 - min(share, 1.0) for saved in around.values())
        if is_bound and (choice.label is None or choice.label in around):
            setting = comparison.setting
            where = (setting.op, setting.mode, setting.dtype, setting.placement)
            found.append(BodyShare(*where, comparison.baseline, body, share))
    return tuple(found)


def _cases(setting: Setting, variant: str, sizes: Sequence[int]) -> list[str]:
    where = (setting.mode, setting.dtype)
    return [Case(setting.op, variant, NO_GRADIENT, "forward", *where, size, setting.placement).id for size in sizes]


def _shares_of_cases(
    bodies: pd.DataFrame, callbacks: pd.DataFrame, callback_of: Mapping[str, str]
) -> Mapping[str, float]:
    """Return the median over launches of each body's cost over its callback's in the same rounds, where there is one.

    All are taken at once, because each time takes as long as all of them together.
    """
    chosen = [
        bodies[bodies["case"].isin(list(callback_of))],
        callbacks[callbacks["case"].isin(list(callback_of.values()))],
    ]
    ratios = costs.ratios(pd.concat(chosen, ignore_index=True), callback_of, estimate.UNIT)
    medians = costs.launch_medians(ratios, "ratio", estimate.UNIT)
    shares = medians.groupby("case", observed=True)["value"].median()
    return {str(case): float(share) for case, share in shares.items()}


def _runs(catalogue: Catalogue, label: str, body: str) -> bool:
    """Is a label a callback around a body as it is, which nothing compiles?"""
    variant = catalogue.variant(variant_in(label))
    return (variant.kind, variant.body, variant.automatic) == ("callback", body, False)
