"""Tables of Markdown, as the pages of docs/ quote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LINK = re.compile(r"\](\s?)([\[(])")
"""What makes a link of the words in brackets before it."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, a line for each row and a newline at its end."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def cell(text: str) -> str:
    """Return a text as a cell can hold it: on one line, without tags and links, and no cell of its own."""
    parts = text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;").split("`")
    parts[::2] = [LINK.sub(r"]\1\\\2", words) for words in parts[::2]]  # code has none
    return "`".join(parts)
