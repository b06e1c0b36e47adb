"""Write into README.md and docs/ what stored results say: nothing between the marks is typed by hand.

python scripts/quote_reference.py     after results/reference was made again, or another result was stored

A block begins with `<!-- quoted: NAME -->`, NAME being a key of `QUOTES`, and ends with `<!-- end of quote -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from pyopbench.judge.findings import Answer
from pyopbench.model import formatting
from pyopbench.report.certificate_text import renaming_text
from pyopbench.report.markdown import escape
from pyopbench.report.sections.certificate import rows_of
from pyopbench.store import run_folder
from pyopbench.store.certificate import Certificate
from pyopbench.store.promises import misses_of
from pyopbench.store.strict_json import convert

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / folder) for folder in ("benchmarks", "scripts")]
import callback_census  # noqa: E402 - its folder was just added
import census_tables  # noqa: E402 - likewise
import gate_tables  # noqa: E402 - likewise

import first_try_tables  # noqa: E402 - likewise
import gpu  # noqa: E402 - likewise
import pipeline_pairs  # noqa: E402 - likewise
from bodies import tables  # noqa: E402 - likewise
from markdown_table import table  # noqa: E402 - likewise
from outside import (  # noqa: E402 - likewise
    asv_histories,
    bisection,
    callbacks,
    gate,
    histories,
    npbench,
    numba_bodies,
    numpy_tests,
    numpys_own_tests,
    package_pairs,
    pipelines,
    programs,
    reader_fixtures,
    tallies,
    tensorflow_versions,
)
from stored_document import environment_text  # noqa: E402 - likewise

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
RESULTS = ROOT / "results"
REFERENCE = RESULTS / "reference"
CERTIFICATES = RESULTS / "certificates"
PEERS = RESULTS / "peers.json"
ALARMS = RESULTS / "change_alarms.json"
CORPUS = RESULTS / "corpus.json"
FIRST_TRY = RESULTS / "first_try.json"
FOUND = RESULTS / "found_changes.json"
IDENTICAL = RESULTS / "identical_commits.json"
BLOCK = re.compile(r"(?P<begin><!-- quoted: (?P<name>[^>]+) -->\n).*?(?P<end><!-- end of quote -->)", re.DOTALL)
PROMISES = 4
"""So many rows of a certificate, of those that promise something, say how often verdicts are wrong."""
USES = ("inference", "training")
Part: TypeAlias = Callable[[Mapping[str, Any]], str]
MOVES = ("3%", "5%", "10%")
"""The movements that `benchmarks/peers` counts, as its JSON names them."""


def written(page: str) -> str:
    """Return a page with what each of its blocks quotes; a name that nothing quotes is a KeyError."""
    return BLOCK.sub(lambda found: f"{found['begin']}\n{QUOTES[found['name']]()}\n{found['end']}", page)


def decided(reference: Path = REFERENCE) -> str:
    """Return when, on what and how a run was measured, and a row for each op, as Markdown."""
    run = _content(reference / "run.json")
    decisions = _content(reference / "decisions.json")["decisions"]
    environment = run["environment"]
    head = (
        f"`{' '.join(run['command'])}` on {run['created'][:10]}, {environment['cores']} cores of "
        f"{environment['cpu']}, TensorFlow {environment['tensorflow']}:"
    )
    ops = dict.fromkeys(decision["op"] for decision in decisions)
    found = {(decision["op"], decision["use"]): decision for decision in decisions}
    columns = ("op", *(f"{use}: {what}" for use in USES for what in ("what to do", "saves")))
    rows = [(f"`{op}`", *(cell for use in USES for cell in _cells(found.get((op, use))))) for op in ops]
    return f"{head}\n\n{table(columns, rows)}"


def trusted(reference: Path = REFERENCE) -> str:
    """Return the first rows of the certificate that a run carries, as Markdown."""
    certificate = run_folder.read_run(reference).certificate
    if certificate is None:
        return "(The run carries no certificate.)\n"
    held = [row for row in rows_of(certificate) if row[2] != formatting.MISSING][:PROMISES]
    return table(("what", "found", "promised"), [tuple(map(escape, row)) for row in held])


def certified(folder: Path = CERTIFICATES) -> str:
    """Return what each stored certificate found, which promises it missed, and which decisions changed, as Markdown."""
    stored = [convert(_content(path), Certificate, str(path)) for path in sorted(folder.glob("*.json"))]
    certificates = {_made(one): one for one in stored}
    columns = {made: _rows_by_name(one) for made, one in certificates.items()}
    promises = {what: promised for rows in columns.values() for what, (_, promised) in rows.items()}
    missing = (formatting.MISSING, "")
    rows = [
        tuple(map(escape, (what, promised, *(rows.get(what, missing)[0] for rows in columns.values()))))
        for what, promised in promises.items()
    ]
    misses = {made: [miss.text() for miss in misses_of(one)] for made, one in certificates.items()}
    renamed = {
        made: [renaming_text(each) for each in one.decisions.renamed] if one.decisions else []
        for made, one in certificates.items()
    }
    return (
        f"{table(('what', 'promised', *columns), rows)}\nNot as good as promised:\n\n{_list(misses)}"
        f"\nDecisions that changed from run to run:\n\n{_list(renamed)}"
    )


def _rows_by_name(certificate: Certificate) -> dict[str, tuple[str, str]]:
    """Return what was found and promised; bodies that wait by the time they are meant to wait, which is rounder."""
    meant = {
        formatting.seconds(one.known_seconds): formatting.seconds(float(f"{one.known_seconds:.1g}"))
        for one in certificate.overheads
    }
    return {
        f"overhead on {meant[what.removeprefix('overhead on ')]}" if what.startswith("overhead") else what: (
            found,
            promised,
        )
        for what, found, promised in rows_of(certificate)
    }


def _list(texts: Mapping[str, Sequence[str]]) -> str:
    return "".join(f"- {made}: {escape(text)}\n" for made, several in texts.items() for text in several)


def compared(path: Path = PEERS) -> str:
    """Return the table of `benchmarks/against_peers.py` from what its `--json` wrote, as Markdown."""
    if not path.exists():
        return "No result is stored with this version. `make peers` measures it on your machine.\n"
    content = _content(path)
    head = f"{len(content['cases'])} cases, {environment_text(content['environment'])}"
    moved = (f"moved >{MOVES[0]}", *(f">{move}" for move in MOVES[1:]))
    columns = ("tool", "one run", "to compare", *moved, "resolved ±3%", "misses the truth", "called different")
    return f"{head}:\n\n{table(columns, [_peer(row) for row in content['rows']])}"


def alarms(path: Path = ALARMS) -> str:
    """Return what the batches that `scripts/change_alarms.py --kept` stored come to, as Markdown."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for key, batch in _content(path).items():
        noise, method, _ = key.split(" / ")
        found.setdefault((noise, method), Counter()).update(batch)
    columns = (
        "noise",
        "method",
        "series",
        "with a false alarm",
        "of them confirmed",
        "steps found",
        "of them confirmed",
    )
    return table(columns, [_alarm(*names, counted) for names, counted in found.items()])


def stored(part: Part, path: Path) -> str:
    """Return a part of what a script stored, as Markdown."""
    return part(_content(path)) if path.exists() else f"No `{path.name}` is stored with this version.\n"


def _alarm(noise: str, method: str, counted: Counter[str]) -> tuple[str, ...]:
    located = counted["located"]
    numbers = (counted[name] for name in ("series", "alarmed", "confirmed"))
    shares = (located / counted["series"], counted["located_confirmed"] / max(located, 1))
    return noise, method, *(f"{number:,}" for number in numbers), *(f"{share:.1%}" for share in shares)


def _peer(row: dict[str, Any]) -> tuple[str, ...]:
    shares = (*(row["moved"][move] for move in MOVES), row["resolved"], row["missed"])
    called = row["called_different"]
    return (
        row["tool"],
        *(f"{int(row[name]) // 60}:{int(row[name]) % 60:02d}" for name in ("run_seconds", "compare_seconds")),
        *(formatting.MISSING if share is None else f"{share:.0%}" for share in shares),
        formatting.MISSING if called is None else f"{called} of {len(row['pairs'])}",
    )


def _made(certificate: Certificate) -> str:
    return certificate.created[:16].replace("T", " ")


def _cells(decision: dict[str, Any] | None) -> tuple[str, str]:
    if decision is None:
        return formatting.MISSING, formatting.MISSING
    saved = formatting.MISSING
    if decision["choice"] is not None:
        saved = formatting.saved_at_least(decision["saved"], decision["saved_low"])
    answer = Answer(decision["action"], decision["choice"]).text()
    return escape(answer), escape(saved)


def _content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


PARTS: Mapping[Path, Mapping[str, Part]] = {
    CORPUS: {
        "how it was made": tables.made,
        "how many": tables.totals,
        "each body": tables.families,
        "what stopped forms": tables.reasons,
    },
    FIRST_TRY: {
        "how it was made": first_try_tables.made,
        "how many": first_try_tables.counted,
        "each function": first_try_tables.functions,
    },
    callbacks.STORED: {
        "how it was made": tallies.made,
        "how many": callbacks.totals,
        "silently wrong": tallies.silent_table,
        "each callback": callbacks.callbacks,
    },
    numba_bodies.STORED: {
        "how it was made": tallies.made,
        "how many": numba_bodies.totals,
        "silently wrong": tallies.silent_table,
        "wrong at once": numba_bodies.at_once,
        "what stopped them": numba_bodies.reasons,
    },
    npbench.STORED: {
        "how it was made": tallies.made,
        "how many": npbench.totals,
        "what stopped them": npbench.obstacles,
        "how fast": npbench.times,
    },
    numpy_tests.STORED: {
        "how it was made": tallies.made,
        "how many": numpy_tests.totals,
        "wrong": numpy_tests.wrong,
        "what stopped them": numpy_tests.reasons,
    },
    **{
        path: {
            "how it was made": tallies.made,
            "how many": numpys_own_tests.totals,
            "wrong": numpys_own_tests.wrong,
            "what stopped them": numpys_own_tests.reasons,
        }
        for path in (numpys_own_tests.STORED, *numpys_own_tests.STORED_BY_PEER.values())
    },
    asv_histories.STORED: {"how it was made": tallies.made, "changes": asv_histories.results_table},
    bisection.STORED: {"": bisection.results_table},
    bisection.MEASURED: {"how it was made": tallies.made, "how long": bisection.measured_table},
    gate.STORED: {"how often": gate.results_table, "promises": gate.promises_table},
    histories.STORED: {
        "how it was made": tallies.made,
        "how good": histories.results_table,
        "left out": histories.skipped_text,
    },
    package_pairs.STORED: {
        "how it was made": tallies.made,
        "verdicts": package_pairs.results_table,
        "how many": package_pairs.summary_text,
    },
    tensorflow_versions.STORED: {
        "how it was made": tallies.made,
        "means": tensorflow_versions.means_table,
        "numpy": tensorflow_versions.numpy_table,
        "steps": tensorflow_versions.steps_table,
        "each op": tensorflow_versions.results_table,
    },
    pipelines.STORED: {"": pipelines.report},
    pipeline_pairs.STORED: {"": pipeline_pairs.results_table},
    programs.STORED: {
        "how it was made": tallies.made,
        "each program": programs.programs_table,
        "how many": programs.totals,
        "why": programs.reasons,
        "sources": programs.sources_table,
    },
    gpu.STORED: {
        "checks": gpu.checks_table,
        "counts": gpu.counts_table,
        "callbacks": gpu.callbacks_table,
        "pipeline": gpu.pipeline_table,
    },
    reader_fixtures.STORED: {"how it was made": tallies.made, "how many": reader_fixtures.results_table},
    callback_census.STORED: {
        "how many": census_tables.how_many,
        "calls by name": census_tables.not_reported,
        "kinds and places": census_tables.places,
        "risks": census_tables.risks,
        "what bodies do": census_tables.traits,
        "first obstacles": census_tables.obstacles,
        "most often": census_tables.names,
        "next to ports that were run": census_tables.of_run_sample,
        "repositories": census_tables.sources,
    },
    callback_census.CHECKED: {"": census_tables.checked},
    FOUND: {"": gate_tables.found},
    IDENTICAL: {"": gate_tables.identical},
}
"""Stored document -> the parts that are quoted, by the name after the path; an empty name if nothing follows."""

QUOTES: dict[str, Callable[[], str]] = {
    "what results/reference decided": decided,
    "the certificate of results/reference": trusted,
    "results/certificates": certified,
    "results/peers.json": compared,
    "results/change_alarms.json": alarms,
    **{
        f"{path.relative_to(ROOT)}{': ' if name else ''}{name}": partial(stored, part, path)
        for path, parts in PARTS.items()
        for name, part in parts.items()
    },
}


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(written(each.read_text(encoding="utf-8")), encoding="utf-8")
