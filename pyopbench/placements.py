"""The file of counted copies that `pyopbench placement` writes: the same counts give the same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyopbench import routes
from pyopbench.side_file import Placement, SideFile
from pyopbench.store import write_atomically

SCHEMA = 1
FILE = "placement.json"
"""Its name beside the results of a run, where the report finds it."""


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all; the same document gives the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, as_json(document).encode())


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON, a row on each line, so that two of them can be compared line by line."""
    lists = ("rows", "failures", "holes")
    head = json.dumps({key: value for key, value in document.items() if key not in lists}, indent=1)
    parts = [f' "{name}": [{_lines(document[name])}]' for name in lists]
    return ",\n".join((head.removesuffix("\n}"), *parts)) + "\n}\n"


def _lines(rows: Sequence[Any]) -> str:
    return "".join(f"\n  {json.dumps(row)}," for row in rows).removesuffix(",") + ("\n " if rows else "")


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench placement`, or of another schema.
    """
    return _KIND.load(path)


_KIND = SideFile("pyopbench placement", SCHEMA, Placement, routes.rows_of)
