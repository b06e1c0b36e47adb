"""Where lines may break in HTML, and that the text stays what it was."""

from __future__ import annotations

import html
import re

import pytest

from judgements import HOSTILE
from pyopbench.report.html import LONG_FOLDED_CELL, LONG_WORD, SHORT_CELL, breakable, fit, of_variant, unbroken
from pyopbench.report.sections import Cell


def shown(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("with a --budget that allows", ["--budget"]),
        ("(--launches 41, or --min-effect 0.25)", ["--launches", "--min-effect"]),
        ("a--b, -- and ---rule are none", []),
        ("`--mode` node", ["--mode"]),
        ("", []),
    ],
)
def test_options_are_held_together_and_copied_as_they_are(text, held):
    found = unbroken(text)
    assert re.findall(r'<span class="whole">([^<]*)</span>', found) == held
    assert shown(found) == text


def test_a_name_may_break_after_its_underscores_and_is_copied_as_it_is():
    assert breakable("py_function_numpy") == "py_<wbr>function_<wbr>numpy"
    assert shown(breakable("py_function_numpy")) == "py_function_numpy"


@pytest.mark.parametrize("name", [*HOSTILE, "--option<img src=x>"])
@pytest.mark.parametrize("made", [unbroken, breakable])
def test_what_texts_hold_is_escaped(made, name):
    assert set(re.findall(r"<\w+", made(name))) <= {"<span", "<wbr"}
    assert shown(made(name)) == name


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


@pytest.mark.parametrize(
    ("row", "attribute"),
    [
        (("py_func+override_map", "1 µs"), ' data-variant="py_func"'),
        ((Cell("py_func+override_map"), "1 µs"), ' data-variant="py_func"'),
        (("py_func", "1 µs"), ""),
        (('"><b>+c', "1 µs"), ' data-variant="&#34;&gt;&lt;b&gt;"'),
    ],
)
def test_a_row_says_its_variant_where_its_label_names_a_gradient_too(row, attribute):
    assert of_variant(row, ("variant", "time")) == attribute
    assert of_variant(row, ("what", "time")) == ""
