"""Which variant to go to: the gain of each candidate over a mix of sizes, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyopbench import stats
from pyopbench.mix import Floats, Mix
from pyopbench.model import Action
from pyopbench.stats import Estimate


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something that could stand in for the callback of today.

    Attributes:
        label: `variant` or `variant+gradient`.
        kind: `callback` or `port`.
        effort: rank of the work to get there; infinite where the catalogue has none.
        log_ratios: one row per launch, one column per size, log of its seconds over the baseline's; nan is no number.
    """

    label: str
    kind: str
    effort: float
    log_ratios: pd.DataFrame

    def over(self, mix: Mix) -> Floats:
        """Return the log ratios that the mix draws on, `(launches, needed)`, of the launches that have all of them."""
        return self.log_ratios.reindex(columns=list(mix.needed)).dropna().to_numpy(dtype="float64")

    def lacks(self, mix: Mix) -> tuple[int, ...]:
        """Return the sizes that the mix draws on and no launch has."""
        launches = self.log_ratios.reindex(columns=list(mix.needed)).notna().any()
        return tuple(size for size, measured in zip(mix.needed, launches, strict=True) if not measured)


@dataclass(frozen=True, eq=False)
class Gain:
    """Seconds today over seconds afterwards for one candidate: `log` over launches, at a corrected level."""

    candidate: Candidate
    log: Estimate
    level: float

    @property
    def label(self) -> str:
        """The label of the candidate."""
        return self.candidate.label

    @property
    def value(self) -> float:
        """The gain at the centre."""
        return stats.exp(self.log.mean)

    @property
    def low(self) -> float:
        """The lower end of the interval; nan for one launch."""
        return stats.exp(self.log.interval(self.level)[0])

    @property
    def high(self) -> float:
        """The upper end of the interval; nan for one launch."""
        return stats.exp(self.log.interval(self.level)[1])


@dataclass(frozen=True, eq=False)
class Choice:
    """What to do over one mix.

    Attributes:
        action: `keep`, `switch`, `port` or `undecided`.
        gain: of the chosen candidate; of the best by its centre for keep and undecided; None without candidates.
        gains: of every candidate, in the order of their labels.
        threshold: the gain from which a change is worth it, one plus the minimum effect.
    """

    action: Action
    gain: Gain | None
    gains: tuple[Gain, ...]
    threshold: float

    @property
    def label(self) -> str | None:
        """Where to go; None for keep and undecided."""
        return self.gain.label if self.gain and self.action in ("switch", "port") else None

    @property
    def answer(self) -> str:
        """`keep`, `undecided`, `port to native` or `switch to numpy_function`, as `Decision.answer`."""
        return self.action if self.label is None else f"{self.action} to {self.label}"

    @property
    def open(self) -> tuple[Gain, ...]:
        """The gains whose interval reaches across the threshold, or that have no interval."""
        return tuple(gain for gain in self.gains if not (gain.low > self.threshold or gain.high < self.threshold))


def choose(candidates: Sequence[Candidate], mix: Mix, minimum_effect: float) -> Choice:
    """Choose among the candidates that some launch measured at every size the mix draws on.

    A candidate is clear if the lower bound of its gain is above one plus the minimum effect; the bounds hold for all
    candidates at once (Bonferroni). From the clear one with the largest lower bound, the choice moves to the clear one
    of least effort (then first by name) whose gain is no more than the minimum effect below it: a gain too small to
    act on is too small to pay for with more work.
    """
    covering = [candidate for candidate in candidates if len(candidate.over(mix))]
    level = 1 - stats.FAMILY_ERROR / max(len(covering), 1)
    gains = [Gain(one, Estimate.of(-np.log(mix.cost(one.over(mix)))), level) for one in covering]
    gains.sort(key=lambda gain: gain.label)
    threshold = 1 + minimum_effect
    action, gain = _pick(gains, threshold)
    return Choice(action, gain, tuple(gains), threshold)


def _pick(gains: Sequence[Gain], threshold: float) -> tuple[Action, Gain | None]:
    clear = [gain for gain in gains if gain.low > threshold]
    if clear:
        surest = max(clear, key=lambda gain: gain.low)
        near = [gain for gain in clear if gain.value * threshold >= surest.value]
        gain = min(near, key=lambda gain: (gain.candidate.effort, gain.label))
        return ("switch" if gain.candidate.kind == "callback" else "port"), gain
    best = max(gains, key=lambda gain: gain.value, default=None)
    return ("keep" if gains and all(gain.high < threshold for gain in gains) else "undecided"), best
