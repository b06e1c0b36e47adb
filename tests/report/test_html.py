"""Where lines may break in HTML, and that the text stays what it was."""

from __future__ import annotations

import html
import re

import pytest

from judgements import HOSTILE
from pyopbench.report.page import LONG_FOLDED_CELL, LONG_WORD, SHORT_CELL, breakable, fit, prose, unbroken


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
