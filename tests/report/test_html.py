"""Where lines may break in HTML, and that the text stays what it was."""

from __future__ import annotations

import html
import math
import re

import pytest

from judgements import HOSTILE
from pyopbench.report.html import (
    LONG_FOLDED_CELL,
    LONG_WORD,
    SHORT_CELL,
    breakable,
    field_of,
    fit,
    order_of,
    prose,
    unbroken,
    value_of,
)
from pyopbench.report.sections import Cell, _cells


def shown(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("with a --budget that allows", 'with a <span class="whole">--budget</span> that allows'),
        (
            "(--launches 41, or --min-effect 0.25)",
            '(<span class="whole">--launches</span> 41, or <span class="whole">--min-effect</span> 0.25)',
        ),
        ("a--b, -- and ---rule are none", "a--b, -- and ---rule are none"),
        ("`--mode` node", '`<span class="whole">--mode</span>` node'),
        ("", ""),
    ],
)
def test_options_are_held_together_and_copied_as_they_are(text, markup):
    assert unbroken(text) == markup
    assert shown(markup) == text


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("`a < b` and `c`", "<code>a &lt; b</code> and <code>c</code>"),
        ("use `--budget 5m`", 'use <code><span class="whole">--budget</span> 5m</code>'),
        ("one ` alone, & two ``", "one ` alone, &amp; two ``"),
        ("one ` and ` another", "one ` and ` another"),
        ("`f` of ` <b>", "<code>f</code> of ` &lt;b&gt;"),
        ("`two\nlines`", "`two\nlines`"),
    ],
)
def test_what_a_sentence_has_in_backticks_is_code(text, markup):
    assert prose(text) == markup


def test_a_name_may_break_after_its_underscores_and_is_copied_as_it_is():
    assert breakable("py_function_numpy") == "py_<wbr>function_<wbr>numpy"
    assert shown(breakable("py_function_numpy")) == "py_function_numpy"


@pytest.mark.parametrize("name", [*HOSTILE, "--option<img src=x>"])
@pytest.mark.parametrize("made", [unbroken, prose, breakable])
def test_what_texts_hold_is_escaped(made, name):
    assert set(re.findall(r"<\w+", made(name))) <= {"<span", "<wbr", "<code"}
    kept = "" if made is prose else "`"
    assert shown(made(name)).replace("`", kept) == name.replace("`", kept)


@pytest.mark.parametrize(
    ("text", "folded", "expected"),
    [
        ("1M elements", False, "whole"),
        ("a " * (SHORT_CELL // 2), False, "whole"),
        ("ab" * (LONG_WORD // 2), False, "whole"),
        ("port to xla 4.26× (≥ 3.64×)", False, ""),
        ("", False, ""),
        ("1.23 ms (1.20–1.26)", True, ""),
        ("a" * (LONG_WORD + 1), False, "long"),
        ("a" * (LONG_WORD + 1), True, "long"),
        ("ab " * (LONG_FOLDED_CELL // 3 + 1), True, "long"),
        ("ab " * (LONG_FOLDED_CELL // 3 + 1), False, ""),
    ],
)
def test_short_cells_are_whole_and_long_ones_break(text, folded, expected):
    assert fit(text, folded=folded) == expected


def test_a_column_is_filtered_by_what_its_cells_stand_for():
    rows = (
        (_cells.direction("forward_backward"), _cells.variant("py_func+override_map"), "1 µs"),
        (_cells.direction("forward"), _cells.variant("native"), Cell("2 µs")),
    )
    assert [field_of(rows, place) for place in range(3)] == [' data-field="direction"', ' data-field="variant"', ""]
    values = [[value_of(cell) for cell in row] for row in rows]
    assert values == [["", ' data-value="py_func"', ""], ["", "", ""]]


def test_what_a_cell_is_filtered_by_is_escaped():
    assert value_of(_cells.variant('"<b>+c')) == ' data-value="&#34;&lt;b&gt;"'


def test_a_table_is_sorted_by_the_numbers_that_its_cells_stand_for():
    rows = (
        ("a", _cells.seconds(2e-6), _cells.saved(None, None)),
        ("b", _cells.seconds(1.5e-3), _cells.saved(0.9, 0.8)),
        ("c", _cells.seconds(2e-6), _cells.saved(0.5, math.nan)),
        ("d", _cells.seconds(math.nan), "none"),
        ("e", _cells.seconds(9e-9), _cells.saved(0.99, None)),
    )
    assert order_of(rows) == ' data-order=",1, ,2,1 ,1,0 ,, ,0,2"'
    assert order_of([row[:1] for row in rows]) == order_of(()) == ""
