"""A history as a page, Markdown and JSON: the same changes in each, and nothing of a name that could end a script."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import stored
from histories import CHANGED, commit, stepped, write_asv, write_commits
from judgements import CLOSING
from pairs import write_run, write_versions
from pyopbench.judge.comparison.history import Options, read_history
from pyopbench.report import history_page
from pyopbench.report.history import COLUMNS, SCHEMA, as_json, markdown, row_of, short_rows
from pyopbench.report.history_page import html


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Fourteen commits, of which one case takes 1.3 times as long from the ninth on."""
    return read_history(write_commits(tmp_path_factory.mktemp("runs"), stepped(14, 8, 1.3)), Options())


def data_of(page: str, name: str):
    return json.loads(page.split(f'id="{name}">')[1].split("</script>", maxsplit=1)[0])


def test_a_change_is_in_every_output(found):
    (change,) = found.changes
    cells = row_of(found, change)
    assert len(cells) == len(COLUMNS)
    assert cells[0] == CHANGED
    assert cells[2].startswith(f"{commit(7)[:10]} to {commit(8)[:10]}")
    for text in (html(found), markdown(found)):
        assert commit(8)[:10] in text
        assert cells[1] in text
    (told,) = json.loads(as_json(found))["changes"]
    assert (told["case"], told["after"], told["direction"]) == (CHANGED, commit(8)[:10], "slower")
    assert told["rerun"]["command"][:2] == ["pyopbench", "run"]


def test_a_terminal_has_what_differs(found):
    shared, rows = short_rows(found, 10)
    assert shared == "double none forward call float32 cpu"
    assert rows == [("native 10", *row_of(found, found.changes[0])[1:])]


def test_json_has_every_point_and_no_number_that_is_none(found):
    document = json.loads(as_json(found), parse_constant=pytest.fail)
    assert document["schema"] == SCHEMA
    assert len(document["moments"]) == 14
    for one, traced in zip(document["series"], found.traced, strict=True):
        assert one["points"]["value"] == pytest.approx(traced.series.values.tolist(), rel=1e-5)
        assert [level["mean"] for level in one["levels"]] == [level.mean for level in traced.found.levels]


def test_the_page_unpacks_to_the_series(found):
    data = data_of(html(found), "history")
    assert [label for label, *_ in data["moments"]] == [one.label for one in found.moments]
    for one, traced in zip(data["series"], found.traced, strict=True):
        assert np.array(one["values"]) / data["steps"] == pytest.approx(traced.series.values, abs=1e-4)
        lows = (np.array(one["values"]) - np.array(one["below"])) / data["steps"]
        assert lows == pytest.approx(traced.series.lows, abs=2e-4)
        assert "places" not in one
        assert one["launches"] == 4
    (change,) = (change for one in data["series"] for change in one["changes"])
    assert change["at"] == 8


def test_series_with_a_change_come_first(found):
    anchors = re.findall(r' id="(series-\d+)"', html(found))
    assert anchors[0] == f"series-{found.changes[0].number}"
    assert len(anchors) == len(set(anchors)) == len(found.traced)


def test_every_link_of_the_page_leads_somewhere(found):
    page = html(found)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))


def test_the_same_history_is_the_same_bytes(found):
    assert html(found) == html(found)
    assert as_json(found) == as_json(found)


def test_a_latency_has_no_interval_where_nothing_tells_one(tmp_path):
    asv = read_history([write_asv(tmp_path / "asv", [1.0, 2.0])], Options())
    data = data_of(html(asv), "history")
    assert all("below" not in one for one in data["series"])
    assert {one["measure"] for one in data["series"]} == {"latency"}
    points = json.loads(as_json(asv))["series"][0]["points"]
    assert points["low"] == [None, None]


def test_a_case_that_some_moments_lack_says_which_it_has(tmp_path):
    paths = write_commits(tmp_path, [{}] * 5)
    environment = {**stored.ENVIRONMENT, "commit": commit(9)}
    write_run(paths[2].parent / "other", [CHANGED.replace("native", "traced")], environment=environment)
    some = read_history([*paths, paths[2].parent / "other"], Options())
    data = data_of(html(some), "history")
    assert sorted(len(one["places"]) for one in data["series"]) == [1, *[5] * 6]
    assert sorted({place for one in data["series"] for place in one["places"]}) == list(range(6))


def test_one_command_confirms_the_changes_of_a_place(tmp_path):
    labels = ("2.15.1", "2.16.2", "2.17.1", "2.18.1", "2.19.1", "2.20.0", "2.21.0")
    changed = {label: {"factors": {CHANGED: 1.2}} for label in labels[4:]}
    plain = read_history([write_versions(tmp_path / "run", *labels, **changed)], Options())
    assert len(plain.reruns()) == 1
    assert "--tf 2.18.1 --tf 2.19.1" in markdown(plain)


def test_a_history_without_a_change_says_so(tmp_path):
    still = read_history(write_commits(tmp_path, [{}] * 6), Options())
    assert "|" not in markdown(still).replace("\\|", "")
    assert json.loads(as_json(still))["changes"] == []
    assert "<table" not in html(still).split('id="changes"')[1].split('id="limits"')[0]


def test_names_cannot_end_a_script(tmp_path):
    environment = {**stored.ENVIRONMENT, "commit": CLOSING, "cpu": CLOSING}
    paths = [
        write_run(tmp_path / f"run-{number}", [CHANGED], environment={**environment, "tensorflow": f"2.{number}"})
        for number in range(2)
    ]
    page = html(read_history(paths, Options(axis="commit")))
    assert CLOSING not in page
    assert page.count("</script>") == len(re.findall("<script", page))


def test_a_field_with_too_many_values_has_no_boxes(found, monkeypatch):
    assert [one.field for one in history_page._choices(found)] == ["variant", "size"]
    monkeypatch.setattr(history_page, "MOST_VALUES", 2)
    assert [one.field for one in history_page._choices(found)] == ["size"]


def test_the_page_of_500_commits_and_300_series_fits(found):
    """By how many bytes a series takes that is packed, of five hundred points with their intervals."""
    rng = np.random.default_rng(1)
    traced = found.traced[0]
    series = traced.series
    many = dict.fromkeys(("values", "errors", "lows", "highs"))
    many["values"] = 0.02 * rng.standard_normal(500)
    many |= {"errors": np.full(500, 0.02), "lows": many["values"] - 0.04, "highs": many["values"] + 0.04}
    long = type(series)(**{**vars(series), **many, "places": np.arange(500), "launches": np.full(500, 4)})
    packed = history_page._packed(found, 0, type(traced)(long, traced.found))
    assert len(json.dumps(packed, separators=(",", ":"))) * 300 < 6_000_000
    assert math.isclose(packed["values"][0] / history_page.STEPS, long.values[0], abs_tol=1e-4)
