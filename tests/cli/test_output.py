"""What is printed: sentences are broken between words on a terminal, and not at all where piped."""

from __future__ import annotations

import io
import json
from typing import Literal

import pytest
from rich.console import Console

from pyopbench.api import console as console_module
from pyopbench.api.console import PrintableConsole
from pyopbench.cli.output import print_table, say, say_error
from pyopbench.model.errors import BadInput

WIDTH = 20


def said(markup: str, mark: str, *, terminal: bool) -> list[str]:
    console = console_of(terminal=terminal)
    say(markup, console, mark=mark)
    return lines_of(console)


def console_of(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), width=WIDTH, force_terminal=terminal, color_system=None)


def lines_of(console: Console) -> list[str]:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("mark", "markup", "lines"),
    [
        ("", "short", ["short"]),
        ("", "one two three four five", ["one two three four", "five"]),
        ("- ", "one two three four five", ["- one two three four", "  five"]),
        ("- ", "one\ntwo", ["- one", "  two"]),
        ("", "- one two three four five", ["- one two three four", "five"]),
        ("      - ", "one two three", ["      - one two", "        three"]),
        ("[bold]- [/]", "one two three four five", ["- one two three four", "  five"]),
        ("", "[bold]one[/] two three four five", ["one two three four", "five"]),
        ("- ", "\x1b[31mred\x07", ["- \\x1b[31mred\\x07"]),
    ],
)
def test_sentences_are_broken_between_words_below_where_they_begin(mark: str, markup: str, lines: list[str]) -> None:
    """What hangs is what the caller says, and no mark is looked for in a sentence."""
    assert said(markup, mark, terminal=True) == lines


@pytest.mark.parametrize(
    ("terminal", "lines"),
    [
        (True, ["error: what", "  received: [0]", "  legal:    one two", "            three", "  next:     again"]),
        (False, ["error: what", "  received: [0]", "  legal:    one two three", "  next:     again"]),
    ],
)
def test_the_details_of_an_error_hang_behind_their_labels(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, lines: list[str]
) -> None:
    console = console_of(terminal=terminal)
    monkeypatch.setattr(console_module, "err", console)
    say_error(BadInput("what", received=[0], legal="one two three", hint="again"))
    assert lines_of(console) == lines


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([("a", "numpy_func", "x y z w")], ["a  numpy_func  x y", "               z w"]),
        ([("a", "numpy_func nump", "7")], ["a  numpy_func    7", "   nump"]),
        ([("a", "numpy_func", "x y z")], ["a  numpy_func  x y z"]),
        ([("a", "numpy_functions_x", "x")], ["a  numpy_functi  x", "   ons_x"]),
        ([("a", "numpy_functions_x", "12345 7")], ["a  numpy_fu  12345", "   nctions_  7", "   x"]),
    ],
)
def test_words_in_a_table_stay_whole_where_they_fit(rows: list[tuple[str, ...]], lines: list[str]) -> None:
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    print_table("", ("1", "2", "3"), rows, console)
    assert isinstance(console.file, io.StringIO)
    _, _, *printed, _ = (line.rstrip() for line in console.file.getvalue().splitlines())
    assert printed == lines


def test_where_the_first_column_cannot_break_the_others_do_between_words() -> None:
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    print_table("", ("1", "2"), [("numpy_function", "x yy zz")], console, folds=True)
    assert isinstance(console.file, io.StringIO)
    _, _, *printed, _ = (line.rstrip() for line in console.file.getvalue().splitlines())
    assert [line.split() for line in printed] == [["numpy_function", "x"], ["yy"], ["zz"]]


def test_where_nothing_fits_every_column_breaks_and_no_cell_is_cut_off() -> None:
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None)
    print_table("", ("1", "2", "3"), [("numpy_function", "one_two_three four", "five six_seven")], console, folds=True)
    assert isinstance(console.file, io.StringIO)
    _, _, *printed, _ = (line.rstrip() for line in console.file.getvalue().splitlines())
    letters = sorted("numpy_functionone_two_threefourfivesix_seven")
    assert sorted("".join(printed).replace(" ", "")) == letters


@pytest.mark.parametrize("color_system", [None, "standard"])
def test_json_is_printed_as_rich_prints_it_in_ascii(color_system: Literal["standard"] | None) -> None:
    """Without colours too, where it does not go line by line through `rich`."""
    text = json.dumps({"long": "one two three four five six", "µ": ["\x07\x1b[31m", "[red]", 1e-07, None], "none": []})
    files = io.StringIO(), io.StringIO()
    ours, theirs = (
        kind(file=file, width=WIDTH, force_terminal=color_system is not None, color_system=color_system)
        for kind, file in zip((PrintableConsole, Console), files, strict=True)
    )
    ours.print_json(text)
    theirs.print_json(text, ensure_ascii=True)
    assert files[0].getvalue() == files[1].getvalue()
    assert ("\x1b" in files[0].getvalue()) == (color_system is not None)


def test_where_piped_a_line_stays_a_line() -> None:
    assert said("one two three four five six", "- ", terminal=False) == ["- one two three four five six"]
