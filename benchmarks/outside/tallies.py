"""What these commands share: shares with intervals, a process for each part, a file that grows, tables of outcomes."""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

import stored_document
from corpus import PACKAGES, examine
from markdown_table import cell, table

RESULTS = Path(__file__).resolve().parents[2] / "results" / "outside"
"""What these commands write; benchmarks/README.md has the counts."""

OUTCOMES = ("right", "refused", "failed", "lost", "not tried", "other bytes", "wrong")
"""The outcomes of a port: `refused` when it is built, `failed` when it runs, `lost` with the process, and
`other bytes` if the file that is written is not the one that was measured."""


def read_options(
    parser: argparse.ArgumentParser,
    arguments: Sequence[str],
    seconds: float,
    stored: Path,
    modules: Sequence[str] = (),
) -> argparse.Namespace:
    """Return the options of a command, with those that all these commands have.

    Args:
        parser: with the arguments that are the command's own; `names` is one of them unless there are `modules`.
        arguments: of the command line.
        seconds: how long one step may take if nothing else is said.
        stored: what is written where all is examined.
        modules: what may be named; anything if there are none.
    """
    if modules:
        named = f"of {', '.join(modules)}; all if none is named"
        parser.add_argument("names", nargs="*", metavar="MODULE", help=named)
    parser.add_argument("--json", type=Path, help="write what became of each here; none where only some are named")
    parser.add_argument("--resume", action="store_true", help="keep the results that are already in that file")
    parser.add_argument("--seconds", type=float, default=seconds, help=f"how long one step may take ({seconds:g})")
    parser.add_argument("--processes", type=int, default=2, help="at a time (2)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if modules and name not in modules]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(modules)}")
    if not options.names and not options.json:
        options.json = stored
    return options


def read_sources(folder: Path) -> list[dict[str, str]]:
    """Return the rows of the table `sources.tsv` of a folder, the origin of its content; no rows without it."""
    path = folder / "sources.tsv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def parser_of(description: str | None, stored: Path | None = None) -> argparse.ArgumentParser:
    """Return the parser of a command, whose description keeps its lines; with `--json` if it stores one file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if stored is not None:
        parser.add_argument("--json", type=Path, default=stored, help=f"what is written ({stored})")
    return parser


def run(
    paths: Sequence[Path],
    script: Sequence[str | Path],
    options: argparse.Namespace,
    document: dict[str, Any],
    counts: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]],
) -> dict[str, Any]:
    """Examine files or modules by a script, a process for each, and keep each as soon as it is done.

    Args:
        paths: what the script is called with, one at a time.
        script: with options of its own; it writes lines as `benchmarks/bodies/examine.py` does.
        options: as `read_options` returns them.
        document: without results, as `stored_document.begin` returns it.
        counts: of what was examined so far.

    Returns:
        The document, with `counts` and `examined`.
    """
    begun = {**document, "counts": {}, "examined": []}
    if options.resume and options.json and options.json.exists():
        begun = stored_document.read_to_go_on(options.json, document)
    done = {one["body"]: one for one in begun["examined"]}
    left = [path for path in paths if path.stem not in done]
    look = partial(examine, form_seconds=options.seconds, script=[*map(str, script)])
    with ThreadPoolExecutor(options.processes) as pool:
        for path, found in zip(left, pool.map(look, left), strict=True):
            done[path.stem] = {**found, "body": path.stem}
            print(line_of(found), file=sys.stderr, flush=True)
            begun["examined"] = [done[each.stem] for each in paths if each.stem in done]
            begun["counts"] = counts(begun["examined"])
            if options.json:
                stored_document.write(options.json, begun)
    return begun


def begin(version: int, settings: Mapping[str, Any], packages: Sequence[str] = ()) -> dict[str, Any]:
    """Return a document without results."""
    return stored_document.begin(version, (*PACKAGES, *packages), settings)


def line_of(body: Mapping[str, Any]) -> str:
    """Return what became of a body in one line."""
    counted = Counter(form["became"] for form in body["forms"])
    forms = ", ".join(f"{form['form']} {form['became']}" for form in body["forms"])
    many = ", ".join(f"{counted[one]} {one}" for one in OUTCOMES if counted[one])
    return f"{body['body']}: {body.get('failed') or (forms if len(body['forms']) < 20 else many)}"


def share(count: int, of: int) -> str:
    """Return a count, the share that it is, and Wilson's 95% interval of that, such as `33 of 60, 55% (42-67%)`."""
    if not of:
        return "0 of 0"
    low, high = interval(count, of)
    return f"{count} of {of}, {count / of:.0%} ({low * 100:.0f}-{high:.0%})"


def interval(count: int, of: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95% interval of a share (Wilson 1927, as SciPy computes it)."""
    found = binomtest(count, of).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def silent(examined: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return what was wrong after it had been right: files that passed their own test first."""
    found = [
        {"body": body["body"], **{key: str(form.get(key, "")) for key in ("form", "at", "reason")}}
        for body in examined
        for form in body["forms"]
        if form.get("is_silent")
    ]
    return sorted(found, key=lambda one: "file" not in one["form"])


def silent_table(document: Mapping[str, Any]) -> str:
    """Return a row for each port that was silently wrong, as Markdown."""
    rows = [tuple(map(cell, one.values())) for one in document["counts"]["silently wrong"]]
    return table(("body", "what", "inputs", "how"), rows) if rows else "Nothing was silently wrong.\n"


def made(document: Mapping[str, Any]) -> str:
    """Return when, where and with what a document was made, as Markdown."""
    where = stored_document.environment_text(document["environment"])
    return f"Made on {document['created'][:10]} ({where}).\n"


def exit_code(document: Mapping[str, Any]) -> int:
    """Return 0, or 1 where something could not be examined."""
    return 1 if any("failed" in one for one in document["examined"]) else 0
