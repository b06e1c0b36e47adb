"""What Python callbacks in TensorFlow programs do: counts over public sources that were scanned.

`pyopbench scan FOLDER --json > scan.json`, then `python scripts/callback_census.py scan.json`. FOLDER has a folder for
each repository, and nothing of it is run or kept. Counted are kinds, places, gradients and risks, and what a body needs
besides NumPy, which says how it could be ported: a body of which every call is NumPy's or Python's own is a candidate
for a port that is traced; one that calls other libraries, or reads files, is none as it is.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from pyopbench.find.call_sites import body_of, find_callbacks, parse
from pyopbench.find.draft import take_body
from pyopbench.find.scan import read_source
from pyopbench.find.source import UNKNOWN, ProgramSource

FILES = {"open", "input", "print"}
"""Built-in functions that reach outside the process."""

OF_NUMPY = {"numpy", "math"}


def need_of(source: ProgramSource, line: int) -> str:
    """Return what the body of a callback needs: `numpy`, `tensorflow`, `another library` or `files`, if it is there."""
    found = next((one for one in find_callbacks(source) if one.node.lineno == line), None)
    if found is None:
        return "not in the file"
    body = take_body(source, found)
    if not body.code or body_of(source, found) is None:
        return "not in the file"
    helpers = "\n".join([*body.imports, *body.helpers, body.code])
    whole = ProgramSource.of(parse(helpers.encode()))
    roots = set(_roots(whole))
    if roots & FILES:
        return "files"
    if roots - OF_NUMPY - {"tensorflow", ""}:
        return "another library"
    return "tensorflow" if "tensorflow" in roots else "numpy"


def _roots(source: ProgramSource) -> Iterator[str]:
    """Yield the modules that calls are of, and the built-in functions of `FILES` that are called."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            path = source.path(node.func)
            if path.removeprefix(UNKNOWN) in FILES:
                yield path.removeprefix(UNKNOWN)
            elif path and not path.startswith(UNKNOWN):
                yield path.split(".")[0]


def _source_of(file: Path) -> ProgramSource | None:
    try:
        return ProgramSource.of(parse(read_source(file)[0]))
    except (SyntaxError, ValueError, RecursionError, OSError):
        return None


def count(found: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of a scan."""
    sites, needs = found["sites"], Counter[str]()
    for file, here in groupby(sites, key=lambda site: site["file"]):
        source = _source_of(Path(file))
        needs.update("not in the file" if source is None else need_of(source, site["line"]) for site in here)
    counts = {key: Counter(site[key] for site in sites) for key in ("kind", "form", "context", "gradient")}
    return {
        "files": len({site["file"] for site in sites}),
        "callbacks": len(sites),
        **{key: dict(counted.most_common()) for key, counted in counts.items()},
        "risk": dict(Counter(risk["name"] for site in sites for risk in site["risks"]).most_common()),
        "needs": dict(needs.most_common()),
    }


if __name__ == "__main__":
    counts = count(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    sys.stdout.write(f"{json.dumps(counts, indent=1)}\n")
