"""Text for HTML: where a line may break, and where it must not. What is copied from the page is the text as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from pyopbench.core.label import Label

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
"""An option of the command line; browsers break lines after each of its hyphens."""
LONG_WORD = 30
"""Characters that a narrow screen has no room for in a line."""
SHORT_CELL = 20
"""A cell of up to so many characters is quicker to read in one line than in two narrow ones."""
LONG_FOLDED_CELL = 60
"""Cells of folded tables are numbers, in one line each; what is longer is a sentence."""


def unbroken(text: str) -> Markup:
    """Return the text, escaped, with every option held together."""
    parts, end = [], 0
    for found in OPTION.finditer(text):
        parts += [escape(text[end : found.start()]), Markup('<span class="whole">{}</span>').format(found.group())]
        end = found.end()
    return Markup("").join((*parts, escape(text[end:])))


def breakable(name: str) -> Markup:
    """Return a name, escaped, that may break after each underscore."""
    return Markup("_<wbr>").join(name.split("_"))


def fit(text: str, *, folded: bool) -> str:
    """Return the class of a cell by what it says: `whole` never breaks, `long` breaks anywhere, `` between words."""
    longest = max(map(len, text.split()), default=0)
    if longest > LONG_WORD or (folded and len(text) > LONG_FOLDED_CELL):
        return "long"
    return "whole" if not folded and text and (len(text) <= SHORT_CELL or longest == len(text)) else ""


def of_variant(row: Sequence[Any], columns: Sequence[str]) -> Markup:
    """Return the attribute by which a page filters a row whose label names a gradient too; nothing for any other row.

    Args:
        row: cells, texts or with a `text`.
        columns: their names; labels are in the one called `variant`.
    """
    if "variant" not in columns:
        return Markup("")
    cell = row[columns.index("variant")]
    label = Label.parse(cell if isinstance(cell, str) else cell.text)
    return Markup("") if label.gradient is None else Markup(' data-variant="{}"').format(label.variant)
