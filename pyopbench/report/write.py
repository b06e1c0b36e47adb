"""The report of a judgement as HTML, Markdown and JSON.

`report.html` and `report.md` hold the same sections; the same judgement gives the same bytes. `decisions.json` is for
programs: `report/decisions_json.py`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pyopbench.compare.versions import VersionComparison, VersionResult, compare_versions
from pyopbench.core import formatting
from pyopbench.core.printable import printable, printable_values
from pyopbench.core.write_file import write_atomically
from pyopbench.judge.judge import judge
from pyopbench.report import vega
from pyopbench.report.charts.latency import DATA
from pyopbench.report.decisions_json import decisions_json
from pyopbench.report.html import breakable, field_of, fit, order_of, unbroken, value_of
from pyopbench.report.layout import Part, arrange, choices_of
from pyopbench.report.markdown import escape, fence
from pyopbench.report.sections import discover
from pyopbench.report.ticket import folded

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement
    from pyopbench.judge.judge import Judging
    from pyopbench.results.versions import Version

TEMPLATES = Path(__file__).parent / "templates"
SCRIPT = re.compile("(<script>.*?</script>)", re.DOTALL)
PAGE_SCRIPTS = ("filters.js", "tables.js")
TICKET_CHARACTERS = 65_536
"""The longest text that a GitHub issue takes; a longer Markdown report goes without the tables of the ops."""


def report_results(folders: Sequence[Path], folder: Path, judging: Judging) -> Judgement:
    """Judge stored results and write the report.

    Args:
        folders: the results.
        folder: where the report goes.
        judging: how to judge.

    Raises:
        BadInput: the results are not what they should be, or the baseline or the mix does not fit them.
    """
    judgement = judge(folders, judging)
    write(judgement, folder)
    return judgement


def report_versions(
    folder: Path, versions: Sequence[Version], judging: Judging, unmeasured: Mapping[str, str]
) -> tuple[list[Judgement], VersionComparison]:
    """Judge every version of a run, compare the others with the first, and write a report of each with all in it.

    Args:
        folder: of the run on several versions.
        versions: those that have a sample, at least one.
        judging: how to judge.
        unmeasured: label -> why a version has no sample.

    Returns:
        A judgement for each version; and what they come to side by side, with the first one shown.

    Raises:
        BadInput: as `report_results`.
    """
    found = {version: judge([version.folder], judging) for version in versions}
    each = [
        VersionResult(version.label, str(one.run.environment.get("numpy") or ""), one.decisions, one.latencies)
        for version, one in found.items()
    ]
    together = replace(compare_versions(folder, each, judging.minimum_effect), unmeasured=unmeasured)
    several = len(each) + len(unmeasured) > 1
    for version, judgement in found.items():
        write(judgement, version.folder, replace(together, shown=version.label) if several else None)
    return list(found.values()), together


def render(judgement: Judgement, across: VersionComparison | None = None) -> dict[str, str]:
    """Return the report as texts by file name: `report.html`, `report.md`, `decisions.json`.

    Args:
        judgement: of the run, or of the version of TensorFlow that is shown.
        across: the versions of TensorFlow that the run was made on; None for a run on one.
    """
    built = ((section, tuple(section.build(judgement))) for section in discover(across))
    parts = [(section, blocks) for section, blocks in built if blocks]  # one that has nothing to say is left out
    return {
        "report.html": _html(judgement, parts),
        "report.md": _markdown(judgement, parts),
        "decisions.json": decisions_json(judgement),
    }


def write(judgement: Judgement, directory: Path, across: VersionComparison | None = None) -> tuple[Path, ...]:
    """Write the files of `render` into a directory, each of them whole or not at all; return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    contents = render(judgement, across)
    for name, content in contents.items():
        write_atomically(directory / name, content.encode())
    return tuple(directory / name for name in contents)


def _html(judgement: Judgement, parts: Sequence[Part]) -> str:
    scripts = [Markup(_harmless(script)) for script in (vega.library(), _read("charts.js"), _page_script())]
    policy = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    template = _environment(autoescape=True).get_template("report.html.j2")
    style = Markup(_read("page.css"))
    layout = arrange(parts)
    shown = {
        "run": judgement.run,
        "layout": layout,
        "anchors": {page.op: page.anchor for page in layout.pages},
        "choices": choices_of(judgement.latencies),
    }
    page = template.render(**shown, scripts=scripts, policy=policy, style=style) + "\n"
    # Every other part is text that results may have put there; no text can hold a script's tag.
    parts_of_page = SCRIPT.split(page)
    return "".join(part if place % 2 else printable(part) for place, part in enumerate(parts_of_page))


def _markdown(judgement: Judgement, parts: Sequence[Part]) -> str:
    """Return the Markdown for a ticket, without the tables of the ops if it is too long for one with them."""
    template = _environment(autoescape=False).get_template("report.md.j2")
    briefs = ((section, tuple(section.brief(judgement))) for section, _ in parts if section.brief is not None)
    shown = {
        "run": judgement.run,
        "parts": [(section, blocks) for section, blocks in briefs if blocks],
        "pages": arrange(parts).pages,
    }
    whole = printable(template.render(**shown, whole=True))
    return whole if len(whole) <= TICKET_CHARACTERS else printable(template.render(**shown, whole=False))


def _environment(*, autoescape: bool) -> Environment:
    """Return the templates' environment, in which every expression is escaped: for HTML, or else for Markdown."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=autoescape,
        finalize=(lambda value: value) if autoescape else _finalize_markdown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(embedded=_embedded, packed=_packed, fence=fence, folded=folded, moment=formatting.moment)
    environment.filters.update(unbroken=unbroken, breakable=breakable, fit=fit)
    environment.filters.update(field_of=field_of, value_of=value_of, order_of=order_of)
    return environment


def _finalize_markdown(value: object) -> str:
    return value if isinstance(value, Markup) else escape(str(value))


def _packed(spec: Mapping[str, Any]) -> dict[str, Any]:
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


def _embedded(data: Mapping[str, Any]) -> Markup:
    """Return JSON that nothing inside a script element of HTML can end: no `<`, `>` or `&` is left in it."""
    encoded = json.dumps(printable_values(data), separators=(",", ":"), sort_keys=True, allow_nan=False)
    for sign in "<>&":
        encoded = encoded.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(encoded)


def _page_script() -> str:
    """Return what the page does itself, as one script that leaves no name behind."""
    parts = "\n".join(_read(name) for name in PAGE_SCRIPTS)
    return f'(() => {{\n  "use strict";\n{parts}}})();\n'


def _harmless(script: str) -> str:
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _read(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
