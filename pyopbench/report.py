"""The report of a judgement as HTML, Markdown and JSON, and as tables for a terminal.

`report.html` and `report.md` hold the same sections; the same judgement gives the same bytes. `decisions.json` is for
programs. Its keys:

    schema          number of this format; it grows when a key changes its meaning or goes
    run, created    name of the run and when it was made (ISO 8601)
    baseline        variant that stands for the callback of today
    minimum_effect  relative difference that is worth acting on
    mix             size, or dtype/size -> how often it is called; null if none was given
    requires        what a port had to be able to do (`--require`); empty if nothing was asked for
    decisions       fields of `answers.Decision`, and `answer`: `keep`, `undecided`, `port to X` or `switch to X`
    verdicts        fields of `answers.Verdict`; `ratio`, `low`, `high` as time of the case over time of the baseline
    splits          fields of `split.Split`, in seconds per call; empty if no parts were measured
    limits          fields of `bounds.Limits`: what the machine can do at most; null if that was not measured
    bounds          fields of `bounds.Bound`, in seconds per call, and `share`; empty if no limits were measured
    step            fields of `worth.Step`: calls and seconds of a step of the user's program; null if none was given
    worths          fields of `worth.Worth`: the op's share of that step and what each candidate saves
    failures        fields of `model.Failure`
    tool            what measured: `pyopbench`, `asv` or `pytest-benchmark`
    cannot          what results of another tool cannot support, in sentences; empty for a run of pyopbench
    warnings        what a reader should know about the files
    noise           fields of `disturbance.Disturbance`; `too_noisy`: whether verdicts are left open because launches
                    differ by too much for the minimum effect; `warning`: that in words, and what to do, or ""

A number that does not exist (an interval from one launch) is null.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pyopbench import text
from pyopbench.automatic import attempts_of
from pyopbench.charts import DATA
from pyopbench.hypertext import breakable, fit, unbroken
from pyopbench.markdown import escape, fence
from pyopbench.model import Case
from pyopbench.pages import Part, arrange, choices_of
from pyopbench.published import VERSION
from pyopbench.sections import Bullets, automatic, discover, holes, worth
from pyopbench.sections._places import places_of
from pyopbench.sections.decisions import place_of
from pyopbench.sections.holes import UNSUPPORTED, grouped
from pyopbench.store import write_atomically
from pyopbench.tickets import folded

if TYPE_CHECKING:
    from pyopbench.answers import Decision
    from pyopbench.decide import Judgement
    from pyopbench.disturbance import Disturbance

TEMPLATES = Path(__file__).parent / "templates"
PAGE_SCRIPTS = ("filters.js", "tables.js")
EXPORTS = "window.vegaEmbed = vegaEmbed;"
TICKET_CHARACTERS = 65_536
"""The longest text that a GitHub issue takes; a longer Markdown report goes without the tables of the ops."""


@dataclasses.dataclass(frozen=True)
class TerminalTable:
    """A table for a terminal of 80 columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def render(judgement: Judgement) -> dict[str, str]:
    """Return the report as texts by file name: `report.html`, `report.md`, `decisions.json`."""
    built = ((section, tuple(section.build(judgement))) for section in discover())
    parts = [(section, blocks) for section, blocks in built if blocks]  # one that has nothing to say is left out
    return {
        "report.html": _html(judgement, parts),
        "report.md": _markdown(judgement, parts),
        "decisions.json": decisions_json(judgement),
    }


def write(judgement: Judgement, directory: Path) -> tuple[Path, ...]:
    """Write the files of `render` into a directory, each of them whole or not at all; return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    contents = render(judgement)
    for name, content in contents.items():
        write_atomically(directory / name, content.encode())
    return tuple(directory / name for name in contents)


def decisions_json(judgement: Judgement) -> str:
    """Return `decisions.json`; its keys are described at the top of this module."""
    run = judgement.run
    document = {
        "schema": VERSION,
        "run": run.name,
        "created": run.created,
        "baseline": judgement.baseline,
        "minimum_effect": judgement.minimum_effect,
        "mix": judgement.mix and {_mix_key(key): weight for key, weight in judgement.mix.items()},
        "requires": judgement.requires,
        "decisions": [{**dataclasses.asdict(decision), "answer": decision.answer} for decision in judgement.decisions],
        "verdicts": [dataclasses.asdict(verdict) for verdict in judgement.verdicts],
        "splits": [dataclasses.asdict(split) for split in judgement.splits],
        "limits": judgement.limits and dataclasses.asdict(judgement.limits),
        "bounds": [{**dataclasses.asdict(bound), "share": bound.share} for bound in judgement.bounds],
        "step": judgement.step and dataclasses.asdict(judgement.step),
        "worths": [dataclasses.asdict(worth) for worth in judgement.worths],
        "failures": [dataclasses.asdict(failure) for failure in run.failures],
        "tool": run.tool,
        "cannot": run.cannot,
        "warnings": run.warnings,
        "noise": _noise(judgement.disturbance),
    }
    return json.dumps(_plain(document), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _mix_key(key: int | tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}" if isinstance(key, tuple) else str(key)


def _noise(disturbance: Disturbance) -> dict[str, Any]:
    told = {"too_noisy": disturbance.too_noisy, "warning": disturbance.warning}
    return {**dataclasses.asdict(disturbance), **told}


def terminal_tables(judgement: Judgement) -> tuple[TerminalTable, ...]:
    """Return a row for each decision, and how many cases have no number and why; both fit 80 columns."""
    places = places_of(judgement)
    rows = [(made.op, made.use, *place_of(made, places), made.answer, _gain(made)) for made in judgement.decisions]
    columns = ("op", "use", *places.varying, "answer", "gain")
    decisions = TerminalTable("What to do", columns, tuple(rows))
    measured = {str(case) for case in judgement.latencies["case"]}
    cases: dict[str, set[str]] = {}
    for (status, _), found in grouped(judgement, measured).items():
        cases.setdefault(status, set()).update(set(found) - measured)
    without = tuple((status, f"{len(found):,}") for status, found in sorted(cases.items()) if found)
    tried = (_automatic_table(judgement),) if attempts_of(judgement) else ()
    worths = (_worth_table(judgement),) if judgement.worths else ()
    return (
        decisions,
        *tried,
        *worths,
        *((TerminalTable("Without a number", ("status", "cases"), without),) if without else ()),
    )


def _automatic_table(judgement: Judgement) -> TerminalTable:
    rows = tuple(tuple(str(cell) for cell in automatic.row(attempt)) for attempt in attempts_of(judgement))
    return TerminalTable("Ports that cost nothing, tried by themselves", automatic.COLUMNS, rows)


def _worth_table(judgement: Judgement) -> TerminalTable:
    found = worth.table(judgement, places_of(judgement))
    rows = tuple(tuple(str(cell) for cell in row) for row in found.rows)
    return TerminalTable("What a port is worth (lower end)", found.columns, rows)


def _gain(decision: Decision) -> str:
    return text.MISSING if decision.choice is None else text.gain_at_least(decision.gain, decision.gain_low)


def terminal_notes(judgement: Judgement) -> tuple[str, ...]:
    """Return what else is to be known of the answers, a sentence each with the decisions that it holds for."""
    places = places_of(judgement)
    notes: dict[str, list[str]] = {}
    for decision in judgement.decisions:
        by_size = ("the answer differs by size",) if len(decision.ranges) > 1 else ()
        # What would settle it is short; the reason names every candidate that is open.
        why = (decision.flips[:1] or (decision.reason,)) if decision.action == "undecided" else ()
        name = " ".join((decision.op, decision.use, *place_of(decision, places)))
        for note in (*_gaps(decision, judgement), *by_size, *why):
            notes.setdefault(note, []).append(name)
    return tuple(f"{note}: {', '.join(names)}" for note, names in notes.items())


def terminal_reasons(judgement: Judgement) -> tuple[str, ...]:
    """Return why cases were not measured at all, the reasons that most cases have; what failed is told by itself."""
    items = [item for block in holes.brief(judgement) if isinstance(block, Bullets) for item in block.items]
    return tuple(item for item in items if f" {UNSUPPORTED}, of " in item)


def _gaps(decision: Decision, judgement: Judgement) -> tuple[str, ...]:
    """Say at which planned sizes there is no answer, because the callback of today has no number there."""
    setting = (decision.op, decision.mode, decision.dtype)
    cases = [Case.from_id(key) for key in judgement.run.cases]
    planned = sorted({case.size for case in cases if (case.op, case.mode, case.dtype) == setting})
    gone = [size for size in planned if not any(one.low <= size <= one.high for one in decision.ranges)]
    return (f"no number at {text.listing([text.size(size) for size in gone])}",) if gone and decision.ranges else ()


def _html(judgement: Judgement, parts: Sequence[Part]) -> str:
    scripts = [Markup(_harmless(script)) for script in (_library(), _read("charts.js"), _page_script())]
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
    return template.render(**shown, scripts=scripts, policy=policy, style=style) + "\n"


def _markdown(judgement: Judgement, parts: Sequence[Part]) -> str:
    """Return the Markdown for a ticket, without the tables of the ops if it is too long for one with them."""
    template = _environment(autoescape=False).get_template("report.md.j2")
    briefs = ((section, tuple(section.brief(judgement))) for section, _ in parts if section.brief is not None)
    shown = {
        "run": judgement.run,
        "parts": [(section, blocks) for section, blocks in briefs if blocks],
        "pages": arrange(parts).pages,
    }
    whole = template.render(**shown, whole=True)
    return whole if len(whole) <= TICKET_CHARACTERS else template.render(**shown, whole=False)


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
    environment.filters.update(embedded=_embedded, packed=_packed, fence=fence, folded=folded, moment=text.moment)
    environment.filters.update(unbroken=unbroken, breakable=breakable, fit=fit)
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
    encoded = json.dumps(data, separators=(",", ":"), sort_keys=True, allow_nan=False)
    for sign in "<>&":
        encoded = encoded.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(encoded)


@cache
def _library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that leaves nothing but `vegaEmbed` behind."""
    return f"(() => {{\n{vl_convert.javascript_bundle(EXPORTS)}\n}})();"


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


def _plain(value: Any) -> Any:
    """Return the value as JSON knows it: text for keys, and None for numbers that do not exist."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
