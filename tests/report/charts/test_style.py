"""Colours, shapes and dashes."""

from __future__ import annotations

import re

import pytest

from pyopbench.report.charts import style
from pyopbench.report.charts.style import COLOURS, OUTCOMES
from pyopbench.report.page import TEMPLATES

PAGE = (TEMPLATES / "page.css").read_text(encoding="utf-8")
PAGES = re.findall(r"--page: (#[0-9a-f]{6})", PAGE)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colour", sorted({*COLOURS, *(colour for colour, _ in OUTCOMES.values())}))
def test_colours_stand_out_from_the_light_and_the_dark_page(colour):
    assert len(set(PAGES)) == 2
    for page in set(PAGES):
        light, dark = sorted((luminance(colour), luminance(page)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_a_look_does_not_depend_on_the_order_of_what_was_measured():
    variants = ["native", "xla", "py_func"]
    labels = ["xla", "native", "py_func", "py_func+override_map"]
    pinned = style.styles(variants, labels)
    assert pinned == style.styles(reversed(variants), reversed(labels))


def test_a_colour_does_not_depend_on_what_could_be_measured():
    variants = ["native", "py_func", "traced", "xla"]
    both, one = (style.styles(variants, labels) for labels in (["native", "xla"], ["xla"]))
    assert both["xla"].colour == one["xla"].colour


def test_labels_of_one_variant_share_its_colour_and_differ_in_dash_and_shape():
    pinned = style.styles([], ["py_func", "py_func+a", "py_func+b", "native"])
    family = [look for label, look in pinned.items() if label.startswith("py_func")]
    assert len({look.colour for look in family}) == 1
    assert len({look.dash for look in family}) == len({look.shape for look in family}) == 3
    assert pinned["native"].colour != pinned["py_func"].colour
    assert pinned["py_func"].dash == (1, 0)


def test_more_labels_than_colours_still_look_different():
    pinned = style.styles([], [f"variant_{i:02}" for i in range(40)])
    assert len(set(pinned.values())) == 40
