"""What docs/census.md says of results/outside/census.json and of the check by hand, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callback_census import OBSTACLES, TRAITS

from markdown_table import cell, table
from outside import tallies

WORDS = {"callbacks": "callbacks", "distinct": "distinct bodies"}
RISKS = {
    "no_gradient": "no gradient",
    "first_order_only": "first-order gradient only",
    "no_shape": "output shape unknown",
    "parallel": "parallel calls in a pipeline wait for the GIL",
    "perhaps_parallel": "calls in a pipeline wait for the GIL if they are parallel, which the source does not show",
    "writes_to_input": "writes to its input",
    "draws": "draws random numbers that tf.random.set_seed does not seed",
    "stateless": "`stateful=False`",
    "gradient_in_loop": "its gradient fails in a loop",
    "jit_compile": "`jit_compile=True` around it",
}

ASPECTS = {
    "kind": "kind",
    "context": "place",
    "gradient": "gradient",
    "shape": "risk that the output shape is unknown",
    "risks": "all other risks",
    "obstacle": "first obstacle",
}
"""The aspects that are checked by hand, by their names in `census_checked.json`."""


def how_many(document: Mapping[str, Any]) -> str:
    """Return when and over what the census was taken."""
    with_some = sum(one["files"] > 0 for one in document["repositories"])
    scanned = document["scanned"]
    return (
        f"Counted on {document['created'][:10]}: {document['callbacks']:,} callbacks in {document['files']:,} files "
        f"({document['distinct files']:,} distinct) of {with_some} repositories. {scanned['files']:,} files of "
        f"{len(document['repositories'])} repositories were scanned, with {scanned['lines']:,} lines of Python; "
        f"{scanned['unreadable']:,} files could not be parsed. {document['certain']:,} callbacks are TensorFlow's "
        f"according to their imports, the others only by their names.\n"
    )


def not_reported(document: Mapping[str, Any]) -> str:
    """Return how many calls have the name of a callback, and which of them the scan does not report."""
    named = document["by name"]
    rows = [
        (one["repository"], cell(f"`{one['path']}`:{one['line']}"), cell(f"`{one['call']}`"))
        for one in named["not reported"]
    ]
    return (
        f"In the files that can be parsed, {named['calls']:,} calls have the name of a callback, and {len(rows)} of "
        f"these are not reported. The other files have about {named['unreadable']} more.\n\n"
        f"{table(('repository', 'place', 'call'), rows) if rows else ''}"
    )


def places(document: Mapping[str, Any]) -> str:
    """Return tables of kinds, places and gradients."""
    total = document["callbacks"]
    columns = ("kind", "form", "context", "gradient")
    rows = [(key, f"`{name}`", f"{n:,}", f"{n / total:.0%}") for key in columns for name, n in document[key].items()]
    return table(("property", "value", "callbacks", "share"), rows)


def risks(document: Mapping[str, Any]) -> str:
    """Return a row for each risk that not every callback has."""
    total = document["callbacks"]
    rows = [(RISKS[name], f"{n:,}", f"{n / total:.0%}") for name, n in document["risk"].items()]
    rows.append(("none of these", f"{document['no risk']:,}", f"{document['no risk'] / total:.0%}"))
    return table(("risk", "callbacks", "share"), rows)


def traits(document: Mapping[str, Any]) -> str:
    """Return what the bodies that are in the file do."""
    rows = [
        (words, *(_share(document["trait"][name][of], document["present"][of]) for of in WORDS))
        for name, words in TRAITS.items()
    ]
    return table(("the body", *WORDS.values()), rows)


def obstacles(document: Mapping[str, Any]) -> str:
    """Return the first obstacle of bodies."""
    found = document["obstacle"]
    rows = [
        (words, _share(found["callbacks"][name], document["callbacks"]), "" if name == "absent" else
         _share(found["distinct"][name], document["present"]["distinct"]))
        for name, words in OBSTACLES.items()
    ]  # fmt: skip
    return table(("first obstacle", *WORDS.values()), rows)


def names(document: Mapping[str, Any]) -> str:
    """Return the libraries and functions that distinct bodies call most often."""
    heads = {
        "library": "other libraries",
        "function": "functions of NumPy",
        "missing": "functions without a counterpart",
    }
    rows = [(head, ", ".join(f"`{name}` {n}" for name, n in document[key].items())) for key, head in heads.items()]
    return table(("names", "number of distinct bodies that use each"), rows)


def of_run_sample(document: Mapping[str, Any]) -> str:
    """Return how the estimate and the run agree on the callbacks whose ports were run."""
    rows = document["run sample"]
    lines = []
    for name, words in OBSTACLES.items():
        here = [row for row in rows if row["obstacle"] == name]
        if here:
            lines.append((words, str(len(here)), str(sum(row["file"] == "right" for row in here))))
    return table(("first obstacle by names", "ports that were run", "`traced` files that were right"), lines)


def checked(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how often a person agreed with the scan, and each place at which they did not."""
    lines = [
        (words, tallies.share(sum(key not in row["wrong"] for row in rows), len(rows)))
        for key, words in ASPECTS.items()
    ]
    wrong = [
        (row["repository"], cell(f"`{row['path']}`:{row['line']}"), ", ".join(row["wrong"]), cell(row["why"]))
        for row in rows
        if row["wrong"]
    ]
    return (
        f"{table(('aspect', 'agreed, share, 95% interval'), lines)}\n"
        f"{table(('repository', 'place', 'not agreed', 'why'), wrong) if wrong else ''}"
    )


def sources(document: Mapping[str, Any]) -> str:
    """Return the repositories with their commits."""
    rows = [(one["name"], f"`{one['commit'][:12]}`", str(one["files"])) for one in document["repositories"]]
    return table(("repository", "commit", "files with callbacks"), rows)


def _share(number: int, of: int) -> str:
    return f"{number:,}, {number / max(of, 1):.0%}"
