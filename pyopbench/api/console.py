"""Consoles for text from anybody, and how sentences and errors are printed on them.

Results go to `out`, which is stdout; progress and notes to `err`, and errors to `errors`, which are both stderr.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from pyopbench.model.errors import PyopbenchError
from pyopbench.model.formatting import printable


class PrintableConsole(Console):
    """A console for text from anybody: control characters are shown, never obeyed, whatever prints them."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as `rich` does; texts are made printable first."""
        super().print(*(printable(one) if isinstance(one, str) else one for one in objects), **options)

    def print_json(self, json: str | None = None, **options: Any) -> None:
        """Print JSON as it is, which is for programs."""
        self.file.write((json or "").rstrip("\n") + "\n")


# A name such as `:x:` is no emoji.
out = PrintableConsole(highlight=False, soft_wrap=False, emoji=False)
err = PrintableConsole(stderr=True, highlight=False, emoji=False)
errors = PrintableConsole(stderr=True, highlight=False, emoji=False)
"""For errors and for commands that resume a run: `--quiet`, which silences `err`, does not silence it."""


def say(markup: str, console: Console = out, *, mark: str = "") -> None:
    """Print sentences: on a terminal broken between words, below where they begin; where piped a line stays a line.

    Args:
        markup: lines; control characters are shown, because sentences quote what results and TensorFlow say.
        console: where to.
        mark: markup before the first line, such as blanks, a bullet or a label; on a terminal, further lines are
            indented to its end.
    """
    markup = printable(markup)
    if not console.is_terminal:
        console.print(mark + markup, soft_wrap=True)
        return
    before = console.render_str(mark)
    room = max(console.width - before.cell_len, 1)
    for line in console.render_str(markup).split("\n"):
        for part in line.wrap(console, room):
            part.rstrip()
            console.print(before + part, soft_wrap=True)
            before = Text(" " * before.cell_len)


def say_error(error: PyopbenchError, console: Console | None = None) -> None:
    """Print an error, then the value received, the legal values and the next step, each on a line."""
    say(f"[bold red]error:[/] {escape(error.message)}", console or errors)
    for label, text in error.details:
        say(escape(text), console or errors, mark=label)
