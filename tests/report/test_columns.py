"""`decisions.json` holds all that was judged, and null for a number that does not exist."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from judgements import plain
from pyopbench.report.columns import decisions_json


def test_one_launch_has_no_intervals_and_json_says_null():
    document = json.loads(decisions_json(plain(launches=1)), parse_constant=pytest.fail)
    assert {verdict["low"] for verdict in document["verdicts"]} == {None}


def test_every_decision_verdict_latency_and_failure_is_in_json():
    judged = plain()
    document = json.loads(decisions_json(judged))
    assert [one["action"] for one in document["decisions"]] == [one.action for one in judged.decisions]
    assert [one["reason"] for one in document["decisions"]] == [one.why() for one in judged.decisions]
    assert [one["ratio"] for one in document["verdicts"]] == [one.ratio for one in judged.verdicts]
    assert [one["seconds"] for one in document["latencies"]] == judged.latencies["seconds"].tolist()
    assert [one["reason"] for one in document["failures"]] == [one.reason for one in judged.run.failures]


@pytest.mark.parametrize(
    ("mix", "expected"), [({("float32", 10): 2.0}, {"float32/10": 2.0}), ({10: 2.0}, {"10": 2.0}), (None, None)]
)
def test_a_mix_has_the_size_for_its_key_behind_the_dtype_if_that_was_given(mix, expected):
    assert json.loads(decisions_json(dataclasses.replace(plain(), mix=mix)))["mix"] == expected


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_what_is_no_finite_number_is_null(number):
    judged = plain()
    verdict = dataclasses.replace(judged.verdicts[0], ratio=number)
    document = json.loads(decisions_json(dataclasses.replace(judged, verdicts=(verdict,))))
    assert document["verdicts"][0]["ratio"] is None
