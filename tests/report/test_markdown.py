"""Text that means itself in Markdown; markdown-it stands for the trackers that show it."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from judgements import HOSTILE
from pyopbench.report.markdown import escape, fence

READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
SIGNS = st.text(alphabet=" \n\t\\`*_[]()<>|~$!&#+-=.:;/\"'{}019azé×–", max_size=40)


def shown(markdown: str) -> str:
    """Return what a reader sees of a document that should be one paragraph."""
    page = READER.render(markdown).strip()
    inside = re.fullmatch(r"<p>(.*)</p>", page, re.DOTALL)
    assert inside, page
    assert "<" not in inside[1], page
    return html.unescape(inside[1])


@pytest.mark.parametrize("text", [*HOSTILE, "# a", "- a", "1. a", "---", "===", "+ a", "1) a", "__init__", "a_b", "#"])
def test_text_is_shown_as_it_is(text):
    assert shown(escape(text)) == " ".join(text.split())


@given(SIGNS)
def test_any_text_is_shown_as_it_is(text):
    if text.split():
        assert shown(escape(text)) == " ".join(text.split())


@given(SIGNS)
def test_any_text_stays_in_its_cell(text):
    page = READER.render(f"| a | b |\n| --- | --- |\n| x {escape(text)} | y |\n")
    cells = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert [html.unescape(cell) for cell in cells] == [" ".join(["x", *text.split()]), "y"]


def test_names_stay_readable():
    assert escape("port to py_function_numpy+custom_gradient: 3.24× (≥ 3.01×)") == (
        "port to py_function_numpy+custom_gradient: 3.24× (≥ 3.01×)"
    )


@pytest.mark.parametrize("text", ["pyopbench run", "a\n```\n<script>\n````\nb", "`", *HOSTILE])
def test_code_stays_in_its_fence(text):
    tokens = READER.parse(f"before\n\n{fence(text)}\n\nafter\n")
    assert [token.type for token in tokens if token.level == 0 and token.nesting >= 0] == [
        "paragraph_open",
        "fence",
        "paragraph_open",
    ]
    assert next(token.content for token in tokens if token.type == "fence").split() == text.split()
