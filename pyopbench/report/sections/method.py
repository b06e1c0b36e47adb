"""How it was measured and judged, with the figures of this run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.core import formatting
from pyopbench.report.sections import Block, Paragraph, Section, Table, _cells
from pyopbench.report.sections._places import places_of, records
from pyopbench.stats import costs
from pyopbench.stats.looks import Looks

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement
    from pyopbench.results.mix_file import Calls

OWN_TOOL = "pyopbench"
FLOOR_OP = "identity"
CLOCK_PAIRS_PER_CALL = {"backward": 1, "forward_backward": 2}
"""Pairs of clock readings taken off per call; a forward block has one pair for all its calls."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return how it was measured, how judged, what the clock costs and what the bridges cost."""
    return (_measured(judgement), _judged(judgement), _clock(judgement.run.frame), *_floor(judgement))


def _measured(judgement: Judgement) -> Paragraph:
    frame = judgement.run.frame
    if judgement.run.tool != OWN_TOOL:
        return Paragraph(
            f"{formatting.count(frame['case'].nunique(), 'case')} timed by {judgement.run.tool}, in its own way and "
            "with its "
            "own clock, one after the other. What is timed is the prepared call of pyopbench, whose values and "
            "gradients were checked when it was prepared."
        )
    launches = len(frame[["run", "launch"]].drop_duplicates())
    blocks = frame.groupby(["case", "run", "launch"], sort=True).size()
    each = formatting.size_range(blocks.min(), blocks.max()) if len(blocks) else "no"
    return Paragraph(
        f"{formatting.count(frame['case'].nunique(), 'case')} timed in "
        f"{formatting.count(launches, 'launch', 'launches')}, each a "
        f"fresh process, with {each} timed blocks per case and launch. All variants of one op, size, dtype and mode "
        "are timed in turns, in an order that is random and balanced, so that drift of the machine meets all alike. "
        "Values and gradients are checked against the reference before anything is timed; what fails is listed as a "
        "hole and has no number. On the CPU a call returns when its work is done, so nothing is left out. Backward is "
        "timed on its own, between two readings of the clock, not as a difference of totals."
    )


def _sorted(mix: Calls) -> list[tuple[int | tuple[str, int], float]]:
    pairs: list[tuple[int | tuple[str, int], float]] = list(mix.items())
    return sorted(pairs, key=lambda pair: pair[0] if isinstance(pair[0], tuple) else ("", pair[0]))


def _called(key: int | tuple[str, int]) -> str:
    return f"{formatting.size(key[1])} in {key[0]}" if isinstance(key, tuple) else formatting.size(key)


def _judged(judgement: Judgement) -> Paragraph:
    effect = formatting.percent(judgement.minimum_effect)
    mix = "today's time is spread evenly over the logarithm of the size"
    if judgement.mix is not None:
        calls = [f"{formatting.number(weight)} of {_called(key)}" for key, weight in _sorted(judgement.mix)]
        mix = f"calls come in the mix that was given ({', '.join(calls)})"
    looks = Looks.of(judgement.run.settings, len(judgement.run.looks))
    against = "what each is paired with" if judgement.run.settings.get("pairs") else judgement.baseline
    return Paragraph(
        "A launch gives one number per case, and only launches count as independent: intervals are t intervals over "
        "launches of a mean that from six launches on is trimmed at both ends (Yuen 1974), so that a launch that went "
        "wrong weighs less. What is compared is the share of the baseline's time in the same rounds; the spread that "
        "few launches show is moved towards what is expected from the size of the share and the noise of its rounds "
        "(Smyth 2004), and ports carry besides what they shift by from run to run, "
        f"{formatting.percent(judgement.model.run_effect)}. "
        f"{formatting.count(len(judgement.verdicts), 'verdict')} against {against} are corrected together (Holm), "
        "and for "
        f"{formatting.count(looks.planned, 'look')} at the data (Bonferroni), "
        "which holds the chance of any false one among them to 5%. A variant is faster or slower only if it is shown "
        f"to differ by more than {effect}, equivalent only if it is shown to differ by "
        f"less, and unresolved otherwise. In a decision {mix}. Chosen is the least work among all that cost at most "
        f"{effect} of today's time more than the best, or at most twice that where the data cannot tell; how much that "
        "may cost against the best is bounded for all candidates at once (Hsu 1981), and a change has to be shown to "
        f"save more than {effect}."
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
        parts.append(
            f"A block of forward calls holds one pair of readings, at most {formatting.percent(forward)} of the block."
        )
    if backward is not None:
        parts.append(
            "A block of backward calls holds a pair for every call (two where forward is timed too), which came to at "
            f"most {formatting.percent(backward)} of the time recorded."
        )
    if not parts:
        return Paragraph("What the clock costs is not recorded in these results.")
    cost = formatting.seconds(_largest(frame["timer_seconds"]))
    taken_off = "This has been taken off the recorded times."
    return Paragraph(
        " ".join((f"A pair of clock readings costs up to {cost}.", *parts, taken_off, *_left(frame, pairs)))
    )


def _left(frame: pd.DataFrame, pairs: pd.Series[float]) -> Sequence[str]:
    """Say what is uncertain after the cost of the clock is taken off, where the results tell."""
    left = _largest(pairs * frame["timer_error_seconds"]) if "timer_error_seconds" in frame else None
    if left is None:
        return ()
    share = formatting.percent(left)
    return (f"What is left of it, half the distance between the quartiles of its cost, is at most {share}.",)


def _largest(values: pd.Series[float]) -> float | None:
    known = values.dropna()
    return float(known.max()) if len(known) else None


def _floor(judgement: Judgement) -> Sequence[Block]:
    """Return what it costs to cross each bridge with an op that does nothing."""
    rows = [row for row in records(judgement, FLOOR_OP) if row["direction"] == "forward"]
    if not rows:
        return (
            Paragraph(f"The floor was not measured: this run has no op `{FLOOR_OP}`, which only crosses the bridges."),
        )
    smallest = min(row["size"] for row in rows)
    places = places_of(judgement)
    lines = tuple(
        (
            _cells.variant(row["label"]),
            *places.cells(row),
            _cells.seconds_interval(row["seconds"], row["low"], row["high"]),
        )
        for row in sorted(rows, key=lambda row: (row["label"], *places.of(row)))
        if row["size"] == smallest
    )
    caption = (
        f"The floor: forward {FLOOR_OP} at {formatting.sized(smallest, 'elements')}, which does nothing but cross "
        "the bridge"
    )
    return (Table(("variant", *places.varying, "time per call (95% interval)"), lines, caption),)


SECTION = Section("method", "How it was measured and judged", 60, build)
