"""The chart of shares of the bound; vl-convert's Vega-Lite says whether it can be drawn."""

from __future__ import annotations

import json
import re

import pytest
import vl_convert

from judgements import HOSTILE
from pyopbench.report.charts.latency import Scene
from pyopbench.report.charts.roofline import share_chart
from pyopbench.report.charts.style import styles

OVERHEAD_SECONDS = 2e-5
LABELS = ("native", "py_func")
PANELS = {name: {"direction": "forward", "dtype": name} for name in ("float32", "float64")}


def rows(bounds: dict[int, float], labels=LABELS, panels=tuple(PANELS), call_seconds=1e-4):
    """A call takes `call_seconds` and some times its bound, which is that of its size."""
    return [
        {"panel": panel, "label": label, "size": size, "bound": bound, "limit": "memory", "seconds": seconds,
         "share": bound / seconds}
        for panel in panels
        for place, label in enumerate(labels)
        for size, bound in bounds.items()
        for seconds in [call_seconds + (place + 2) * bound]
    ]  # fmt: skip


def chart(found, labels=LABELS):
    return share_chart(found, styles(labels, labels), Scene(PANELS, labels[0], "elements"), OVERHEAD_SECONDS)


def drawn(spec) -> str:
    return vl_convert.vegalite_to_svg(spec)


def marks(spec) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["spec"]["layer"]]


def sizes(spec) -> set[int]:
    return {row["size"] for row in spec["datasets"]["rows"] if "size" in row}


def test_shares_are_lines_under_a_line_at_one_hundred_percent():
    spec = chart(rows({100_000: 2e-5, 1_000_000: 2e-4}))
    assert marks(spec) == ["rect", "rule", "line", "point"]
    whole = spec["spec"]["layer"][1]
    assert spec["datasets"][whole["data"]["name"]] == [{"whole": 1}]
    assert ">100%<" in drawn(spec)
    for panel in PANELS:
        assert f">{panel}<" in drawn(spec)


def test_sizes_at_which_a_call_costs_more_are_shaded_in_their_panel():
    first, second = (
        rows({1_000: one, 10_000: 1.9e-5, 1_000_000: 2e-4}, panels=(panel,))
        for panel, one in zip(PANELS, (1e-6, 3e-5), strict=True)
    )
    shades = [row for row in chart([*first, *second])["datasets"]["rows"] if "least" in row]
    assert shades == [
        {"panel": "float32", "least": 1_000, "most": 10_000},
        {"panel": "float64", "least": 10_000, "most": 10_000},
    ]


def test_nothing_is_shaded_where_every_bound_costs_more_than_a_call():
    spec = chart(rows({10_000: 2e-5, 1_000_000: 2e-4}))
    assert all("least" not in row for row in spec["datasets"]["rows"])


def test_sizes_that_only_show_what_a_call_costs_are_left_out():
    """0.99e-7 / (1e-4 + 2 * 0.99e-7) is just below a thousandth, 1.01e-7 above."""
    assert sizes(chart(rows({1: 1e-10, 10: 0.99e-7, 1_000: 1.01e-7, 1_000_000: 2e-4}))) == {1_000, 1_000_000}


def test_a_size_that_tells_something_is_never_left_out():
    found = rows({100_000: 3e-5, 1_000_000: 2e-4}, call_seconds=1.0)
    spec = chart(found)
    assert sizes(spec) == {100_000, 1_000_000}
    low, _ = spec["spec"]["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert low < min(row["share"] for row in found)


def test_one_size_is_dots_by_label_and_the_axis_names_it():
    spec = chart(rows({1: 1e-10, 1_000_000: 2e-4}))
    assert marks(spec) == ["rule", "point"]
    assert sizes(spec) == {1_000_000}
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", drawn(spec))
    assert {"share of the bound at 1M elements", "native"} <= set(shown)


def test_a_share_above_the_bound_is_inside_the_axis():
    found = [{**row, "share": 3.0} for row in rows({100_000: 2e-5, 1_000_000: 2e-4})]
    low, high = chart(found)["spec"]["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    assert low < 0.001
    assert high > 3.0


def test_colours_dashes_and_shapes_are_the_pinned_ones():
    layers = chart(rows({100_000: 2e-5, 1_000_000: 2e-4}))["spec"]["layer"]
    pinned = styles(LABELS, LABELS)
    for layer, channel, part in ((2, "color", "colour"), (2, "strokeDash", "dash"), (3, "shape", "shape")):
        scale = layers[layer]["encoding"][channel]["scale"]
        shown = [tuple(one) if isinstance(one, (list, tuple)) else one for one in scale["range"]]
        assert dict(zip(scale["domain"], shown, strict=True)) == {name: getattr(pinned[name], part) for name in LABELS}


def test_hover_tells_the_share_and_what_it_is_made_of():
    point = chart(rows({100_000: 2e-5, 1_000_000: 2e-4}))["spec"]["layer"][-1]
    assert [field["field"] for field in point["encoding"]["tooltip"]] == [
        "label", "panel", "size", "share", "seconds", "bound", "limit",
    ]  # fmt: skip


def test_the_same_rows_give_the_same_spec_and_say_what_panels_are_filtered_by():
    spec = chart(rows({100_000: 2e-5, 1_000_000: 2e-4}))
    assert json.dumps(spec) == json.dumps(chart(rows({100_000: 2e-5, 1_000_000: 2e-4})))
    assert spec["usermeta"]["panels"] == PANELS


@pytest.mark.parametrize("bounds", [{1_000_000: 2e-4}, {100_000: 2e-5, 1_000_000: 2e-4}])
@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_data_and_never_code(name, bounds):
    labels = (name, "native")
    assert "<script" not in drawn(chart(rows(bounds, labels), labels))
