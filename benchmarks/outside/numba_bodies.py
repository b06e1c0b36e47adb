"""Try ports of the functions that Numba tests itself with, as they are in its wheel, and keep what became of each.

    python benchmarks/outside/numba_bodies.py                          # all: results/outside/numba_bodies.json
    python benchmarks/outside/numba_bodies.py test_linalg              # a module; the tables to stdout alone
    python benchmarks/outside/numba_bodies.py --json OTHER.json --resume

A body is a function at the top level of a test module that calls NumPy on its arguments. Inputs are made by rule: of
the candidates (a matrix, a vector, whole numbers, booleans, the numbers 1 and 0 and two more), the first combination
that the body takes; once for the arguments that it needs, and once for all that it has. Numbers are constants of the
call, arrays are inputs. A body that returns nothing is taken for one that returns the arrays that it was given.

The port to `traced` is compared with NumPy on three draws of two sizes, and on edge cases that the body takes: NaN,
infinities, ties, one row and no row. What is right there is written to a file, as `pyopbench port` does: it needs the
same bytes, and its own test has to pass where pyopbench cannot be imported. Exit codes: 0 done, 1 a module could not be
examined, 2 bad usage.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from markdown_table import cell, table
from outside import tallies

HERE = Path(__file__).resolve().parent
STORED = tallies.RESULTS / "numba_bodies.json"
VERSION = 1
FORM_SECONDS = 60.0
MODULES = (
    "test_np_functions",
    "test_array_methods",
    "test_array_manipulation",
    "test_array_reductions",
    "test_linalg",
    "test_indexing",
)
OPEN = {
    "searchsorted": "what it searches in has to be sorted",
    "interp": "the places that it interpolates between have to be sorted",
    "partition": "the order within the parts is not specified",
    "argpartition": "likewise",
    "intersect1d_3": "with `assume_unique`, what is not unique",
    "np_setxor1d_3": "likewise",
    "np_setdiff1d_3": "likewise",
    "eigh_matrix": "the signs of eigenvectors are not specified",
}
"""What NumPy leaves open, by how the names of bodies begin: inputs by rule do not heed it, so a difference is none."""

OUTCOMES = ("right", "refused", "failed", "lost", "left open", "other bytes", "wrong")
WAYS = {"file": "written to `traced`"}


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    options = tallies.read_options(tallies.parser_of(__doc__), arguments, FORM_SECONDS, STORED, MODULES)
    paths = [Path(f"{name}.py") for name in options.names or MODULES]
    begun = tallies.begin(VERSION, {"modules": [path.stem for path in paths]})
    document = tallies.run(paths, [HERE / "examine_numba_bodies.py"], options, begun, counts)
    print(f"{totals(document)}\n{tallies.silent_table(document)}\n{at_once(document)}\n{reasons(document)}")
    return tallies.exit_code(document)


def counts(examined: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many bodies are right in each way, and which are silently wrong.

    A body is `left open` where values differ that NumPy does not specify.
    """
    tried = [form for one in examined for form in one["forms"] if form["became"] != "not tried"]
    became = {way: Counter(_became(form, way) for form in tried) for way in WAYS}
    wrong = [
        {"body": one["body"], "forms": [{**form[way], "form": f"{way}: {form['form']}"}]}
        for one in examined
        for form in one["forms"]
        for way in WAYS
        if _became(form, way) == "wrong"
    ]
    return {
        "bodies": sum(len(one["forms"]) for one in examined),
        "tried": len(tried),
        "became": {way: {name: found[name] for name in OUTCOMES if found[name]} for way, found in became.items()},
        "intervals": {
            way: list(tallies.interval(found["right"], len(tried))) if tried else [] for way, found in became.items()
        },
        "silently wrong": tallies.silent(wrong),
        "wrong at once": [
            {"body": one["body"], **{key: one["forms"][0][key] for key in ("form", "at", "reason")}}
            for one in wrong
            if not one["forms"][0]["is_silent"]
        ],
    }


def _became(form: Mapping[str, Any], way: str) -> str:
    became = str(form.get(way, form)["became"])
    return "left open" if became == "wrong" and form["form"].startswith(tuple(OPEN)) else became


def totals(document: Mapping[str, Any]) -> str:
    """Return how many bodies are right in each way, by module, as Markdown."""
    rows = []
    for one in document["examined"]:
        counted = counts([one])
        tried = counted["tried"]
        right = [tallies.share(counted["became"][way].get("right", 0), tried) for way in WAYS]
        right = [f"not examined: {cell(one['failed'])}"] if "failed" in one else right
        rows.append((f"`{one['body']}`", str(counted["bodies"]), str(tried), *right))
    counted = document["counts"]
    right = [tallies.share(counted["became"][way].get("right", 0), counted["tried"]) for way in WAYS]
    rows.append(("all", str(counted["bodies"]), str(counted["tried"]), *right))
    outcomes = [
        (text, *(str(counted["became"][way].get(outcome, "")) for outcome in OUTCOMES)) for way, text in WAYS.items()
    ]
    return f"{table(('module', 'bodies', 'tried', *WAYS.values()), rows)}\n{table(('way', *OUTCOMES), outcomes)}"


def at_once(document: Mapping[str, Any]) -> str:
    """Return a row for each body that is wrong on the first inputs, which whoever checks it finds, as Markdown."""
    rows = [tuple(map(cell, one.values())) for one in document["counts"]["wrong at once"]]
    return table(("body", "what", "inputs", "how"), rows) if rows else "Nothing was wrong on the first inputs.\n"


def reasons(document: Mapping[str, Any]) -> str:
    """Return what stopped each way, and of how many bodies, as Markdown."""
    found = Counter(
        (way, _became(form, way), _without_place(form[way]["reason"]))
        for one in document["examined"]
        for form in one["forms"]
        for way in WAYS
        if "reason" in form.get(way, {}) and _became(form, way) not in ("left open", "wrong")
    )
    rows = [(WAYS[way], became, str(count), cell(reason)) for (way, became, reason), count in found.most_common()]
    return table(("way", "became", "bodies", "reason"), sorted(rows, key=lambda row: (row[0], -int(row[2]))))


def _without_place(reason: str) -> str:
    """Return a reason without file and line, so that equal ones are counted together."""
    return reason.partition(", called_")[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
