"""The JSON Schemas of what a run stores: `docs/run.schema.json` and `docs/samples.schema.json`."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from pyopbench.store.certificate import Certificate
from pyopbench.store.run_schema import Run
from pyopbench.store.samples_schema import AnyLine

DIALECT = "https://json-schema.org/draft/2020-12/schema"

PUBLISHED: dict[str, tuple[str, Any]] = {
    "run": ("pyopbench run.json", Run),
    "samples": ("a line of pyopbench samples.jsonl", AnyLine),
}
"""What `docs/` has a JSON Schema of, by the name in front of `.schema.json`: its title and its type."""
INNER: dict[str, tuple[Any, ...]] = {"run": (Certificate,)}
"""Types that such a schema names and that no field of its type is of."""


def as_text(name: str) -> str:
    """Return a JSON Schema (draft 2020-12), by its name in `PUBLISHED`, as the text of its file."""
    title, kind = PUBLISHED[name]
    _, nouns = msgspec.json.schema_components([kind, *INNER.get(name, ())], ref_template="#/$defs/{name}")
    document: dict[str, Any] = {"$schema": DIALECT, **msgspec.json.schema(kind), "$defs": nouns, "title": title}
    for noun in document["$defs"].values():  # how the rest of a docstring is indented depends on the version of Python
        noun["description"] = noun["description"].partition("\n")[0]
    return json.dumps(document, indent=1, sort_keys=True) + "\n"
