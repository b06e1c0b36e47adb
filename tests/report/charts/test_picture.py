"""A chart as a picture: fitted to a width, in the colour of its page, and never clipped by another."""

from __future__ import annotations

import re

from pyopbench.report.charts.gains import gain_chart
from pyopbench.report.charts.picture import WIDTH_PIXELS, picture

ROW = {"panel": "", "op": "sinh", "use": "inference", "action": "port", "answer": "port", "saved": 0.5}
PANELS = [f"panel {number}" for number in range(4)]


def chart(panels: list[str], saved: float = 0.5):
    rows = [{**ROW, "panel": panel, "saved": saved, "low": saved - 0.1, "high": saved + 0.1} for panel in panels]
    return gain_chart(rows, 0.03)


def test_panels_are_side_by_side_as_far_as_there_is_room() -> None:
    for panels, columns in ((1, 1), (2, 2), (4, 2)):
        spec = chart(PANELS[:panels])
        assert spec["columns"] == columns
        assert spec["spec"]["width"] * columns < WIDTH_PIXELS


def test_a_picture_has_the_colour_of_its_page_and_needs_nothing() -> None:
    svg = picture(chart(PANELS[:1]))
    assert svg.startswith("<svg")
    assert "currentColor" in svg
    assert "sinh" in svg
    assert not re.search(r"<script|href=\"http", svg)


def test_pictures_of_different_charts_clip_by_different_names_and_the_same_by_the_same() -> None:
    first, second = picture(chart(PANELS[:1])), picture(chart(PANELS[:1], saved=0.3))
    names = [set(re.findall(r'id="(clip[^"]+)"', svg)) for svg in (first, second)]
    assert names[0]
    assert names[1]
    assert not names[0] & names[1]
    assert set(re.findall(r"url\(#([^)]+)\)", first)) <= names[0]
    assert picture(chart(PANELS[:1])) == first
