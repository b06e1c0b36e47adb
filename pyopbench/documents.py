"""The JSON that a command writes beside a run, read whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench.errors import BadInput


@dataclass(frozen=True)
class Kind:
    """A kind of document.

    Attributes:
        command: that writes it, with `--out`.
        schema: its version.
        check: reads all of it, and raises what reading raises where something is not as it should be.
    """

    command: str
    schema: int
    check: Callable[[dict[str, Any]], object]

    def load(self, path: Path) -> dict[str, Any]:
        """Return a document.

        Raises:
            BadInput: it is not one of this kind, or of another schema.
        """
        try:
            document = dict(json.loads(path.read_text(encoding="utf-8")))
            self.check(document)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, BadInput) as error:
            raise self._not_one(path, f"{type(error).__name__}: {error}") from error
        if document.get("schema") != self.schema:
            raise self._not_one(path, f"schema {document.get('schema')!r}")
        return document

    def _not_one(self, path: Path, received: str) -> BadInput:
        return BadInput(
            f"{path} is not what `{self.command}` writes",
            received=received,
            legal=f"JSON of schema {self.schema}, as results/README.md describes it",
            next_step=f"make it again: {self.command} --out {path}",
        )
