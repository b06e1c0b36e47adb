"""How charts look: colours, shapes and dashes pinned to labels, and the theme for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyopbench.model.case import variant_in

COLOURS = (
    "#0077bb", "#d95f02", "#009988", "#e7298a", "#7a6ff0", "#cc3311", "#6b8e23", "#a6761d", "#aa4499", "#808080",
    "#4f8a5b", "#c2607a",
)  # fmt: skip
"""At least 3:1 against white and against the dark page (WCAG 2.2, 1.4.11); shapes tell apart what hues may not."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2))

INK = "currentColor"
"""The page sets it for light and dark; in a still picture it is black."""
_TEXT = {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
THEME: dict[str, Any] = {
    "aria": False,  # the page describes each chart in words and gives its numbers as a table
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "mark": {"invalid": "show"},  # rows that cannot be shown are left out beforehand
    "view": {"stroke": INK, "strokeOpacity": 0.25, "continuousWidth": 260, "continuousHeight": 300},
    "axis": {**_TEXT, "domain": False, "gridColor": INK, "gridOpacity": 0.13, "tickColor": INK, "tickOpacity": 0.3},
    "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold"},
    "legend": {
        **_TEXT, "orient": "top", "columns": 4, "columnPadding": 18, "labelLimit": 300,
        "symbolStrokeWidth": 2, "symbolOpacity": 1,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Style:
    """How a label is drawn, everywhere."""

    colour: str
    shape: str
    dash: tuple[int, ...]


def styles(variants: Iterable[str], labels: Iterable[str]) -> dict[str, Style]:
    """Pin a look to each label: the colour goes with the variant, the dash with the gradient, the shape with both.

    Args:
        variants: all variants, measured or not, so that a colour does not depend on what could be measured.
        labels: of cases, in which a gradient may follow the variant.
    """
    variant_of = {label: variant_in(label) for label in sorted(set(labels))}
    hues = sorted({*variants, *variant_of.values()})
    result: dict[str, Style] = {}
    for index, (label, variant) in enumerate(variant_of.items()):
        siblings = sum(variant_of[other] == variant for other in result)
        colour = COLOURS[hues.index(variant) % len(COLOURS)]
        result[label] = Style(colour, SHAPES[index % len(SHAPES)], DASHES[siblings % len(DASHES)])
    return result
