"""How it was measured and judged, with the figures of this run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Paragraph, Section
from pyopbench.stats import costs
from pyopbench.stats.corrections import Analyses

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement
    from pyopbench.store.mix_file import Calls

OWN_TOOL = "pyopbench"
CLOCK_PAIRS_PER_CALL = {"backward": 1, "forward_backward": 2}
"""Pairs of clock readings taken off per call; a forward block has one pair for all its calls."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return how it was measured, how judged, and what the clock costs."""
    return (_measured(judgement), *_judged(judgement), _clock(judgement.run.frame))


def _measured(judgement: Judgement) -> Paragraph:
    frame = judgement.run.frame
    if judgement.run.tool != OWN_TOOL:
        return Paragraph(
            f"{formatting.count(frame['case'].nunique(), 'case')} timed by {judgement.run.tool} with its own clock, "
            "one after the other. What is timed is the prepared call of pyopbench, whose values and gradients were "
            "checked."
        )
    launches = len(frame[["run", "launch"]].drop_duplicates())
    blocks = frame.groupby(["case", "run", "launch"], sort=True).size()
    each = formatting.size_range(blocks.min(), blocks.max()) if len(blocks) else "no"
    return Paragraph(
        f"{formatting.count(frame['case'].nunique(), 'case')} timed in "
        f"{formatting.count(launches, 'launch', 'launches')}, each a fresh process, with {each} timed blocks per case "
        "and launch. Variants of one op, size, dtype and mode are interleaved in balanced random order, so that drift "
        "of the machine affects all of them alike. Values and gradients are checked before anything is timed. Backward "
        "is timed directly, not as a difference of totals. More in docs/how-it-measures.md."
    )


def _sorted(mix: Calls) -> list[tuple[int | tuple[str, int], float]]:
    pairs: list[tuple[int | tuple[str, int], float]] = list(mix.items())
    return sorted(pairs, key=lambda pair: pair[0] if isinstance(pair[0], tuple) else ("", pair[0]))


def _called(key: int | tuple[str, int]) -> str:
    return f"{formatting.size(key[1])} in {key[0]}" if isinstance(key, tuple) else formatting.size(key)


def _judged(judgement: Judgement) -> tuple[Paragraph, ...]:
    effect = formatting.percent(judgement.minimum_effect)
    mix = "the callback's time is spread evenly over the logarithm of the size"
    if judgement.mix is not None:
        calls = [f"{formatting.number(weight)} of {_called(key)}" for key, weight in _sorted(judgement.mix)]
        mix = f"calls are mixed as you gave them ({', '.join(calls)})"
    looks = Analyses.of(len(judgement.run.looks))
    against = "what each is paired with" if judgement.run.settings.pairs else judgement.baseline
    return (
        Paragraph(
            "Each launch gives one number per case, and only launches count as independent. Intervals are t intervals "
            "over launches; from six launches on, or from nine if little else shows their spread, the mean is trimmed "
            "(Yuen 1974). The spread of few launches is moved towards what the size of the ratio and the noise within "
            "rounds predict (Smyth 2004). Ports are allowed to shift by "
            f"{formatting.percent(judgement.model.run_effect)} from run to run."
        ),
        Paragraph(
            f"{formatting.count(len(judgement.verdicts), 'verdict')} against {against} are corrected together (Holm), "
            f"and for {formatting.count(looks.planned, 'analysis', 'analyses')} of the data (Bonferroni): the chance "
            "of any false verdict is at most 5%. Faster or slower means a difference of clearly more than "
            f"{effect}, equivalent clearly less; anything else is unresolved."
        ),
        Paragraph(
            f"In a decision {mix}. The answer is the variant that takes the least work among those within {effect} of "
            "the best, or within twice that if the data leave it open. What it may cost against the best is bounded "
            f"for all candidates at once (Hsu 1981), and a change must clearly save more than {effect}. More in "
            "docs/statistics.md."
        ),
    )


def _clock(frame: pd.DataFrame) -> Paragraph:
    """Say what share of the timed blocks is the clock itself, from the frame."""
    # In mode node forward and backward are one graph, and a block has one pair of readings, as for forward.
    per_call = frame["direction"].where(frame["mode"] != costs.MODE).map(CLOCK_PAIRS_PER_CALL)
    pairs = (per_call * frame["calls"]).where(per_call.notna(), 1) / frame["seconds"].where(frame["seconds"] > 0)
    shares = pairs * frame["timer_seconds"]
    forward, backward = _largest(shares[per_call.isna()]), _largest(shares[per_call.notna()])
    parts = []
    if forward is not None:
        parts.append(f"Forward blocks have one pair, at most {formatting.percent(forward)} of their time.")
    if backward is not None:
        parts.append(
            f"Backward blocks have one or two pairs per call, at most {formatting.percent(backward)} of their time."
        )
    if not parts:
        return Paragraph("These results do not record what the clock costs.")
    cost = formatting.seconds(_largest(frame["timer_seconds"]))
    taken_off = "This is subtracted from all times."
    return Paragraph(
        " ".join((f"Reading the clock twice costs up to {cost}.", *parts, taken_off, *_left(frame, pairs)))
    )


def _left(frame: pd.DataFrame, pairs: pd.Series[float]) -> Sequence[str]:
    """Say what is uncertain after the cost of the clock is taken off, where the results tell."""
    left = _largest(pairs * frame["timer_error_seconds"]) if "timer_error_seconds" in frame else None
    if left is None:
        return ()
    share = formatting.percent(left)
    return (f"The remaining uncertainty (half the interquartile range of that cost) is at most {share}.",)


def _largest(values: pd.Series[float]) -> float | None:
    known = values.dropna()
    return float(known.max()) if len(known) else None


SECTION = Section("method", "How it was measured and judged", 60, build)
