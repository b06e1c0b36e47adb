"""The chart of latency by version; vl-convert's Vega-Lite says whether it can be drawn."""

from __future__ import annotations

import math
from typing import Any

import vl_convert

from pyopbench.looks import looks
from pyopbench.version_charts import version_chart

LABELS = ("native", "xla")
VERSIONS = ("2.9.1", "2.16.2", "2.21.0")
PANELS = {"forward": {"direction": "forward"}}


def row(label: str, version: str, seconds: float = 1e-4, **fields: Any) -> dict[str, Any]:
    ends = {"low": seconds / 1.1, "high": seconds * 1.1}
    return {"panel": "forward", "label": label, "version": version, "seconds": seconds, **ends, **fields}


def chart(rows: list[dict[str, Any]], baseline: str = "native") -> dict[str, Any]:
    return version_chart(rows, VERSIONS, looks(LABELS, LABELS), baseline, PANELS)


def test_versions_stand_in_the_order_in_which_they_were_asked_for() -> None:
    spec = chart([row(label, version) for version in reversed(VERSIONS) for label in LABELS])
    drawn = vl_convert.vegalite_to_svg(spec)
    places = [drawn.index(f">{version}<") for version in VERSIONS]
    assert places == sorted(places)
    assert ">TensorFlow<" in drawn


def test_a_version_without_a_number_has_no_place_on_the_axis() -> None:
    spec = chart([row("native", "2.9.1"), row("native", "2.21.0"), row("xla", "2.16.2", math.nan)])
    drawn = vl_convert.vegalite_to_svg(spec)
    assert ">2.9.1<" in drawn
    assert ">2.16.2<" not in drawn


def test_each_variant_keeps_its_look_and_the_baseline_is_thick() -> None:
    spec = chart([row(label, version) for version in VERSIONS for label in LABELS], baseline="xla")
    drawn = vl_convert.vegalite_to_svg(spec)
    for look in looks(LABELS, LABELS).values():
        assert look.colour in drawn
    assert drawn.count('stroke-width="3.5"') == 1


def test_a_number_without_an_interval_is_drawn_alone() -> None:
    spec = chart([row("native", version, low=math.nan, high=math.nan) for version in VERSIONS])
    assert [one["low"] for one in spec["datasets"]["rows"]] == [None, None, None]
    assert "NaN" not in vl_convert.vegalite_to_svg(spec)
