"""What dashboards are given: nanoseconds with both ends of their intervals, and nothing that is too noisy."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from judgements import plain
from pyopbench.model.command_line import DASHBOARDS
from pyopbench.model.errors import BadInput
from pyopbench.report import dashboards
from pyopbench.report.dashboards import Origin, as_text, values_of

BENCHER = {
    "type": "object",
    "patternProperties": {
        ".+": {
            "type": "object",
            "patternProperties": {
                ".+": {
                    "type": "object",
                    "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
                    "required": ["value"],
                }
            },
        }
    },
}
"""Bencher's own schema of its format."""


def exported(judgement, name):
    text, _ = as_text(judgement, name, "https://example.com/a/b", "main")
    return json.loads(text)


@pytest.fixture(scope="module")
def judgement():
    return plain()


def expected(judgement):
    rows = judgement.latencies
    return rows[~rows["too_noisy"] & (rows["seconds"] > 0)]


def test_bencher_has_each_case_with_both_ends(judgement):
    document = exported(judgement, "bmf")
    jsonschema.validate(document, BENCHER)
    rows = expected(judgement)
    assert list(document) == rows["case"].tolist()
    for case, seconds, low, high in rows[["case", "seconds", "low", "high"]].itertuples(index=False):
        found = document[case]["latency"]
        assert [found[name] for name in ("value", "lower_value", "upper_value")] == pytest.approx(
            [1e9 * one for one in (seconds, low, high)]
        )


def test_the_action_gets_a_range_and_smaller_is_better(judgement):
    document = exported(judgement, "github-action-benchmark")
    first, row = document[0], expected(judgement).iloc[0]
    assert (first["name"], first["unit"]) == (row["case"], "ns")
    assert first["value"] == pytest.approx(1e9 * row["seconds"])
    ends = [float(end) for end in first["range"].split(" to ")]
    assert ends == pytest.approx([1e9 * row["low"], 1e9 * row["high"]], rel=1e-4)


def test_nyrkio_gets_the_ends_as_metrics_and_where_they_come_from(judgement):
    values, _ = values_of(judgement)
    origin = Origin("2026-01-02T00:00:00Z", "abc", "https://example.com/a/b", "main")
    (document,) = dashboards.nyrkio(values, origin)
    assert document["timestamp"] == 1767312000
    assert document["attributes"] == {"git_repo": "https://example.com/a/b", "branch": "main", "git_commit": "abc"}
    assert len(document["metrics"]) == 3 * len(values)
    assert [one["value"] for one in document["metrics"][:3]] == [values[0].nanoseconds, values[0].low, values[0].high]


@pytest.mark.parametrize("missing", ["commit", "repository", "branch"])
def test_nyrkio_is_refused_without_what_it_requires(judgement, missing):
    values, _ = values_of(judgement)
    known = {"commit": "abc", "repository": "https://example.com/a/b", "branch": "main", missing: ""}
    with pytest.raises(BadInput):
        dashboards.nyrkio(values, Origin("2026-01-02T00:00:00Z", **known))


def test_a_single_launch_has_a_value_and_no_ends():
    judgement = plain(launches=1)
    document = exported(judgement, "bmf")
    assert all(set(one["latency"]) == {"value"} for one in document.values())
    assert all("range" not in one for one in exported(judgement, "github-action-benchmark"))


def test_every_format_that_the_command_line_takes_is_there():
    assert set(dashboards.FORMATS) == set(DASHBOARDS)


def test_no_end_of_a_latency_is_below_zero():
    judgement = plain()
    judgement = replace(judgement, latencies=judgement.latencies.assign(low=-1e-3))
    assert {one.low for one in values_of(judgement)[0]} == {0.0}
