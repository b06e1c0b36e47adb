"""What evidence would change a decision, in sentences that follow from the numbers."""

from __future__ import annotations

import math

import numpy as np

from pyopbench import text
from pyopbench.choice import Choice, Gain
from pyopbench.mix import Bools, Floats, Mix
from pyopbench.stats import MOST_LAUNCHES


def flips(choice: Choice, mix: Mix, baseline: str) -> tuple[str, ...]:
    """Return what would change `choice`.

    Args:
        choice: the choice over the mix.
        mix: the mix that it was made over.
        baseline: label of the callback of today.
    """
    if choice.gain is None:
        return (f"a measurement of another variant wherever {baseline} has one",)
    if choice.action == "undecided":
        return (settling(choice),)
    if choice.action == "keep":
        sentences = [_faster_variant(choice, baseline), _slower_today(choice, choice.gain, baseline)]
        sentences.append(_share_to_change(choice, mix))
    else:
        sentences = [_faster_today(choice, choice.gain, baseline), _share_to_keep(choice, choice.gain, mix)]
    return tuple(sentence for sentence in sentences if sentence)


def settling(choice: Choice) -> str:
    """Say how many launches would settle an undecided choice.

    One clear candidate is enough, so the first of those above the threshold counts; with all of them below it, all
    have to be shown to be below.
    """
    if any(gain.log.n < 2 for gain in choice.open):
        return "a second launch: one launch gives no interval"
    border = math.log(choice.threshold)
    above = [gain for gain in choice.open if gain.log.mean > border]
    needed = [(gain.log.launches_to_clear(border, gain.level) or math.inf, gain.label) for gain in above or choice.open]
    _, label = min(needed) if above else max(needed)
    gain = next(gain for gain in choice.open if gain.label == label)
    enough, made = gain.log.launches_to_clear(border, gain.level), gain.log.n
    if enough is None:
        return f"more than {MOST_LAUNCHES:,} launches would be needed instead of {made} ({label} is the one to watch)"
    return f"about {enough} launches instead of {made} would settle it ({label} is the one to watch)"


def _faster_today(choice: Choice, gain: Gain, baseline: str) -> str:
    speed = text.ratio(gain.low / choice.threshold)
    return f"{baseline} at {speed} its measured speed or more at every size: {gain.label} would not be clearly worth it"


def _slower_today(choice: Choice, gain: Gain, baseline: str) -> str:
    time = text.ratio(choice.threshold / gain.low)
    return f"{baseline} taking more than {time} its measured time at every size: {gain.label} would be worth it"


def _faster_variant(choice: Choice, baseline: str) -> str:
    return f"another variant, clearly more than {text.ratio(choice.threshold)} as fast as {baseline} over this mix"


def _share_to_keep(choice: Choice, gain: Gain, mix: Mix) -> str:
    """Say up to which share of today's time at the sizes where the choice does not pay it pays altogether."""
    ratios = _ratios(gain, mix)
    bad = ratios > 1 / choice.threshold
    if not bad.any():
        return ""
    share = break_even_share(ratios, mix.shares, bad, 1 / choice.threshold)
    return _time_spent(share, bad, mix) + f", where {gain.label} does not pay"


def _share_to_change(choice: Choice, mix: Mix) -> str:
    """Say which share of today's time at the sizes where a candidate pays would make it pay altogether."""
    found: list[tuple[float, str]] = []
    for gain in choice.gains:
        ratios = _ratios(gain, mix)
        good = ratios < 1 / choice.threshold
        if good.any() and ratios @ mix.shares > 1 / choice.threshold:
            share = break_even_share(ratios, mix.shares, good, 1 / choice.threshold)
            found.append((share, _time_spent(share, good, mix) + f", where {gain.label} pays"))
    return min(found, default=(0.0, ""))[1]


def _time_spent(share: float, apart: Bools, mix: Mix) -> str:
    sizes = [text.size(size) for size, use in zip(mix.sizes, apart, strict=True) if use]
    where = f"{'size' if len(sizes) == 1 else 'sizes'} {text.listing(sizes)}"
    now = text.percent(float(mix.shares[apart].sum()))
    return f"more than about {text.percent(share)} of today's time (it is {now} in this mix) spent at {where}"


def break_even_share(ratios: Floats, shares: Floats, apart: Bools, target: float) -> float:
    """Return the share p of today's time, spent at the sizes `apart`, at which the cost is `target`.

    Solves `p * r_apart + (1 - p) * r_rest = target`, where each r is the cost of its sizes alone, in their present
    proportion. The two have to lie on different sides of the target.

    Args:
        ratios: `(points,)` float64, seconds afterwards over seconds today.
        shares: `(points,)` float64, shares of today's time.
        apart: `(points,)` bool, some and not all True.
        target: the cost to reach.
    """
    there = float(np.average(ratios[apart], weights=shares[apart]))
    rest = float(np.average(ratios[~apart], weights=shares[~apart]))
    return (target - rest) / (there - rest)


def _ratios(gain: Gain, mix: Mix) -> Floats:
    return mix.ratios(gain.candidate.over(mix).mean(axis=0))
