"""An op in a ticket: one line of HTML, whatever is in it."""

from __future__ import annotations

from judgements import HOSTILE
from pyopbench.report.layout import OpPage
from pyopbench.report.sections import Section, Table
from pyopbench.report.ticket import folded


def page(name: str) -> OpPage:
    answers = Table(("use", "answer", "why"), (("inference", "keep", name),), "evidence", says_why=True)
    others = Table(("use", "what would change it"), (("inference", "more launches"),), "flips")
    times = Table(("variant", "1k"), ((name, "1.00 µs"),), "times")
    sections = [Section(key, key, 10, lambda judgement: ()) for key in ("decisions", "latency")]
    return OpPage(name, "op-x", "keep", ((sections[0], (others, answers)), (sections[1], (times, times))))


def test_an_op_has_its_answer_its_reasons_and_one_table():
    line = folded(page("sinh"), whole=True)
    answer = "<details><summary>sinh · keep</summary><p>inference: sinh</p>"
    table = "<table><tr><th>variant</th><th>1k</th></tr><tr><td>sinh</td><td>1.00 µs</td></tr></table>"
    assert line == f"{answer}<p>times</p>{table}</details>"
    assert folded(page("sinh"), whole=False) == f"{answer}</details>"


def test_hostile_names_neither_end_the_line_nor_are_markup():
    for name in HOSTILE:
        line = folded(page(name), whole=True)
        assert "\n" not in line
        assert "<script" not in line
        assert "<img" not in line
        assert "<b>" not in line
