"""The JSON of a command is read whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyopbench.documents import Kind
from pyopbench.errors import BadInput


def check(document: dict[str, Any]) -> int:
    return int(document["rows"][0])


KIND = Kind("pyopbench things", 3, check)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    document = {"schema": 3, "rows": [1]}
    (tmp_path / "things.json").write_text(json.dumps(document), encoding="utf-8")
    assert KIND.load(tmp_path / "things.json") == document


@pytest.mark.parametrize(
    ("content", "received"),
    [
        ("", "JSONDecodeError"),
        ("[" * 9000, "RecursionError"),
        ("[1]", "TypeError"),
        ('{"schema": 3}', "KeyError: 'rows'"),
        ('{"schema": 3, "rows": []}', "IndexError"),
        ('{"schema": 3, "rows": ["x"]}', "ValueError"),
        ('{"schema": 2, "rows": [1]}', "schema 2"),
        ('{"rows": [1]}', "schema None"),
        ("\udcff", "UnicodeDecodeError"),
    ],
)
def test_anything_else_is_refused_with_what_to_do(tmp_path: Path, content: str, received: str) -> None:
    path = tmp_path / "things.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput) as error:
        KIND.load(path)
    assert received in str(error.value)
    assert "JSON of schema 3" in str(error.value)
    assert f"pyopbench things --out {path}" in str(error.value)
