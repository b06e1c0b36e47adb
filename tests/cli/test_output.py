"""What is printed: sentences are broken between words on a terminal, and not at all where piped."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from pyopbench.cli.output import print_table, say

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
        ("- \x1b[31mred\x07", ["- \\x1b[31mred\\x07"]),
    ],
)
def test_sentences_are_broken_between_words_below_where_they_begin(markup: str, lines: list[str]) -> None:
    assert said(markup, terminal=True) == lines


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([("a", "numpy_func", "x y z w")], ["a  numpy_func  x y", "               z w"]),
        ([("a", "numpy_func nump", "7")], ["a  numpy_func    7", "   nump"]),
        ([("a", "numpy_func", "x y z")], ["a  numpy_func  x y z"]),
        ([("a", "numpy_functions_x", "x")], ["a  numpy_function  x", "   s_x"]),
    ],
)
def test_words_in_a_table_stay_whole_where_they_fit(rows: list[tuple[str, ...]], lines: list[str]) -> None:
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    print_table("", ("1", "2", "3"), rows, console)
    assert isinstance(console.file, io.StringIO)
    _, _, *printed, _ = (line.rstrip() for line in console.file.getvalue().splitlines())
    assert printed == lines


def test_where_piped_a_line_stays_a_line() -> None:
    assert said("- one two three four five six", terminal=False) == ["- one two three four five six"]
