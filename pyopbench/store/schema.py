"""The JSON Schemas of what a run stores: `docs/run.schema.json` and `docs/samples.schema.json`."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec

from pyopbench.store import integrity
from pyopbench.store.line_types import AnyLine
from pyopbench.store.run_json import RunContent

DIALECT = "https://json-schema.org/draft/2020-12/schema"

PUBLISHED: dict[str, tuple[str, Any]] = {
    "run": ("pyopbench run.json", RunContent),
    "samples": ("a line of pyopbench samples.jsonl", AnyLine),
}
"""What `docs/` has a JSON Schema of, by the name in front of `.schema.json`: its title and its type."""
CHECKSUM = {"type": "string", "pattern": "^[0-9a-f]{8}$", "description": "The checksum, which is the last key."}


def as_text(name: str) -> str:
    """Return a JSON Schema (draft 2020-12), by its name in `PUBLISHED`, as the text of its file."""
    title, kind = PUBLISHED[name]
    _, nouns = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    document: dict[str, Any] = {"$schema": DIALECT, **msgspec.json.schema(kind), "$defs": nouns, "title": title}
    for noun in document["$defs"].values():  # how the rest of a docstring is indented depends on the version of Python
        noun["description"] = noun["description"].partition("\n")[0]
    for sealed in get_args(kind) or (kind,):
        document["$defs"][sealed.__name__]["properties"][integrity.KEY] = CHECKSUM
    return json.dumps(document, indent=1, sort_keys=True) + "\n"
