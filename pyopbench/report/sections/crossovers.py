"""Where each candidate and the current callback change places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Heading, Paragraph, Section, Table, Tone
from pyopbench.report.sections._places import Places, places_of, unit_of
from pyopbench.report.sections.decisions import place_of

if TYPE_CHECKING:
    from pyopbench.judge.decision import Crossover, SizeTrend
    from pyopbench.judge.judge import Judgement

TONES: dict[str, Tone] = {"crosses": "", "faster": "good", "slower": "bad", "unclear": "warn"}


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a row for each crossover, and one for each candidate that has none."""
    if not any(decision.size_trends for decision in judgement.decisions):
        return (Paragraph(f"Nothing was compared with {judgement.baseline} over a range of sizes.", "muted"),)
    effect = formatting.percent(judgement.minimum_effect)
    intro = Paragraph(
        "Time relative to the current callback, interpolated linearly over the logarithm of the size. A difference is "
        f"clear if it is above {effect} and its interval, corrected for the number of sizes, excludes 0. A crossover "
        "needs a clear difference on both sides; the last column is where the 95% interval includes 0."
    )
    ops = dict.fromkeys(decision.op for decision in judgement.decisions if decision.size_trends)
    places = places_of(judgement)
    return (intro, *(block for op in ops for block in _op(judgement, op, places)))


def _op(judgement: Judgement, op: str, places: Places) -> Sequence[Block]:
    rows = tuple(
        (decision.use, *place_of(decision, places), *row)
        for decision in judgement.decisions
        if decision.op == op
        for trend in decision.size_trends
        for row in _rows(trend, unit_of(judgement, op))
    )
    columns = ("use", *places.varying, "variant", "against the callback", "crossover at about", "95% interval")
    caption = f"{op}: crossovers with {judgement.baseline}"
    return (Heading(op, of_op=True), Table(columns, rows, caption, folded=True, headings=2 + len(places.varying)))


def _rows(trend: SizeTrend, unit: str) -> list[tuple[Cell | str, ...]]:
    label = trend.label
    if not trend.crossovers:
        none = Cell("none in range", "muted")
        return [(label, Cell(trend.text(), TONES[trend.answer]), none, Cell(formatting.MISSING, "muted"))]
    return [(label, _change(trend, one), *_sizes(one, unit)) for one in trend.crossovers]


def _change(trend: SizeTrend, crossover: Crossover) -> Cell | str:
    return Cell(crossover.change_text(trend.label), "" if crossover.is_closed else "warn")


def _sizes(crossover: Crossover, unit: str) -> tuple[str, str]:
    return (
        f"{formatting.about_size(crossover.size)} {unit}",
        formatting.about_sizes(crossover.low, crossover.high),
    )


SECTION = Section("crossovers", "Crossovers", 35, build)
