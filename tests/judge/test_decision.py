"""Decisions: what goes with an answer, and how it is said."""

from __future__ import annotations

from dataclasses import replace

from judgements import decision
from pyopbench.judge.decision import COUNTED, Action, summary_text
from pyopbench.model import formatting


def test_a_summary_counts_the_decisions_of_each_kind() -> None:
    made: tuple[Action, ...] = ("keep", "port", "undecided", "port")
    text = summary_text(made, 2, "py_func")
    counted = (formatting.count(4, "decision"), formatting.count(2, "op"), f"2 {COUNTED['port']}", "py_func")
    assert all(part in text for part in counted)
    assert COUNTED["switch"] not in text


def test_what_an_answer_may_cost_is_said_with_what_saves_as_much() -> None:
    made = decision("x", loss=0.052, as_good=("traced", "xla"))
    assert all(part in made.loss_text() for part in (formatting.points(0.052), "traced and xla save as much"))
    assert replace(made, loss=None).loss_text() == ""
    assert made.loss_text() in replace(made, is_provisional=True).loss_text()


def test_why_is_the_reason_and_then_what_goes_with_it() -> None:
    made = decision("x", caveats=("one thing", "another"))
    assert made.why() == "; ".join((made.reason.sentence, made.loss_text(), *made.caveats))
    assert replace(made, loss=None, caveats=()).why() == made.reason.sentence
