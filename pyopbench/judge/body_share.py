"""The share of a callback's time that its body takes: another kind of callback can save no more than the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from pyopbench.model import formatting
from pyopbench.model.case import (
    NO_GRADIENT,
    Case,
    Label,
)
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.judge.candidates import Setting, SettingComparison
    from pyopbench.judge.choice import Choice
    from pyopbench.judge.program import Mix
    from pyopbench.store.measured_run import Run
    from pyopbench.store.types import Catalogue

    SettingChoice: TypeAlias = tuple[SettingComparison, tuple[Choice, Mix] | None]


ROLE = "body_alone"


@dataclass(frozen=True)
class BodyShare:
    """The share of the current time that the body of the current callback takes by itself, over the mix.

    Attributes:
        op, mode, dtype, placement: of the decision, which is one for inference.
        baseline: label of the current callback.
        body: which body, for example `numpy`.
        share: of the current time; above 1 only by noise.
        saved_around: the largest share of the current time that another callback around the body saves; nan for none.
    """

    op: str
    mode: str
    dtype: str
    placement: str
    baseline: str
    body: str
    share: float
    saved_around: float = math.nan

    @property
    def most_gain(self) -> float:
        """Seconds today over the seconds that are left if the bridge cost nothing."""
        return 1 / min(self.share, 1.0)

    def text(self) -> str:
        """Return what a body takes of the cost of the callback around it, and so what no other bridge can gain."""
        return (
            f"the {self.body} body takes {formatting.points(self.share)} of the time of {self.baseline}, so a callback "
            f"around the same {self.body} body gains at most {formatting.ratio(self.most_gain)}; another body may gain "
            "more"
        )


def body_shares_of(run: Run, choices: Iterable[SettingChoice], rounds: pd.DataFrame) -> tuple[BodyShare, ...]:
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
    bodies = costs.round_costs(frame[frame["variant"].isin(catalogue.parts_of_role(ROLE))], estimate.UNIT)
    if bodies.empty:
        return ()
    settings = [(comparison, *made, _pairs(comparison, made[1], catalogue)) for comparison, made in choices if made]
    share_of = _shares_of_cases(bodies, rounds, dict(pair for *_, pairs in settings for pair in pairs))
    found = []
    for comparison, choice, mix, pairs in settings:
        share = float(np.array([share_of.get(alone, math.nan) for alone, _ in pairs]) @ mix.pull) if pairs else math.nan
        setting, body = comparison.setting, catalogue.variant(Label.parse(comparison.baseline).variant).body
        around = {gain.label: gain.saved for gain in choice.gains if _runs(catalogue, gain.label, body)}
        most = max(around.values(), default=math.nan)
        if share > 1 / 2 and not most > 1 - min(share, 1.0) and (choice.label is None or choice.label in around):
            where = (setting.op, setting.mode, setting.dtype, setting.placement)
            found.append(BodyShare(*where, comparison.baseline, body, share, most))
    return tuple(found)


def _pairs(comparison: SettingComparison, mix: Mix, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return for each size of a mix the case of the body alone and that of the current callback around it."""
    setting, variant = comparison.setting, Label.parse(comparison.baseline).variant
    body = catalogue.variant(variant).body
    alone = [name for name in catalogue.parts_of_role(ROLE) if catalogue.parts[name].body == body]
    if not alone or setting.direction != "forward":
        return []
    return [(_case(setting, alone[0], size), _case(setting, variant, size)) for size in mix.needed]


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
    variant = catalogue.variant(Label.parse(label).variant)
    return (variant.kind, variant.body, variant.automatic) == ("callback", body, False)


def _case(setting: Setting, variant: str, size: int) -> str:
    where = (setting.mode, setting.dtype, size, setting.placement)
    return Case(setting.op, variant, NO_GRADIENT, "forward", *where).id
