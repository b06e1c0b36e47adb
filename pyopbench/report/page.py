"""How a page is put together: templates that escape everything, scripts with their digests, data that is safe."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pyopbench.model import formatting
from pyopbench.model.printable import printable, printable_values
from pyopbench.report import vega
from pyopbench.report.charts.latency import DATA
from pyopbench.report.html import breakable, field_of, fit, order_of, prose, unbroken, value_of
from pyopbench.report.markdown import escape, fence

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = re.compile("(<script>.*?</script>)", re.DOTALL)


def assembled(template: str, scripts: Sequence[str], shown: Mapping[str, Any], **filters: Any) -> str:
    """Return a page.

    Args:
        template: name of the template, which takes `scripts`, `policy`, `style` and what is in `shown`.
        scripts: JavaScript that goes into the page after Vega.
        shown: values for the template.
        filters: those that the template has beside the usual ones.
    """
    harmless = [Markup(_harmless(script)) for script in (vega.library(), *scripts)]
    policy = " ".join(f"'sha256-{_digest(script)}'" for script in harmless)
    found = environment(autoescape=True, **filters).get_template(template)
    page = found.render(**shown, scripts=harmless, policy=policy, style=Markup(source("page.css"))) + "\n"
    # Every other part is text that results may have put there; no text can hold a script's tag.
    parts = SCRIPT.split(page)
    return "".join(part if place % 2 else printable(part) for place, part in enumerate(parts))


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
    found.filters.update(embedded=embedded, packed=packed, fence=fence, moment=formatting.moment)
    found.filters.update(unbroken=unbroken, prose=prose, breakable=breakable, fit=fit)
    found.filters.update(field_of=field_of, value_of=value_of, order_of=order_of, **filters)
    return found


def embedded(data: Mapping[str, Any]) -> Markup:
    """Return JSON that nothing inside a script element of HTML can end: no `<`, `>` or `&` is left in it."""
    encoded = json.dumps(printable_values(data), separators=(",", ":"), sort_keys=True, allow_nan=False)
    for sign in "<>&":
        encoded = encoded.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(encoded)


def packed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec whose rows are `{columns, words, values}`: no names in rows, and texts as places in `words`.

    That takes a third of the bytes. None is what a row lacks.
    """
    rows = spec["datasets"][DATA]
    columns = sorted({name for row in rows for name in row})
    texts = {name: sorted({row[name] for row in rows if isinstance(row.get(name), str)}) for name in columns}
    words = {name: {word: place for place, word in enumerate(found)} for name, found in texts.items() if found}
    values = [
        [words[name][row[name]] if name in words and name in row else row.get(name) for name in columns] for row in rows
    ]
    packed = {"columns": columns, "words": {name: texts[name] for name in words}, "values": values}
    return {**spec, "datasets": {**spec["datasets"], DATA: packed}}


def source(name: str) -> str:
    """Return the text of a file among the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def enclosed(names: Sequence[str]) -> str:
    """Return scripts as one that leaves no name behind."""
    parts = "\n".join(source(name) for name in names)
    return f'(() => {{\n  "use strict";\n{parts}}})();\n'


def _finalize_markdown(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def _harmless(script: str) -> str:
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
