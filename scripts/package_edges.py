"""Prints which package of pyopbench imports which, how often, and every cycle: `python scripts/package_edges.py`.

Read off the sources with `ast`; imports for type checking count too, because a type is a dependency as well. Exits
with 1 if there is a cycle.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "pyopbench"


def imported_names(path: Path) -> Iterator[str]:
    """Yield the dotted name of everything that a source imports, also inside of functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def package_of(path: Path) -> str:
    """Return the package that a source belongs to; "" for those of the top level."""
    first, *rest = path.relative_to(PACKAGE).parts
    return first if rest else ""


def edges() -> Counter[tuple[str, str]]:
    """Return how many imports lead from one package to another: (from, to) -> count."""
    found: Counter[tuple[str, str]] = Counter()
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    for path in sorted(PACKAGE.rglob("*.py")):
        here = package_of(path)
        for name in imported_names(path):
            top, *rest = name.split(".")
            there = rest[0] if rest and rest[0] in packages else ""
            if top == PACKAGE.name and there and here and there != here:
                found[here, there] += 1
    return found


def order(found: Counter[tuple[str, str]]) -> list[str]:
    """Return the packages so that each stands behind all that it imports.

    Raises:
        CycleError: there is no such order; its second argument is the cycle.
    """
    needs: dict[str, set[str]] = {}
    for here, there in found:
        needs.setdefault(here, set()).add(there)
    return list(TopologicalSorter(needs).static_order())


def main() -> int:
    """Print the edges, then an order or a cycle."""
    found = edges()
    for (here, there), count in sorted(found.items()):
        print(f"{here} -> {there}: {count}")
    try:
        print("no cycle; each package after all that it imports:", ", ".join(order(found)))
    except CycleError as error:
        print("cycle:", " -> ".join(error.args[1]))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
