"""How a page is put together: templates that escape everything, and charts as pictures. No page has a script.

Text may break in some places and not in others; what is copied from the page is the text as it was.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from markupsafe import escape as escape_html

from pyopbench.model import formatting
from pyopbench.model.formatting import printable
from pyopbench.report.charts.picture import picture
from pyopbench.report.markdown import escape, fence

TEMPLATES = Path(__file__).parent / "templates"
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


def rendered(template: str, **shown: Any) -> str:
    """Return a page.

    Args:
        template: its file, which takes what is in `shown`.
        shown: values for the template.
    """
    style = Markup((TEMPLATES / "page.css").read_text(encoding="utf-8"))
    return printable(environment(autoescape=True).get_template(template).render(**shown, style=style)) + "\n"


def environment(*, autoescape: bool, **filters: Any) -> Environment:
    """Return the templates' environment, in which every expression is escaped: for HTML, or else for Markdown."""
    found = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=autoescape,
        finalize=(lambda value: value) if autoescape else _finalize_markdown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(fence=fence, moment=formatting.moment, picture=lambda spec: Markup(picture(spec)))
    found.filters.update(unbroken=unbroken, prose=prose, breakable=breakable, fit=fit, **filters)
    return found


def _finalize_markdown(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def unbroken(text: str) -> Markup:
    """Return the text, escaped, with every option held together."""
    if "--" not in text:  # as in almost all of the thousands of cells of a page
        return escape_html(text)
    parts, end = [], 0
    for found in OPTION.finditer(text):
        parts += [escape_html(text[end : found.start()]), Markup('<span class="whole">{}</span>').format(found.group())]
        end = found.end()
    return Markup("").join((*parts, escape_html(text[end:])))


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
