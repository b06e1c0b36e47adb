"""Decisions: what goes with an answer, and how it is said."""

from __future__ import annotations

import pytest

from judgements import decision
from pyopbench.judge.decision import (
    Crossover,
    SizeRange,
    SizeTrend,
)
from pyopbench.judge.findings import Answer


def test_an_answer_is_what_to_do_and_where_to_go() -> None:
    assert decision("native").answer == Answer("port", "native")
    assert decision("native", action="keep", choice=None).answer == Answer("keep", None)
    assert SizeRange(1, 10, "switch", "py_func", 0.5, 0.4).answer == Answer("switch", "py_func")


@pytest.mark.parametrize(
    ("low", "high", "span"),
    [
        (None, None, ""),
        (1_200.0, 3_400.0, " (95% interval of the crossover: 1.2k to 3.4k)"),
        (2_400.0, 2_401.0, " (95% interval of the crossover: 2.4k)"),
        (None, 3_400.0, " (95% interval of the crossover: below 3.4k)"),
        (1_200.0, None, " (95% interval of the crossover: above 1.2k)"),
    ],
)
def test_where_the_fastest_changes(low: float | None, high: float | None, span: str) -> None:
    crossover = Crossover("native", "today", 2_400.0, low, high)
    said = "native is fastest up to about 2.4k elements, today beyond"
    assert crossover.text("elements") == f"{said}{span}"


@pytest.mark.parametrize(
    ("trend", "words"),
    [
        (SizeTrend("native", "unclear", (10, 100), ()), "no clear difference"),
        (SizeTrend("native", "slower", (10, 100), (10, 100)), "slower at every size"),
        (SizeTrend("native", "faster", (10, 100, 1_000), (10, 1_000)), "faster at 10 and 1k, elsewhere not clear"),
    ],
)
def test_a_candidate_that_never_crosses(trend: SizeTrend, words: str) -> None:
    assert trend.text() == words


def test_a_candidate_that_crosses() -> None:
    closed, open_ended = Crossover("native", "today", 50.0, 40.0, 60.0), Crossover("today", "native", 50.0, 40.0)
    assert (closed.is_closed, open_ended.is_closed) == (True, False)
    assert closed.change_text("native") == "faster below, slower above"
    assert open_ended.change_text("native") == "slower below, faster above, if they cross at all"
