"""What all decisions of a report have in common, and the choice of each setting over the mix that it is called with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyopbench.judge.candidates import Comparison
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.mix import Mix, calls_in, calls_mix, even_mix
from pyopbench.model.errors import BadInput
from pyopbench.store.mix_file import Calls


@dataclass(frozen=True)
class Rulebook:
    """What all decisions of a report have in common.

    Attributes:
        rules: how to choose.
        calls: size -> how often it is called; None for shares that are even over the log of the size.
    """

    rules: Rules
    calls: Calls | None


def rulebook_of(comparisons: Sequence[Comparison], rules: Rules, calls: Calls | None) -> Rulebook:
    """Return what all decisions have in common.

    Raises:
        BadInput: the mix fits no op at all.
    """
    measured = [one for one in comparisons if one.seconds and is_called(one, calls)]
    if calls is not None and not measured and any(one.seconds for one in comparisons):
        raise BadInput(
            "no dtype of the mix was measured",
            received=", ".join(dict.fromkeys(key[0] for key in calls if isinstance(key, tuple))),
            legal=", ".join(dict.fromkeys(one.setting.dtype for one in comparisons if one.seconds)),
            hint="fix the dtypes of the mix, or measure them too",
        )
    reachable = [one for one in measured if not sizes_beyond(one, calls)]
    if measured and not reachable and not any(_was_asked_for(one, calls) for one in measured):
        _mix(measured[0], calls)  # fits nothing, and says so
    return Rulebook(rules, calls)


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
    rules = replace(rulebook.rules, must_change=comparison.must_change)
    return choose(comparison.candidates, comparison.contrasts, mix, rules), mix


def _mix(comparison: Comparison, calls: Calls | None) -> Mix:
    if calls is None:
        return even_mix(tuple(comparison.seconds))
    called, setting = calls_in(calls, comparison.setting.dtype), comparison.setting
    return calls_mix(called, comparison.seconds, f"{comparison.baseline} for {setting.op}")


def _was_asked_for(comparison: Comparison, calls: Calls | None) -> bool:
    low, high = comparison.planned[0], comparison.planned[-1]
    return all(low <= size <= high for size in calls_in(calls or {}, comparison.setting.dtype))
