"""How a page is put together: templates that escape everything, and charts as pictures. No page has a script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pyopbench.model import formatting
from pyopbench.model.printable import printable
from pyopbench.report.charts.picture import picture
from pyopbench.report.html import breakable, fit, prose, unbroken
from pyopbench.report.markdown import escape, fence

TEMPLATES = Path(__file__).parent / "templates"


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
