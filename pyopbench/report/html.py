"""Text for HTML: where a line may break, and where it must not. What is copied from the page is the text as it was."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
"""An option of the command line; browsers break lines after each of its hyphens."""
CODE = re.compile(r"(?<!`)`(?![\s`])([^`\n]*[^`\s])`(?!`)")
"""Code in a sentence, as messages have it for the terminal too."""
LONG_WORD = 30
"""Characters that a narrow screen has no room for in a line."""
SHORT_CELL = 20
"""A cell of up to so many characters is quicker to read in one line than in two narrow ones."""
LONG_FOLDED_CELL = 60
"""Cells of folded tables are numbers, in one line each; what is longer is a sentence."""


def unbroken(text: str) -> Markup:
    """Return the text, escaped, with every option held together."""
    if "--" not in text:  # as in almost all of the thousands of cells of a page
        return escape(text)
    parts, end = [], 0
    for found in OPTION.finditer(text):
        parts += [escape(text[end : found.start()]), Markup('<span class="whole">{}</span>').format(found.group())]
        end = found.end()
    return Markup("").join((*parts, escape(text[end:])))


def prose(text: str) -> Markup:
    """Return sentences, escaped, with what they have in backticks as code; everything else is as from `unbroken`."""
    parts = CODE.split(text)  # every second one is code
    shown = (Markup("<code>{}</code>").format(unbroken(one)) if n % 2 else unbroken(one) for n, one in enumerate(parts))
    return Markup("").join(shown)


def breakable(name: str) -> Markup:
    """Return a name, escaped, that may break after each underscore."""
    return Markup("_<wbr>").join(name.split("_"))


def fit(text: str, *, folded: bool) -> str:
    """Return the class of a cell by what it says: `whole` never breaks, `long` breaks anywhere, `` between words."""
    longest = max(map(len, text.split()), default=0)
    if longest > LONG_WORD or (folded and len(text) > LONG_FOLDED_CELL):
        return "long"
    return "whole" if not folded and text and (len(text) <= SHORT_CELL or longest == len(text)) else ""
