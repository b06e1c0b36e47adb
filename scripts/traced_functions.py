"""Writes the table of what can be traced into docs/tracing.md; a test holds the page to what it writes."""

from __future__ import annotations

from pathlib import Path

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tracing import functions, methods, ufuncs
from pyopbench.ports.tracing.creation import CREATION

PAGE = Path(__file__).parents[1] / "docs" / "tracing.md"
MARK = "<!-- written by scripts/traced_functions.py -->\n"


def table() -> str:
    """Return everything that can be traced, by kind, as Markdown."""
    names = functions.supported()
    of_arrays = {*methods.METHODS, *methods.ATTRIBUTES}
    rows = {
        "functions": [f"np.{name}" for name in names if not name.startswith(("linalg.", "fft."))],
        "ufuncs": [f"np.{name}" for name in sorted(ufuncs.UFUNCS)],
        "`np.linalg`": [name for name in names if name.startswith("linalg.")],
        "`np.fft`": [name for name in names if name.startswith("fft.")],
        "methods and attributes": [f".{name}" for name in sorted(of_arrays) if name[0] != "_"],
        "made of nothing": [f"np.{name}" for name in sorted(CREATION)],
        "SciPy": sorted(name for name in FUNCTIONS if name.startswith("scipy.")),
    }
    lines = [f"| {kind} | {', '.join(f'`{name}`' for name in several)} |" for kind, several in rows.items()]
    return "\n".join(["| kind | what |", "|---|---|", *lines, ""])


def written(page: str) -> str:
    """Return the page with the table as it is now."""
    before, _, _ = page.partition(MARK)
    return before + MARK + "\n" + table()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
