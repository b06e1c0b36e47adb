"""Writes the table of functions that ports have into docs/port.md; a test holds the page to what it writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pyopbench.ports.porting.table import TABLE
from pyopbench.ports.porting.writers import WRITERS
from pyopbench.ports.tensor_functions.sources import FUNCTIONS

PAGE = Path(__file__).parents[1] / "docs" / "port.md"
MARK = "<!-- written by scripts/ported_functions.py -->\n"
END = "<!-- end of what it writes -->\n"


def table() -> str:
    """Return every function that the port to TensorFlow ops has, by kind, as Markdown."""
    assert WRITERS  # importing them enters their functions
    rows: dict[str, list[str]] = {}
    for name in sorted({*TABLE, *FUNCTIONS}):
        rows.setdefault(_kind(name), []).append(name)
    lines = [f"| {kind} | {', '.join(f'`{name}`' for name in rows[kind])} |" for kind in sorted(rows, key=_order)]
    return "\n".join(["| kind | functions |", "|---|---|", *lines, ""])


def _kind(name: str) -> str:
    home, _, rest = name.partition(".")
    if home != "np":
        return {"scipy": "SciPy", "math": "`math`"}.get(home, "Python")
    if rest.startswith(("linalg.", "fft.")):
        return f"`np.{rest.partition('.')[0]}`"
    return "ufuncs" if isinstance(getattr(np, rest.partition(".")[0], None), np.ufunc) else "NumPy"


def _order(kind: str) -> tuple[bool, str]:
    return kind != "NumPy", kind.lower()


def written(page: str) -> str:
    """Return the page with the table as it is now."""
    before, _, rest = page.partition(MARK)
    return before + MARK + "\n" + table() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
