"""Which bodies there are: the files of `examples/corpus/` that end with an op, by family."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence
from pathlib import Path

from pyopbench.model.errors import BadInput

CORPUS = Path(__file__).resolve().parents[2] / "examples" / "corpus"

SEEDS = 3
"""How many inputs of each size a form is tried with."""

BLOCKS = 7
"""Timed blocks of which the median is taken."""


def paths(names: Sequence[str] = ()) -> list[Path]:
    """Return the files of bodies, sorted by family and name.

    Args:
        names: bodies or families; all if there are none.

    Raises:
        BadInput: a name is neither a body's nor a family's.
    """
    found = [path for path in sorted(CORPUS.glob("*/*.py")) if _has_op(path)]
    known = sorted({word for path in found for word in (path.stem, path.parent.name)})
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            raise BadInput(
                "no body and no family of the corpus has this name",
                received=name,
                legal=", ".join(sorted({path.parent.name for path in found})) + ", or a body of them",
                hint=f"did you mean {' or '.join(near)}?" if near else f"see {CORPUS}",
            )
    return [path for path in found if not names or {path.stem, path.parent.name} & set(names)]


def _has_op(path: Path) -> bool:
    """Does a file end with an op? Those of helpers do not."""
    last = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "OP" for one in last)
