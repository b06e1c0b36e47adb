"""What is printed: sentences are broken between words on a terminal, and not at all where piped."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pyopbench.cli_output import say

WIDTH = 20


def said(markup: str, *, terminal: bool) -> list[str]:
    console = Console(file=io.StringIO(), width=WIDTH, force_terminal=terminal, color_system=None)
    say(markup, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        ("short", ["short"]),
        ("one two three four five", ["one two three four", "five"]),
        ("- one two three four five", ["- one two three four", "  five"]),
        ("a\n  legal:    one two three four", ["a", "  legal:    one two", "            three", "            four"]),
        ("      - one two three", ["      - one two", "        three"]),
        ("[bold]one[/] two three four five", ["one two three four", "five"]),
    ],
)
def test_sentences_are_broken_between_words_below_where_they_begin(markup: str, lines: list[str]) -> None:
    assert said(markup, terminal=True) == lines


def test_where_piped_a_line_stays_a_line() -> None:
    assert said("- one two three four five six", terminal=False) == ["- one two three four five six"]
