"""Charts as pictures: what is drawn of rows, whatever they lack and whatever names they hold."""

from __future__ import annotations

import html
import math
from typing import Any

import pytest

from judgements import HOSTILE
from pyopbench.report.charts.latency import latency_chart
from pyopbench.report.charts.picture import picture
from pyopbench.report.charts.style import styles

LABELS = ("native", "py_func", "py_func+override_map")
PANELS = ("forward", "backward")


def rows(sizes: tuple[int, ...] = (1_000, 10_000), labels: tuple[str, ...] = LABELS, interval: float = 1.1) -> Any:
    return [
        {"panel": panel, "label": label, "size": size, "seconds": s, "low": s / interval, "high": s * interval}
        for panel in PANELS
        for place, label in enumerate(labels)
        for size in sizes
        for s in [1e-5 * (place + 1) + 1e-9 * size]
    ]


def drawn(found: Any, labels: tuple[str, ...] = LABELS) -> str:
    return html.unescape(picture(latency_chart(found, styles(labels, labels), labels[0], "elements")))


def test_sizes_are_on_the_axis_and_every_panel_and_label_is_named() -> None:
    svg = drawn(rows())
    assert all(f">{word}<" in svg for word in (*PANELS, "native", "1k", "10k", "elements"))


def test_an_op_of_one_size_has_its_variants_on_the_axis_with_gradients_below() -> None:
    svg = drawn(rows(sizes=(1_000,)))
    assert all(f">{word}<" in svg for word in ("native", "py_func", "override_map"))


@pytest.mark.parametrize("sizes", [(1_000,), (1_000, 10_000)])
def test_a_value_without_an_interval_and_one_that_a_log_axis_cannot_show_are_drawn_or_left_out(
    sizes: tuple[int, ...],
) -> None:
    found = rows(sizes, interval=math.nan)
    found[0]["seconds"] = -1e-6
    assert drawn(found).startswith("<svg")


@pytest.mark.parametrize("sizes", [(1_000,), (1_000, 10_000)])
def test_hostile_names_are_shown_and_are_no_markup(sizes: tuple[int, ...]) -> None:
    spec = latency_chart(rows(sizes, HOSTILE), styles(HOSTILE, HOSTILE), HOSTILE[0], "elements")
    assert not {"<script", "<img"} & set(picture(spec).split())
