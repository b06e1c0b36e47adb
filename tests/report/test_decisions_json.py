"""`decisions.json` holds all that was judged, and null for a number that does not exist."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest

from judgements import plain
from pyopbench.report import decisions_json as module
from pyopbench.report.decisions_json import decisions_json


def test_json_has_its_keys_sorted_and_no_number_that_json_lacks():
    document = json.loads(decisions_json(plain()), parse_constant=pytest.fail)
    in_order = sorted(
        [
            "schema",
            "run",
            "created",
            "baseline",
            "minimum_effect",
            "mix",
            "decisions",
            "verdicts",
            "devices",
            "body_shares",
            "twins",
            "failures",
            "tool",
            "cannot",
            "warnings",
            "noise",
            "requires",
        ]
    )
    assert list(document) == in_order
    for key in document:
        assert re.search(rf"^    .*\b{key}\b", module.__doc__, re.MULTILINE), f"{key} is not documented"


def test_one_launch_has_no_intervals_and_json_says_null():
    document = json.loads(decisions_json(plain(launches=1)))
    assert {verdict["low"] for verdict in document["verdicts"]} == {None}


def test_every_failure_and_verdict_is_in_json():
    judged = plain()
    document = json.loads(decisions_json(judged))
    assert [failure["case"] for failure in document["failures"]] == [failure.case for failure in judged.run.failures]
    assert [verdict["case"] for verdict in document["verdicts"]] == [verdict.case for verdict in judged.verdicts]


@pytest.mark.parametrize(
    ("mix", "told"), [({("float32", 10): 2.0}, {"float32/10": 2.0}), ({10: 2.0}, {"10": 2.0}), (None, None)]
)
def test_a_mix_has_the_size_for_its_key_behind_the_dtype_if_that_was_given(mix, told):
    assert json.loads(decisions_json(dataclasses.replace(plain(), mix=mix)))["mix"] == told


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_what_is_no_finite_number_is_null(number):
    judged = plain()
    verdict = dataclasses.replace(judged.verdicts[0], ratio=number)
    document = json.loads(decisions_json(dataclasses.replace(judged, verdicts=(verdict,))))
    assert document["verdicts"][0]["ratio"] is None


def test_what_a_decision_says_is_there_as_kinds_with_numbers_and_in_words():
    judged = plain()
    document = json.loads(decisions_json(judged))
    for made, found in zip(judged.decisions, document["decisions"], strict=True):
        assert found["reason"]["kind"] == made.reason.kind
        assert found["text"]["answer"] == made.answer.text()
        assert found["text"]["reason"] == made.why()


def test_numbers_of_a_finding_are_those_of_the_judgement():
    judged = plain()
    made = next(one for one in judged.decisions if one.action == "port")
    found = json.loads(decisions_json(dataclasses.replace(judged, decisions=(made,))))["decisions"][0]
    assert found["reason"]["chosen"] == {
        "label": made.choice,
        "saved": made.saved,
        "low": made.saved_low,
        "high": made.saved_high,
        "launches": made.launches,
    }


def test_what_an_answer_costs_and_what_else_saves_as_much_is_there():
    judged = plain()
    document = json.loads(decisions_json(judged))
    for made, found in zip(judged.decisions, document["decisions"], strict=True):
        assert (found["loss"], found["is_provisional"]) == (made.loss, made.is_provisional)
        assert found["as_good"] == list(made.as_good)
        assert found["seconds"] == [dataclasses.asdict(one) for one in made.seconds]
    assert any(made.as_good for made in judged.decisions)
    assert any(one.after not in (None, one.today) for made in judged.decisions for one in made.seconds)
