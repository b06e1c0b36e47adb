"""Lines over copies find what made-up blocks are made of; with three points they show what is no line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from frames import Bench
from pyopbench.model.case import Case
from pyopbench.stats import estimate, slopes

COPIES = (1, 2, 4, 8, 16, 32)
NATIVE = Case("sinh", "native", "none", "forward", "node", "float32", 1)


def blocks(
    costs: dict[str, tuple[float, float]], launches: int = 3, rounds: int = 4, noise: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Return blocks of cases that cost `(seconds per copy, call overhead)`; `noise` is the spread of the log of one."""
    rng = np.random.default_rng(seed)
    calls = Bench(dict.fromkeys(costs, 1.0), sizes=(1,), mode="node", launches=launches, rounds=rounds).frame()
    frame = pd.concat([calls.assign(copies=copies) for copies in COPIES], ignore_index=True)
    each, overhead = (frame["variant"].map({name: cost[i] for name, cost in costs.items()}) for i in (0, 1))
    true = (overhead + each * frame["copies"]) * frame["calls"]
    return frame.assign(seconds=true * np.exp(noise * rng.standard_normal(len(frame))))


def test_slope_and_intercept_are_what_the_blocks_are_made_of() -> None:
    found = slopes.lines(blocks({"py_function_numpy": (2e-5, 1e-4), "native": (2e-7, 1.1e-4)}), estimate.UNIT)
    assert len(found) == 6
    assert set(found["copies"]) == {COPIES}
    native = found[found["case"] == NATIVE.id]
    np.testing.assert_allclose(native["slope"], 2e-7, rtol=1e-9)
    np.testing.assert_allclose(native["intercept"], 1.1e-4, rtol=1e-9)


def test_the_fit_is_weighted_least_squares_of_medians() -> None:
    """Against NumPy's polynomial fit, which takes weights as 1 / sigma."""
    frame = blocks({"native": (1e-5, 1e-4)}, launches=1, rounds=5, noise=0.3)
    medians = frame.assign(y=frame["seconds"] / frame["calls"]).groupby("copies")["y"].median()
    slope, intercept = np.polyfit(medians.index, medians, 1, w=1 / medians)
    (row,) = slopes.lines(frame, estimate.UNIT).to_dict("records")
    assert (row["slope"], row["intercept"]) == pytest.approx((slope, intercept), rel=1e-9)


def test_one_number_of_copies_gives_no_line() -> None:
    frame = blocks({"native": (1e-5, 1e-4)})
    one = frame[frame["copies"] == 4]
    assert slopes.lines(one, estimate.UNIT)[["slope", "intercept"]].isna().all(axis=None)
    assert set(slopes.lines(one, estimate.UNIT)["copies"]) == {(4,)}


def test_other_modes_are_passed_over() -> None:
    assert slopes.lines(Bench({"native": 1e-5}, sizes=(1,)).frame(), estimate.UNIT).empty


def test_a_line_may_fall() -> None:
    """What costs nothing falls in one launch and rises in another; its cost is told by differences, not by this."""
    frame = blocks({"native": (1e-5, 1e-4)}, launches=1)
    falling = (1e-3 - 1e-5 * frame["copies"]) * frame["calls"]
    (row,) = slopes.lines(frame.assign(seconds=falling), estimate.UNIT).to_dict("records")
    assert (row["slope"], row["intercept"]) == pytest.approx((-1e-5, 1e-3), rel=1e-9)
