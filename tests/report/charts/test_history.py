"""The chart of a series; vl-convert's Vega-Lite says whether it can be drawn."""

from __future__ import annotations

import json

import pytest
import vl_convert

from pyopbench.report.charts.history import LABELS, TOOLTIP, series_chart


def drawn(measure, rows):
    """Return the still picture of rows as the page puts them in."""
    spec = json.dumps(series_chart(measure)).replace(f'"{LABELS}"', json.dumps('["first","second"][datum.value]'))
    found = json.loads(spec)
    found["datasets"]["rows"], found["width"] = rows, 400
    return vl_convert.vegalite_to_svg(found)


POINTS = [
    {"x": place, "y": value, "from": value * 0.9, "to": value * 1.1, **dict.fromkeys(TOOLTIP, "told"), "linked": False}
    for place, value in enumerate((1.0, 1.25))
]


@pytest.mark.parametrize("measure", ["ratio", "latency"])
def test_points_intervals_levels_and_changes_are_drawn(measure):
    level = {"start": -0.4, "stop": 0.4, "level": 1.0}
    change = {"x": 0.5, "direction": "slower", "told": "slower by a quarter"}
    found = drawn(measure, [*POINTS, level, change])
    assert ">first<" in found
    assert ">second<" in found
    assert found.count("mark-rule role-mark") == 3
    assert "stroke-dasharray" in found
    assert "NaN" not in found


def test_a_point_that_is_linked_to_stands_out():
    plain, linked = drawn("ratio", POINTS), drawn("ratio", [{**POINTS[0], "linked": True}, POINTS[1]])
    assert "#cc3311" not in plain
    assert "#cc3311" in linked


def test_points_without_an_interval_are_drawn_alone():
    bare = [{key: value for key, value in row.items() if key not in ("from", "to")} for row in POINTS]
    assert "NaN" not in drawn("latency", bare)
