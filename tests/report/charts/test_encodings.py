"""What charts of variants share."""

from __future__ import annotations

import re

import altair as alt
import vl_convert

from pyopbench.report.charts.encodings import (
    OFFSET_PIXELS,
    PICKED_IN,
    ROW_PIXELS,
    Curves,
    by_label,
    pinned_to,
    row_step,
    size_axis,
    sizes_of,
)
from pyopbench.report.charts.style import styles

LABELS = ("native", "py_func", "py_func+override_map")
PINNED = styles(LABELS, LABELS)


def rows(sizes, labels=LABELS):
    return [{"label": label, "size": size} for label in labels for size in sizes]


def test_a_channel_holds_the_labels_of_the_rows_alone():
    scale = pinned_to(alt.Color, rows([1], LABELS[:2]), PINNED).to_dict()["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == {name: PINNED[name].colour for name in LABELS[:2]}


def test_a_row_has_room_for_two_lines_and_for_every_size():
    assert sizes_of(rows([10, 1])) == [1, 10]
    for n in (1, 2, 12):
        assert row_step(rows(range(n)))["step"] == max(ROW_PIXELS, OFFSET_PIXELS * n)


def test_a_gradient_stands_under_its_variant_and_a_plain_label_in_one_line():
    chart = by_label(rows([1])).mark_point().properties(data=alt.InlineData(values=rows([1])))
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    assert re.findall(r"<(?:text|tspan)[^>]*>([a-z_+]+)</", svg) == ["native", "py_func", "py_func", "override_map"]


def test_labels_have_a_line_for_each_size_only_if_there_are_several():
    assert "yOffset" not in by_label(rows([1])).encoding.to_dict()
    assert by_label(rows([1, 10])).encoding.to_dict()["yOffset"]["field"] == "size"


def test_a_click_in_the_legend_picks_lines_and_points_and_only_points_have_the_name_that_it_is_held_by():
    curves = Curves(rows([1, 10]), PINNED, "native", size_axis(rows([1, 10]), "elements"))
    lines, points = curves.lines(alt.Y("seconds:Q")), curves.points(alt.Y("seconds:Q"), [])
    for layer in (lines, points):
        assert [condition["param"] for condition in layer.encoding.opacity.to_dict()["condition"]] == ["pick"]
    assert lines.name is alt.Undefined
    assert points.name == PICKED_IN
