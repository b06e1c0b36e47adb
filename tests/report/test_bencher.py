"""The Bencher Metric Format: nanoseconds with both ends of their intervals, and nothing that is too noisy."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from judgements import plain
from pyopbench.report.bencher import as_text


def test_each_case_has_its_latency_with_both_ends():
    judgement = plain()
    document = json.loads(as_text(judgement)[0])
    rows = judgement.latencies
    rows = rows[~rows["too_noisy"] & (rows["seconds"] > 0)]
    assert list(document) == rows["case"].tolist()
    for case, *seconds in rows[["case", "seconds", "low", "high"]].itertuples(index=False):
        found = document[case]["latency"]
        assert list(found.values()) == pytest.approx([1e9 * one for one in seconds])
        assert list(found) == ["value", "lower_value", "upper_value"]


def test_a_single_launch_has_a_value_and_no_ends():
    document = json.loads(as_text(plain(launches=1))[0])
    assert all(set(one["latency"]) == {"value"} for one in document.values())


def test_no_end_of_a_latency_is_below_zero():
    judgement = plain()
    document = json.loads(as_text(replace(judgement, latencies=judgement.latencies.assign(low=-1e-3)))[0])
    assert {one["latency"]["lower_value"] for one in document.values()} == {0.0}
