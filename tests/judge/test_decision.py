"""Decisions: what goes with an answer, and how it is said."""

from __future__ import annotations

from judgements import decision
from pyopbench.judge.decision import (
    SizeRange,
)
from pyopbench.judge.findings import Answer


def test_an_answer_is_what_to_do_and_where_to_go() -> None:
    assert decision("native").answer == Answer("port", "native")
    assert decision("native", action="keep", choice=None).answer == Answer("keep", None)
    assert SizeRange(1, 10, "switch", "py_func", 0.5, 0.4).answer == Answer("switch", "py_func")
