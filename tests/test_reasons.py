"""Sentences that say why, with the numbers that they rest on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pyopbench.candidates import Comparison, Setting
from pyopbench.choice import Candidate, Rules, choose
from pyopbench.mix import even_mix
from pyopbench.model import Failure
from pyopbench.reasons import reason_of

MIX = even_mix((10,))


def candidate(label: str, *gains: float, effort: float = 1, size: int = 10) -> Candidate:
    return Candidate(label, "port", effort, pd.DataFrame({size: -np.log(gains)}))


def reason(*candidates: Candidate, planned: tuple[int, ...] = (10,), barred: tuple[str, ...] = ()) -> str:
    setting = Setting("sinh", "forward", "call", "float32", "cpu")
    failures = {("slow_op", 10): Failure("any", "crashed", "signal 11", 0)}
    comparison = Comparison(setting, "today", {10: 1.0}, candidates, pd.DataFrame(), planned, failures, barred)
    return reason_of(choose(candidates, MIX, Rules(0.03)), comparison, MIX)


def test_a_port_is_told_with_its_interval_and_launches() -> None:
    assert reason(candidate("native", 2.0, 2.0, 2.0)) == "native at 2.00× (2.00–2.00×, 3 launches) against today"


def test_the_fastest_is_named_where_it_is_not_clearly_faster() -> None:
    words = reason(candidate("native", 2.0, 2.01, 2.0), candidate("xla", 2.05, 2.5, 2.1, effort=5))
    assert words.startswith("native at 2.00×")
    assert "; xla at 2.21×" in words
    assert words.endswith("is not clearly faster than that, and takes more work")


def test_nothing_is_said_of_one_that_is_faster_by_less_than_the_minimum_effect() -> None:
    words = reason(candidate("native", 2.0, 2.0), candidate("xla", 2.01, 2.01, effort=5))
    assert "xla" not in words


def test_an_undecided_op_names_three_open_candidates_and_counts_the_rest() -> None:
    names = ("a", "b", "c", "d", "e")
    words = reason(*(candidate(name, 0.5 + place, 2.0 + place) for place, name in enumerate(names)))
    assert [name for name in names if f"{name} at " in words] == ["c", "d", "e"]
    assert "2 others" in words


def test_keep_tells_the_best() -> None:
    words = reason(candidate("native", 0.5, 0.5), candidate("xla", 0.8, 0.8))
    best = "xla at 0.800× (0.800–0.800×, 2 launches)"
    assert words == f"every measured variant stays below 1.03× the speed of today: the best is {best}"


def test_undecided_tells_who_straddles() -> None:
    words = reason(candidate("native", 0.9, 1.3), candidate("xla", 0.5, 0.5))
    assert words.startswith("native at 1.08× (")
    assert "may lie on either side of 1.03× the speed of today" in words
    assert "instead of 2" in words


def test_no_candidates() -> None:
    assert reason() == "nothing was measured beside today at all sizes of the mix"
    able = "nothing that can do what is required was measured beside today at all sizes of the mix"
    assert reason(barred=("native cannot do xla",)) == able


def test_what_is_missing_follows() -> None:
    words = reason(candidate("native", 2.0, 2.0), candidate("slow_op", 3.0, 3.0, size=99), planned=(10, 50))
    assert "; today has no number at 50, so this says nothing about it" in words
    assert "; slow_op has no number at 10 (crashed) and is a candidate only at the other sizes" in words
