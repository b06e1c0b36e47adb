"""What is printed: sentences are broken between words on a terminal, and not at all where piped."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from pyopbench.api import console as console_module
from pyopbench.api.console import PrintableConsole
from pyopbench.cli.output import say, say_error
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
    monkeypatch.setattr(console_module, "errors", console)
    say_error(BadInput("what", received=[0], legal="one two three", hint="again"))
    assert lines_of(console) == lines


def test_json_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps({"long": "one two three four five six", "none": [], "markup": "[red]"}, indent=1)
    PrintableConsole(width=WIDTH).print_json(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_where_piped_a_line_stays_a_line() -> None:
    assert said("one two three four five six", "- ", terminal=False) == ["- one two three four five six"]
