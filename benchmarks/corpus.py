"""Try the ports of the bodies in `examples/corpus/`, and print what became of them.

    python benchmarks/corpus.py --time --json corpus.json    # all bodies, with times; again: goes on where it ended
    python benchmarks/corpus.py dice losses                  # bodies or families

With `--time`, the machine has to be idle. Exit codes: 0 done, 1 a port is silently wrong or a body could not be
examined, 2 bad usage.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tally

CORPUS = Path(__file__).resolve().parents[1] / "examples" / "corpus"
LEAST_GAIN = 1.1
"""A form is called faster from here on: what quick timing can show."""


def find_bodies(names: Sequence[str] = ()) -> dict[str, Path]:
    """Return the op files of the corpus by name; those of some bodies or families if any are named."""
    paths = [path for path in sorted(CORPUS.glob("*/*.py")) if "\nOP = " in path.read_text(encoding="utf-8")]
    unknown = set(names) - {name for path in paths for name in (path.stem, path.parent.name)}
    if unknown:
        families = ", ".join(sorted({path.parent.name for path in paths}))
        sys.stderr.write(f"{min(unknown)!r} is no body and no family of {CORPUS}; families: {families}\n")
        sys.exit(2)
    return {path.stem: path for path in paths if not names or {path.stem, path.parent.name} & set(names)}


def main(arguments: Sequence[str]) -> int:
    """Examine bodies; return the exit code."""
    parser = tally.new_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bodies or families; all if none is named")
    parser.add_argument("--time", action="store_true", help="also how fast right forms are; one body after another")
    options = tally.parse_options(parser, arguments, in_parallel=True)
    bodies = find_bodies(options.names)
    words = ["--time"] if options.time else []
    document = tally.Document(options.json, {"timed": options.time})
    document.add_all(bodies, lambda name: tally.examine(bodies[name], *words), 1 if options.time else options.processes)
    results = {name: document.results[name] for name in bodies}
    right = sum(map(tally.has_right, results.values()))
    print(f"{right} of {len(results)} bodies have a right form without Python.\n")
    print(tally.outcomes_table(results))
    if options.time:
        print(gains_table(results))
    print(tally.obstacles_table(results))
    return tally.exit_code(results)


def gains_table(results: Mapping[str, Any]) -> str:
    """Return how many times as fast as the callback each form is, by size from the smallest, as Markdown."""
    gains: dict[str, list[list[float]]] = {}
    for one in results.values():
        sizes = [one.get("seconds", {})[size] for size in one.get("seconds", {})]
        for form in sizes[0] if sizes else ():
            if form not in ("numpy", "numpy_function"):
                gains.setdefault(form, []).append([size["numpy_function"] / size[form] for size in sizes])
    rows = [
        (
            form,
            f"{sum(max(body) >= LEAST_GAIN for body in bodies)} of {len(bodies)}",
            *(f"{statistics.geometric_mean(size):.2f}" for size in zip(*bodies, strict=False)),
        )
        for form, bodies in gains.items()
    ]
    return tally.table(("form", "faster at some size", "mean gain: small", "middle", "large"), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
