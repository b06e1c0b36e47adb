"""What charts of variants share: how a label looks, lines that a click singles out, and rows by label.

The rows of such a chart have a `label`, and most of them a `size`. Encodings are Altair's channels and never texts or
dicts: of those Altair makes channels by comparing the schemas of all its classes, in more time than all else takes. A
channel is made with its scale and its axis: each call of a method that sets one has Altair work out a signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from pyopbench.model.label import Label
from pyopbench.report.charts.log_axis import Row
from pyopbench.report.charts.style import Style

LABEL_PIXELS = 130
ROW_PIXELS = 36  # two lines of text: a label and, under it, its gradient
OFFSET_PIXELS = 9
PARTS = {alt.Color: "colour", alt.Shape: "shape", alt.StrokeDash: "dash"}
"""Which part of a look each channel shows."""
PICK = alt.selection_point(fields=["label"], bind="legend", name="pick")
"""The labels whose names in the legend were clicked; all of them at first."""
PICKED_IN = "points"
"""The name of the layer that has the selection."""


def blank() -> alt.Chart:
    """Return a chart that takes its rows from the chart that it becomes a layer of."""
    return alt.Chart(alt.Undefined)


def sizes_of(rows: Sequence[Row]) -> list[int]:
    """Return the sizes of the rows, ascending."""
    return sorted({row["size"] for row in rows})


def scale_of(looks: Mapping[str, Any]) -> alt.Scale:
    """Return the scale that says what each value of a field looks like."""
    return alt.Scale(domain=list(looks), range=list(looks.values()))


def pinned_to(channel: type[Any], rows: Sequence[Row], pinned: Mapping[str, Style], **options: Any) -> Any:
    """Return one of the channels of `PARTS` for the labels of the rows."""
    labels = sorted({row["label"] for row in rows})
    looks = {label: getattr(pinned[label], PARTS[channel]) for label in labels}
    return channel("label:N", title=None, scale=scale_of(looks), **options)


def by_label(rows: Sequence[Row]) -> alt.Chart:
    """Return a chart with a row per label and, within it, a line per size, small sizes on top."""
    # A gradient stands in a line of its own under its variant; the axis knows the texts of its labels only.
    labels = {text: Label.parse(text) for text in sorted({row["label"] for row in rows})}
    two = {text: [one.variant, one.gradient] for text, one in labels.items() if one.gradient}
    # Looked up in a list: an object would have a `constructor` too, which may be the name of an op or a variant.
    place = f"indexof({json.dumps([*two])}, datum.label)"
    two_lines = alt.when(f"{place} >= 0").then(alt.value("bottom")).otherwise(alt.value("middle"))
    axis = alt.Axis(
        labelExpr=f"{place} < 0 ? datum.label : {json.dumps([*two.values()])}[{place}]",
        labelBaseline=two_lines,
        labelLimit=LABEL_PIXELS,
        ticks=False,
        grid=True,
    )
    y = alt.Y("label:N", title=None, sort="ascending", axis=axis)
    one_size = len(sizes_of(rows)) < 2
    return blank().encode(y=y) if one_size else blank().encode(y=y, yOffset=alt.YOffset("size:O", sort="ascending"))


def size_axis(rows: Sequence[Row], unit: str) -> alt.X:
    """Return the sizes of the rows on a logarithmic axis; `unit` is what they count."""
    axis = alt.Axis(values=sizes_of(rows), format=".3~s", labelOverlap=True)
    return alt.X("size:Q", title=unit, scale=alt.Scale(type="log", nice=False, padding=12), axis=axis)


def row_step(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the height of a label's row, enough for two lines of text and for every size."""
    return {"step": max(ROW_PIXELS, OFFSET_PIXELS * len(sizes_of(rows))), "for": "position"}


def picked(chosen: float, others: float) -> Any:
    """Return the opacity of the labels that are picked, and that of the others."""
    return alt.OpacityValue(**alt.when(PICK).then(alt.value(chosen)).otherwise(alt.value(others)))


@dataclass(frozen=True)
class Curves:
    """A line for each label.

    Attributes:
        rows: what is drawn.
        pinned: the look of every label.
        baseline: the label whose line is thick, the current callback.
        x: what they are drawn against, as `size_axis`.
    """

    rows: Sequence[Row]
    pinned: Mapping[str, Style]
    baseline: str
    x: alt.X

    def base(self) -> alt.Chart:
        """Return a chart with the axis and a colour for each label."""
        return blank().encode(x=self.x, color=pinned_to(alt.Color, self.rows, self.pinned))

    def lines(self, y: alt.Y) -> alt.Chart:
        """Return the lines at `y`."""
        is_baseline = alt.FieldEqualPredicate(field="label", equal=self.baseline)
        found: alt.Chart = self.base().mark_line(clip=True).encode(
            y=y, opacity=picked(1.0, 0.12), strokeDash=pinned_to(alt.StrokeDash, self.rows, self.pinned),
            strokeWidth=alt.StrokeWidthValue(**alt.when(is_baseline).then(alt.value(3.5)).otherwise(alt.value(1.5))),
        )  # fmt: skip
        return found

    def points(self, y: alt.Y, tooltip: Sequence[alt.Tooltip]) -> alt.Chart:
        """Return the points at `y`, with what is told of each; the layer that has the selection."""
        found: alt.Chart = self.base().mark_point(filled=True, size=36, clip=True).encode(
            y=y, opacity=picked(1.0, 0.12), tooltip=list(tooltip),
            shape=pinned_to(alt.Shape, self.rows, self.pinned),
        )  # fmt: skip
        return found.properties(name=PICKED_IN)
