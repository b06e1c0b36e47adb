"""A history as a page, Markdown and JSON: the same changes in each, and no markup in names."""

from __future__ import annotations

import json
import re

import pytest

import stored
from histories import CHANGED, commit, stepped, write_commits
from judgements import CLOSING
from pairs import write_run
from pyopbench.judge.comparison.history import read_history
from pyopbench.report.history import COLUMNS, SCHEMA, as_json, html, markdown, row_of, short_rows


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Fourteen commits, of which one case takes 1.3 times as long from the ninth on."""
    return read_history(write_commits(tmp_path_factory.mktemp("runs"), stepped(14, 8, 1.3)))


def test_a_change_is_in_every_output(found):
    (change,) = found.changes
    cells = row_of(found, change)
    assert len(cells) == len(COLUMNS)
    assert cells[0].split(", ")[0] == CHANGED != cells[0], "and what the number is relative to"
    assert cells[2].startswith(f"{commit(7)[:10]} to {commit(8)[:10]}")
    for text in (html(found), markdown(found)):
        assert commit(8)[:10] in text
        assert cells[1] in text
    (told,) = json.loads(as_json(found))["changes"]
    assert (told["case"], told["after"], told["direction"]) == (CHANGED, commit(8)[:10], "slower")
    assert told["command"][:2] == ["pyopbench", "run"]


def test_a_terminal_has_what_differs(found):
    shared, rows = short_rows(found, 10)
    assert shared == "double none forward call float32 cpu"
    assert rows[0][0].split(", ")[0] == "native 10"
    assert rows[0][1:] == row_of(found, found.changes[0])[1:]


def test_json_has_every_point_and_no_number_that_is_none(found):
    document = json.loads(as_json(found), parse_constant=pytest.fail)
    assert document["schema"] == SCHEMA
    assert len(document["moments"]) == 14
    for one, traced in zip(document["series"], found.series, strict=True):
        assert one["points"]["value"] == pytest.approx(traced.points["value"].tolist(), rel=1e-5)
        assert [level["mean"] for level in one["levels"]] == [level.mean for level in traced.found.levels]


def test_a_history_without_a_change_says_so(tmp_path):
    still = read_history(write_commits(tmp_path, [{}] * 6))
    assert "|" not in markdown(still).replace("\\|", "")
    assert json.loads(as_json(still))["changes"] == []
    assert "<table" not in html(still).split('id="changes"')[1].split('id="limits"')[0]


def test_the_page_has_a_chart_of_each_series_with_a_change_and_a_row_for_every_series(found):
    page = html(found)
    assert page.count("<svg") == len({one.number for one in found.changes}) == 1
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(re.findall(r'id="([^"]+)"', page))
    table = page.split("All series", maxsplit=1)[1]
    assert all(one.name in table for one in found.series)


def test_names_are_no_markup(tmp_path):
    environment = {**stored.ENVIRONMENT, "commit": CLOSING, "cpu": CLOSING}
    paths = [
        write_run(tmp_path / f"run-{number}", [CHANGED], environment={**environment, "tensorflow": f"2.{number}"})
        for number in range(2)
    ]
    assert "<script" not in html(read_history(paths, axis="commit"))
