"""The chart of where time goes: parts in one order, one panel for each variant, drawn by vl-convert's Vega-Lite."""

from __future__ import annotations

from typing import Any

import vl_convert

from pyopbench.report.charts.cost_split import COLOURS, stack_chart


def rows(panel: str) -> list[dict[str, Any]]:
    """Return every part in the reverse of the order of colours, at two sizes."""
    return [
        {"panel": panel, "size": size, "part": part, "seconds": 1e-6, "share": 0.2}
        for size in (1, 1_000)
        for part in reversed(COLOURS)
    ]


def test_parts_are_stacked_in_the_order_of_their_colours_whatever_that_of_the_rows() -> None:
    data = stack_chart(rows("py_func"), {"py_func": {}}, "elements")["datasets"]["rows"]
    assert {row["part"]: row["place"] for row in data} == {part: place for place, part in enumerate(COLOURS)}


def test_every_part_and_panel_is_drawn_with_the_unit_of_sizes() -> None:
    spec = stack_chart([*rows("py_func"), *rows("py_function")], {"py_func": {}, "py_function": {}}, "matrices")
    drawn = vl_convert.vegalite_to_svg(spec)
    for name in ("py_func", "py_function", "matrices", *COLOURS):
        assert f">{name}<" in drawn
    for colour in COLOURS.values():
        assert colour in drawn
