"""What the first callback of a step costs and each further one: by hand, and how often the interval holds the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pyopbench.stats.surcharges import surcharges

UNIT = ["launch"]


def graph(copies: int, seconds: float, floor: float = 10.0, **fields: Any) -> dict[str, Any]:
    """Return a block of one call of a graph; where nothing is said, of the case `a`, round 0, launch 0."""
    usual = {"case": "a", "launch": 0, "round": 0, "mode": "node", "calls": 1}
    return {**usual, "copies": copies, "seconds": seconds, "floor_seconds": floor, **fields}


def test_the_first_callback_of_a_step_and_each_further_one() -> None:
    """By hand: 15 - 10 for the first; (24 - 15) / 3 for the others; medians over rounds, means over launches.

    In the second launch 7 and 5. Two launches differ by 2: a standard error of 1, and of t with one degree 12.7062.
    """
    rows = [
        *(graph(copies, seconds, round=number) for number in (0, 1) for copies, seconds in ((1, 15.0), (4, 24.0))),
        *(graph(copies, seconds, round=2) for copies, seconds in ((1, 16.0), (4, 90.0))),
        *(graph(copies, seconds, launch=1) for copies, seconds in ((1, 17.0), (4, 32.0))),
    ]
    found = surcharges(pd.DataFrame(rows), UNIT)["a"]
    assert (found.first, found.further) == (pytest.approx(6.0), pytest.approx(4.0))
    assert (found.low, found.high) == (pytest.approx(4.0 - 12.7062, abs=1e-3), pytest.approx(4.0 + 12.7062, abs=1e-3))


def test_calls_of_a_block_share_its_seconds() -> None:
    rows = [graph(1, 30.0, calls=2), graph(2, 38.0, calls=2)]
    found = surcharges(pd.DataFrame(rows), UNIT)["a"]
    assert (found.first, found.further) == (pytest.approx(5.0), pytest.approx(4.0))
    assert math.isnan(found.low)


def test_without_a_graph_of_one_copy_and_a_larger_one_no_first_is_known() -> None:
    rows = [
        graph(4, 24.0),
        graph(1, 15.0, case="b"),
        *(graph(copies, 15.0, floor=math.nan, case="c") for copies in (1, 4)),
        *(graph(copies, 15.0, mode="call", case="d") for copies in (1, 4)),
        *(graph(copies, 15.0, case="e") for copies in (0, 1)),
    ]
    assert surcharges(pd.DataFrame(rows), UNIT) == {}


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Forty callbacks of 0.1 to 10 ms, three launches of 15 rounds, blocks that vary by 20% and launches by 5%."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(6):
        rows = []
        for case in range(40):
            first = 10 ** rng.uniform(-4, -2)
            for launch in range(3):
                further = 0.4 * first * rng.normal(1.0, 0.05)
                for number in range(15):
                    for copies, seconds in ((1, first), (2, first + further)):
                        noisy = 1e-4 + seconds * rng.normal(1.0, 0.2)
                        at = {"case": f"{case}/{first}", "launch": launch, "round": number}
                        rows.append(graph(copies, noisy, floor=1e-4, **at))
        found = surcharges(pd.DataFrame(rows), UNIT)
        held += [one.low <= 0.4 * float(case.split("/")[1]) <= one.high for case, one in found.items()]
    assert len(held) == 240
    assert 0.92 <= np.mean(held) <= 0.99
