"""Which variant to go to: the gain of each candidate over a mix of sizes, and the choice among them by common rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from pyopbench.core.errors import BadInput
from pyopbench.judge.candidates import Candidate, Comparison
from pyopbench.judge.findings import Action, Answer
from pyopbench.judge.mix import Mix, calls_in, calls_mix, even_mix
from pyopbench.results.mix_file import Calls
from pyopbench.stats import estimate
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.looks import ONE_LOOK, Looks
from pyopbench.stats.spread import UNKNOWN, Spread, usual_spread


@dataclass(frozen=True, eq=False)
class Gain:
    """Seconds today over seconds afterwards for one candidate: its logs by launch, at a corrected level.

    `usual` is the spread between launches that is usual among the gains of the report.
    """

    candidate: Candidate
    logs: pd.Series[float]
    level: float
    usual: Spread

    @cached_property
    def log(self) -> Estimate:
        """The estimate of the log over launches."""
        return replace(Estimate.of(self.logs.to_numpy()), usual=self.usual)

    def against(self, other: Gain) -> Estimate:
        """Return the estimate of the log of this gain over the other's, paired by launch."""
        # Of two candidates the spread is much like that of one and the baseline: all are ratios within a launch.
        return replace(Estimate.of((self.logs - other.logs).dropna().to_numpy()), usual=self.usual)

    def is_clearly_above(self, other: Gain, threshold: float) -> bool:
        """Say whether this gain is more than `threshold` times the other's, paired by launch, at the same level."""
        return self.against(other).interval(self.level)[0] > math.log(threshold)

    def may_be_above(self, other: Gain, threshold: float) -> bool:
        """Say whether the interval of `is_clearly_above` reaches across `threshold`, or there is none."""
        low, high = self.against(other).interval(self.level)
        return not (low > math.log(threshold) or high < math.log(threshold))

    @property
    def label(self) -> str:
        """The label of the candidate."""
        return self.candidate.label

    @property
    def value(self) -> float:
        """The gain at the centre."""
        return estimate.exp(self.log.mean)

    @property
    def low(self) -> float:
        """The lower end of the interval; nan for one launch."""
        return estimate.exp(self.log.interval(self.level)[0])

    @property
    def high(self) -> float:
        """The upper end of the interval; nan for one launch."""
        return estimate.exp(self.log.interval(self.level)[1])


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
    def answer(self) -> Answer:
        """What to do, as `Decision.answer`."""
        return Answer(self.action, self.label)

    @property
    def open(self) -> tuple[Gain, ...]:
        """The gains whose interval reaches across the threshold, or that have no interval."""
        return tuple(gain for gain in self.gains if not (gain.low > self.threshold or gain.high < self.threshold))

    @property
    def rivals(self) -> tuple[Gain, ...]:
        """The gains that more launches could still show to be above the chosen one; none for keep and undecided.

        What is already known not to be worth it is no rival.
        """
        chosen = self.gain if self.label is not None else None
        if chosen is None:
            return ()
        others = (gain for gain in self.gains if gain is not chosen and not gain.high < self.threshold)
        return tuple(gain for gain in others if gain.may_be_above(chosen, self.threshold))


@dataclass(frozen=True)
class Rules:
    """How to choose.

    Attributes:
        minimum_effect: a relative gain that is worth acting on.
        usual: the spread between launches that is usual.
        preferred: the label to begin with, if it is clear.
        looks: how often the run looked at its data, or could have.
        must_change: the callback of today cannot stay, so that a candidate is chosen whatever its gain.
    """

    minimum_effect: float
    usual: Spread = UNKNOWN
    preferred: str | None = None
    looks: Looks = ONE_LOOK
    must_change: bool = False


def choose(candidates: Sequence[Candidate], mix: Mix, rules: Rules) -> Choice:
    """Choose among the candidates that some launch measured at every size the mix draws on.

    A candidate is clear if the lower bound of its gain is above one plus the minimum effect; the bounds hold for all
    candidates and looks at once (Bonferroni). The choice begins with the clear one of least effort (then first by
    name), and moves on to one of more effort only where that is clearly faster still, paired by launch and by more than
    the minimum effect: work has to be paid for by evidence. Where the callback of today cannot stay, every candidate
    counts as clear.

    Args:
        candidates: what could be chosen.
        mix: shares of today's time by size.
        rules: how to choose.
    """
    covering = [candidate for candidate in candidates if len(candidate.over(mix))]
    level = 1 - rules.looks.share(estimate.FAMILY_ERROR, max(len(covering), 1))
    gains = sorted((Gain(one, one.log_gains(mix), level, rules.usual) for one in covering), key=lambda gain: gain.label)
    threshold = 1 + rules.minimum_effect
    action, gain = _pick(gains, threshold, rules)
    return Choice(action, gain, tuple(gains), threshold)


def usual_gain_spread(choices: Iterable[tuple[Sequence[Candidate], Mix]]) -> Spread:
    """Return the spread between launches that is usual among the gains of many choices."""
    logs = (candidate.log_gains(mix) for candidates, mix in choices for candidate in candidates)
    estimates = (Estimate.of(gains) for gains in logs)
    return usual_spread((estimate.deviation, estimate.own_degrees) for estimate in estimates)


def _pick(gains: Sequence[Gain], threshold: float, rules: Rules) -> tuple[Action, Gain | None]:
    clear = [gain for gain in gains if rules.must_change or gain.low > threshold]
    if not clear:
        best = max(gains, key=lambda gain: gain.value, default=None)
        return ("keep" if gains and all(gain.high < threshold for gain in gains) else "undecided"), best
    by_effort = sorted(clear, key=lambda gain: (gain.candidate.effort, gain.label))
    picked = next((gain for gain in clear if gain.label == rules.preferred), by_effort[0])
    for gain in by_effort:
        if gain.is_clearly_above(picked, threshold):
            picked = gain
    return ("switch" if picked.candidate.kind == "callback" else "port"), picked


@dataclass(frozen=True)
class Rulebook:
    """What all decisions of a report have in common.

    Attributes:
        over_mix: how to choose over the mix; the spread is what is usual there.
        at_size: how to choose at one size; the same.
        calls: size -> how often it is called; None for shares that are even over the log of the size.
    """

    over_mix: Rules
    at_size: Rules
    calls: Calls | None


def rulebook_of(comparisons: Sequence[Comparison], rules: Rules, calls: Calls | None) -> Rulebook:
    """Return `rules` over the mix and at one size, with the spreads that are usual there among all comparisons.

    Raises:
        BadInput: the mix fits no op at all.
    """
    measured = [one for one in comparisons if one.seconds and is_called(one, calls)]
    if calls is not None and not measured and any(one.seconds for one in comparisons):
        raise BadInput(
            "the mix has calls in no dtype that was measured",
            received=", ".join(dict.fromkeys(key[0] for key in calls if isinstance(key, tuple))),
            legal=", ".join(dict.fromkeys(one.setting.dtype for one in comparisons if one.seconds)),
            next_step="correct the dtypes of the mix, or measure in these as well",
        )
    reachable = [one for one in measured if not sizes_beyond(one, calls)]
    if measured and not reachable and not any(_was_asked_for(one, calls) for one in measured):
        _mix(measured[0], calls)  # fits nothing, and says so
    over_mix = usual_gain_spread((one.candidates, _mix(one, calls)) for one in reachable)
    at_size = usual_gain_spread((one.candidates, even_mix((size,))) for one in comparisons for size in one.seconds)
    return Rulebook(replace(rules, usual=over_mix), replace(rules, usual=at_size), calls)


def is_called(comparison: Comparison, calls: Calls | None) -> bool:
    """Does the mix have calls in the dtype of the setting? Without a mix every dtype is called."""
    return calls is None or bool(calls_in(calls, comparison.setting.dtype))


def sizes_beyond(comparison: Comparison, calls: Calls | None) -> list[int]:
    """Return the sizes of a mix that lie beyond what the baseline was measured at; they leave the op undecided."""
    low, high = min(comparison.seconds), max(comparison.seconds)
    return [size for size in sorted(calls_in(calls or {}, comparison.setting.dtype)) if not low <= size <= high]


def choose_over_mix(comparison: Comparison, rulebook: Rulebook) -> tuple[Choice, Mix] | None:
    """Return the choice over the mix, and the mix; None where the baseline has no number at some size of it."""
    calls = rulebook.calls
    if not comparison.seconds or not is_called(comparison, calls) or sizes_beyond(comparison, calls):
        return None
    mix = _mix(comparison, calls)
    rules = replace(rulebook.over_mix, must_change=comparison.must_change)
    return choose(comparison.candidates, mix, rules), mix


def _mix(comparison: Comparison, calls: Calls | None) -> Mix:
    if calls is None:
        return even_mix(tuple(comparison.seconds))
    called, setting = calls_in(calls, comparison.setting.dtype), comparison.setting
    return calls_mix(called, comparison.seconds, f"{comparison.baseline} for {setting.op}")


def _was_asked_for(comparison: Comparison, calls: Calls | None) -> bool:
    low, high = comparison.planned[0], comparison.planned[-1]
    return all(low <= size <= high for size in calls_in(calls or {}, comparison.setting.dtype))
