"""Tables of Markdown, as the pages of docs/ quote them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, a line for each row and a newline at its end."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def cell(text: str) -> str:
    """Return a text as a cell can hold it: on one line, without tags, and no cell of its own."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
