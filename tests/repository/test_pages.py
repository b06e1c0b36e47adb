"""What a reader meets first stays short: the README, each paragraph of each page, each line of code on the site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import ROOT

README_LINES = 150
PARAGRAPH_WORDS = 90
CODE_COLUMNS = 100
"""What the site shows of a line of code on a usual screen; a longer one wraps."""

FENCE = re.compile(r"^\s*```[^`]*$")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
RECORDS = ROOT / "docs" / "decisions"
"""Each record is kept as it was written when the decision was made, so none of these rules holds for it."""


def pages() -> list[Path]:
    """Return the pages that these rules hold for, each as it stands in the repository."""
    written = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != RECORDS]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "results" / "README.md", *written]


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and the items of lists; not code, headings, tables, comments and what mkdocs fills in."""
    lines: list[str] = []
    is_code = False
    for line in [*text.splitlines(), ""]:
        is_fence = FENCE.match(line) is not None
        is_other = is_code or is_fence or not line.strip() or line.lstrip().startswith(("|", "#", "<!--", ":::"))
        if (is_other or ITEM.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if not is_other:
            lines.append(line.strip())
        is_code ^= is_fence


def code(text: str) -> Iterator[str]:
    """Yield the lines of blocks of code."""
    is_code = False
    for line in text.splitlines():
        if FENCE.match(line):
            is_code = not is_code
        elif is_code:
            yield line


def long_paragraphs(text: str) -> list[str]:
    return [found[:70] for found in paragraphs(text) if len(found.split()) > PARAGRAPH_WORDS]


def long_code(text: str) -> list[str]:
    return [line for line in code(text) if len(line) > CODE_COLUMNS]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_has_no_long_paragraph_and_no_long_line_of_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert long_paragraphs(text) == []
    if page.name != "CONTRIBUTING.md":  # shows sources, which have the width of every source
        assert long_code(text) == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES


def test_a_long_paragraph_is_found_and_each_item_of_a_list_is_one() -> None:
    words = " ".join(["word"] * (PARAGRAPH_WORDS + 1))
    short = words.removesuffix(" word")
    assert long_paragraphs(f"# A title\n\n{words}\n") == [words[:70]]
    assert long_paragraphs(f"- {short.removesuffix(' word')}\n- {short.removesuffix(' word')}\n") == []
    assert long_paragraphs(f"```\n{words}\n```\n\n| {words} |\n") == []


def test_a_long_line_of_code_is_found() -> None:
    for fence in ("```sh", '```sh title="a name"'):
        assert long_code(f"{fence}\npyopbench {'x' * 100}\n```\n{'y' * 200}\n") == [f"pyopbench {'x' * 100}"]
