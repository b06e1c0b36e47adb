"""What a ticket and a terminal show of a judgement: every answer, where, and what to know about it."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import thread_calls
from frames import Bench
from judgements import decision, plain
from pyopbench.judge import judge
from pyopbench.judge.body_share import BodyShare
from pyopbench.judge.decision import TWO_SCOPES, standing_text
from pyopbench.judge.latencies import without_number_text
from pyopbench.model import formatting
from pyopbench.model.formatting import MISSING
from pyopbench.report.sections import Bullets, Chart, Table, about, times
from pyopbench.report.sections import answer as section


def answers_of(judged):
    (table,) = [one for one in section.brief(judged) if isinstance(one, Table)]
    return table.columns, [tuple(map(str, row)) for row in table.rows]


def notes_of(judged):
    return tuple(text for one in section.brief(judged) if isinstance(one, Bullets) for text in one.items)


def test_it_says_where_an_answer_holds():
    made = decision("sinh", action="undecided", choice=None, dtype="float64")
    judged = plain()
    changed = dataclasses.replace(judged, decisions=(made, *judged.decisions))
    _, rows = answers_of(changed)
    assert rows[0] == ("sinh", "inference", "float64", made.answer.text(), MISSING, MISSING)
    notes = notes_of(changed)
    differ = [made, *(one for one in judged.decisions if len(one.ranges) > 1)]
    names = (f"{one.op} {one.use} {one.dtype}" for one in differ)
    assert f"the answer differs by size: {', '.join(names)}" in notes
    # One case crashed in a launch and has its number from the others: it is no hole.
    assert without_number_text({"wrong": 1, "timeout": 6, "unsupported": 40, "not measured": 1}) in notes


def test_the_terminal_table_names_sizes_without_an_answer():
    bench = Bench({"py_function_numpy": {1: 1e-4}, "native": 1e-5}, sizes=(1, 1000))
    judged = judge.judge_run(bench.run())
    (row,) = answers_of(judged)[1]
    (made,) = judged.decisions
    assert row[2] == made.answer.text()
    assert row[3:] == (
        formatting.saved_at_least(made.saved, made.saved_low),
        f"{formatting.seconds(made.seconds[0].today)} → {formatting.seconds(made.seconds[0].after)}",
    )
    assert notes_of(judged) == ("no number at 1k: sinh inference", without_number_text({"timeout": 1}))


def test_why_what_is_saved_is_not_what_one_op_saves_is_told_where_there_are_sizes():
    """At 10 us of 100 a port saves 90%, and over both sizes 70%."""
    bench = Bench({"py_function_numpy": {1: 1e-4, 1000: 1e-3}, "native": {1: 1e-5, 1000: 5e-4}}, sizes=(1, 1000))
    assert notes_of(judge.judge_run(bench.run()))[0] == TWO_SCOPES
    bench = Bench({"py_function_numpy": 1e-4, "native": 1e-5}, sizes=(1,))
    assert TWO_SCOPES not in notes_of(judge.judge_run(bench.run()))


def test_many_decisions_have_a_row_for_each_op_and_a_note_for_all():
    """Twelve ops with two uses each are more than a screen has room for."""
    made = tuple(decision(f"op_{i}", use=use) for i in range(12) for use in section.USES)
    undecided = decision("op_0", action="undecided", choice=None, dtype="float64")
    judged = dataclasses.replace(plain(), decisions=(*made, undecided))
    columns, rows = answers_of(judged)
    assert columns == ("op", "dtype", "inference", "saves", "training", "saves")
    assert len(rows) == 13
    texts = (made[0].answer.text(), f"≥ {formatting.points_saved(made[0].saved_low)}")
    assert rows[0] == ("op_0", made[0].dtype, *texts, *texts)
    assert rows[-1] == ("op_0", "float64", undecided.answer.text(), MISSING, MISSING, MISSING)
    assert standing_text(judged.decisions) == "Of 25 answers, 1 is undecided and 25 differ by size"
    assert standing_text(judged.decisions) in notes_of(judged)


def test_of_several_threads_no_time_of_a_call_is_shown_but_by_their_own_section():
    judged = judge.judge_run(thread_calls.run({"py_function_numpy": {8: 1000}, "native": {8: 8000}}))
    (row,) = answers_of(judged)[1]
    assert row[-1] == MISSING != row[-2]
    assert not [one for one in times.build(judged) if isinstance(one, Chart)]


def test_a_cost_that_is_not_above_zero_is_not_the_fastest_in_words_either():
    judged = plain()
    below = judged.latencies.mask(judged.latencies["label"] == "native", judged.latencies.assign(seconds=-14.9e-9))
    charts = [one for one in times.build(dataclasses.replace(judged, latencies=below)) if isinstance(one, Chart)]
    assert ["14.9" in one.alt for one in charts] == [False] * 3


def test_numbers_of_the_environment_are_for_people():
    facts = {"memory_bytes": 24 * 2**30, "load": [1.6499999999, 0.25], "of": {"wait_seconds": 2e-3, "files": 12345}}
    run = SimpleNamespace(**{**vars(plain().run), "environment": facts})
    (table, _) = [one for one in about.build(dataclasses.replace(plain(), run=run)) if isinstance(one, Table)]
    assert [row[1] for row in table.rows] == ["1.65, 0.250", "24.0 GiB", "12,345", "2.00 ms"]


def test_what_a_body_bounds_is_said():
    share = BodyShare("sinh", "call", "float32", "cpu", "py_function_numpy", "numpy", 0.68)
    judged = dataclasses.replace(plain(), decisions=(decision("sinh"),))
    vars(judged)["body_shares"] = (share,)  # as a cached property holds it
    assert any(note.startswith(share.text()) for note in notes_of(judged))
