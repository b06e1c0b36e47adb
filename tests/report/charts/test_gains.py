"""The chart of the answers; vl-convert's Vega-Lite says whether it can be drawn."""

from __future__ import annotations

import math

import pytest
import vl_convert

from pyopbench.report.charts.gains import ACTIONS, LEAST_SHOWN, gain_chart


def row(op: str, use: str = "inference", action: str = "port", **fields):
    numbers = {"saved": 0.5, "low": 0.4, "high": 0.6}
    return {"panel": "", "op": op, "use": use, "action": action, "answer": action, **numbers, **fields}


def test_every_gain_is_a_point_with_its_interval():
    spec = gain_chart([row("sinh"), row("log", use="training", saved=-1.0, low=-1.5, high=-0.5)], {"": {}}, 0.03)
    assert [layer["mark"]["type"] for layer in spec["spec"]["layer"]] == ["rect", "rule", "rule", "point"]
    drawn = vl_convert.vegalite_to_svg(spec)
    for name in ("sinh", "log", "inference", "training"):
        assert f">{name}<" in drawn


def test_a_share_of_the_time_is_shown_up_to_all_of_it():
    """What takes many times as long would leave the others no room: it is drawn at the edge, its number is told."""
    spec = gain_chart([row("sinh"), row("log", saved=-30.0, low=-40.0, high=-20.0)], {"": {}}, 0.03)
    (point,) = [layer for layer in spec["spec"]["layer"] if layer["mark"]["type"] == "point"]
    assert point["encoding"]["x"]["scale"]["domain"] == [LEAST_SHOWN, 1.0]
    assert point["mark"]["clip"]
    assert {one["saved"] for one in spec["datasets"]["rows"]} == {0.5, -30.0}


def test_a_gain_without_an_interval_is_drawn_alone():
    spec = gain_chart([row("sinh", low=math.nan, high=math.nan)], {"": {}}, 0.03)
    assert spec["datasets"]["rows"][0]["low"] is None
    assert "NaN" not in vl_convert.vegalite_to_svg(spec)


@pytest.mark.parametrize("action", list(ACTIONS))
def test_every_action_has_its_colour(action):
    spec = gain_chart([row("sinh", action=action)], {"": {}}, 0.03)
    assert ACTIONS[action] in vl_convert.vegalite_to_svg(spec)
