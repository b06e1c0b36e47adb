"""Charts as specs; vl-convert's Vega-Lite says whether they can be drawn."""

from __future__ import annotations

import json
import math

import pytest
import vl_convert

from judgements import HOSTILE
from pyopbench.report.charts.latency import Scene, latency_chart, ratio_chart, version_chart
from pyopbench.report.charts.style import styles

LABELS = ("native", "py_func", "py_func+override_map")
PANELS = ("forward", "backward")
WHERE = {panel: {"direction": panel, "mode": "call"} for panel in PANELS}


def latencies(sizes=(1_000, 10_000), labels=LABELS, interval=1.1):
    return [
        {"panel": panel, "label": label, "size": size, "seconds": s, "low": s / interval, "high": s * interval}
        for panel in PANELS
        for place, label in enumerate(labels)
        for size in sizes
        for s in [1e-5 * (place + 1) + 1e-9 * size]
    ]


def ratios(sizes=(1_000, 10_000), labels=LABELS, interval=1.1):
    return [
        {"panel": r["panel"], "label": r["label"], "size": r["size"], "ratio": 3e4 * r["seconds"], "outcome": "slower",
         "low": 3e4 * r["low"], "high": 3e4 * r["high"]}
        for r in latencies(sizes, labels, interval)
    ]  # fmt: skip


def latency(rows, labels=LABELS, crossings=()):
    return latency_chart(rows, styles(labels, labels), Scene(WHERE, labels[0], "elements"), crossings)


def ratio(rows, baseline="py_function_numpy"):
    return ratio_chart(rows, Scene(WHERE, baseline, "elements"), 0.03)


def drawn(spec) -> str:
    return vl_convert.vegalite_to_svg(spec)


def marks(spec) -> list[str]:
    return [layer["mark"]["type"] for layer in spec["spec"]["layer"]]


def test_latency_is_lines_with_bands():
    spec = latency(latencies())
    assert marks(spec) == ["area", "line", "point"]
    assert drawn(spec).count('class="mark-group') >= 1
    for panel in PANELS:
        assert f">{panel}<" in drawn(spec)


def test_an_op_of_one_size_is_dots_by_label():
    spec = latency(latencies(sizes=(1_000,)))
    assert marks(spec) == ["rule", "point"]
    assert spec["spec"]["layer"][1]["encoding"]["y"]["field"] == "label"
    assert ">native<" in drawn(spec)


def test_ratios_are_points_with_intervals_on_a_band_and_a_line_at_one():
    spec = ratio(ratios())
    assert marks(spec) == ["rect", "rule", "rule", "point"]
    shaded = spec["spec"]["layer"][0]["data"]["name"]
    assert spec["datasets"][shaded] == [{"ratio": 1.0, "low": pytest.approx(1 / 1.03), "high": 1.03}]
    assert "py_function_numpy" in drawn(spec)


@pytest.mark.parametrize(
    "make", [lambda: latency(latencies(interval=math.nan)), lambda: ratio(ratios(interval=math.nan))]
)
def test_values_without_an_interval_are_drawn_alone(make):
    spec = make()
    assert all(row["low"] is None and row["high"] is None for row in spec["datasets"]["rows"])
    assert "NaN" not in drawn(spec)


def test_no_value_at_all_is_an_empty_chart():
    for spec in (latency([]), ratio([])):
        assert drawn(spec).startswith("<svg")


def test_the_same_rows_give_the_same_spec():
    for make in (lambda: latency(latencies()), lambda: ratio(ratios())):
        assert json.dumps(make()) == json.dumps(make())


def test_no_name_in_a_spec_is_made_up():
    assert latency(latencies())["params"][0]["views"] == ["points"]


def test_tooltips_have_the_value_and_its_interval():
    point = latency(latencies())["spec"]["layer"][-1]
    assert [field["field"] for field in point["encoding"]["tooltip"]] == [
        "label", "panel", "size", "value_text", "interval_text",
    ]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_data_and_never_code(name):
    labels = (name, "native")
    for spec in (latency(latencies(labels=labels), labels), ratio(ratios(labels=labels), name)):
        assert "<script" not in drawn(spec)
        expressions = [transform["calculate"] for transform in spec["transform"]]
        assert all(name not in expression for expression in expressions)


def test_panels_keep_the_order_of_the_rows():
    assert latency(latencies())["facet"]["sort"] == list(PANELS)


def test_a_spec_says_what_each_of_its_panels_is_filtered_by():
    for spec in (latency(latencies()), ratio(ratios())):
        assert spec["usermeta"]["panels"] == WHERE


def test_a_crossover_is_a_rule_in_its_panel():
    marked = latency(latencies(), crossings=[{"panel": "backward", "size": 3_000.0, "told": "they change places"}])
    assert marks(marked) == ["rule", "area", "line", "point"]
    assert {"panel": "backward", "at": 3_000.0, "told": "they change places"} in marked["datasets"]["rows"]
    assert drawn(marked).count('stroke-dasharray="3,3"') == 1


# by version


VERSIONS = ("2.9.1", "2.16.2", "2.21.0")


def on(label, version, seconds=1e-4, **fields):
    ends = {"low": seconds / 1.1, "high": seconds * 1.1}
    row = {"panel": "forward", "label": label, "size": 1, "version": version, "seconds": seconds, **ends}
    return {**row, **fields}


def by_version(rows, baseline="native"):
    return version_chart(rows, styles(LABELS, LABELS), Scene(WHERE, baseline, "elements"), VERSIONS)


def test_versions_stand_in_the_order_in_which_they_were_asked_for():
    spec = by_version([on(label, version) for version in reversed(VERSIONS) for label in LABELS[:2]])
    picture = drawn(spec)
    places = [picture.index(f">{version}<") for version in VERSIONS]
    assert places == sorted(places)
    assert ">TensorFlow<" in picture


def test_a_version_without_a_number_has_no_place_on_the_axis():
    spec = by_version([on("native", "2.9.1"), on("native", "2.21.0"), on("py_func", "2.16.2", math.nan)])
    picture = drawn(spec)
    assert ">2.9.1<" in picture
    assert ">2.16.2<" not in picture


def test_each_variant_keeps_its_look_and_the_baseline_is_thick():
    spec = by_version([on(label, version) for version in VERSIONS for label in LABELS], baseline=LABELS[1])
    picture = drawn(spec)
    for look in styles(LABELS, LABELS).values():
        assert look.colour in picture
    assert picture.count('stroke-width="3.5"') == 1


def test_a_number_without_an_interval_is_drawn_alone():
    spec = by_version([on("native", version, low=math.nan, high=math.nan) for version in VERSIONS])
    assert [one["low"] for one in spec["datasets"]["rows"]] == [None, None, None]
    assert "NaN" not in drawn(spec)
