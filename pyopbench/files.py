"""What there is to choose from, read off the names of files, so that a wrong name is answered without TensorFlow."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from pyopbench.errors import BadInput

PACKAGE = Path(__file__).parent
OPS_FOLDER = PACKAGE / "ops"
VARIANTS_FOLDER = PACKAGE / "variants"
SECTIONS_FOLDER = PACKAGE / "sections"


def names_in(folder: Path) -> tuple[str, ...]:
    """Return the names of a folder's Python files without those that begin with an underscore, sorted."""
    return tuple(sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")))


def require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that every name is known.

    Raises:
        BadInput: with the nearest known names.
    """
    legal = sorted(known)
    for name in names:
        if name not in legal:
            near = difflib.get_close_matches(name, legal, n=3, cutoff=0.5)
            next_step = f"did you mean {' or '.join(near)}?" if near else "`pyopbench list` shows what there is"
            raise BadInput(f"unknown {kind}", received=repr(name), legal=", ".join(legal), next_step=next_step)
