"""Try ports of callbacks that were found in public code, and keep what became of each.

    python benchmarks/outside/callbacks.py FOLDER                      # all: results/outside/callbacks.json
    python benchmarks/outside/callbacks.py FOLDER 03 relabel           # some; the tables to stdout alone
    python benchmarks/outside/callbacks.py FOLDER --json OTHER.json --resume

FOLDER has an op file for each callback, `NN_name.py`, that ends with `OP = OwnOp(...)`: the function of the callback as
it stands, and inputs that fit it. A table `sources.tsv` there, with the columns NN, name, source, query, callback and
what, says where each is from; no code of it is kept in the result.

Of each callback it is said which of its forms are right at all sizes, on three draws of each, with gradients where the
op has them; whether `pyopbench port` writes a file to `traced` and to `numba_op` that passes its test where pyopbench
cannot be imported; and whether that file gives what NumPy gives on five further draws of the two smallest sizes. What
is right on the first inputs and wrong on later ones comes first. Exit codes: 0 done, 1 a callback could not be
examined, 2 bad usage.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bodies.tables import files_text
from markdown_table import cell, table
from outside import tallies

HERE = Path(__file__).resolve().parent
STORED = tallies.RESULTS / "callbacks.json"
VERSION = 1
FORM_SECONDS = 150.0
FIRST_TRIED = ("traced_file", "traced", "autograph", "native", "numba_op")
"""Whose obstacle is the one that a table shows, the first that there is."""


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="of op files")
    parser.add_argument("names", nargs="*", metavar="NAME", help="numbers or names of callbacks; all if none is named")
    options = tallies.read_options(parser, arguments, FORM_SECONDS, STORED)
    paths = [path for path in sorted(options.folder.glob("[0-9]*_*.py")) if _is_named(path, options.names)]
    if not paths:
        print(f"no op file NN_name.py of that name in {options.folder}", file=sys.stderr)
        return 2
    begun = {**tallies.begin(VERSION, {}), "sources": _sources(options.folder)}
    document = tallies.run(paths, [HERE / "examine_callback.py"], options, begun, counts)
    print(f"{totals(document)}\n{tallies.silent_table(document)}\n{callbacks(document)}")
    return tallies.exit_code(document)


def _is_named(path: Path, names: Sequence[str]) -> bool:
    number, _, name = path.stem.partition("_")
    return not names or bool({number, name, path.stem} & set(names))


def _sources(folder: Path) -> dict[str, dict[str, str]]:
    """Return source, callback and what of each op file, by its stem."""
    rows = tallies.read_sources(folder)
    return {f"{row['NN']}_{row['name']}": {key: row[key] for key in ("source", "callback", "what")} for row in rows}


def counts(examined: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many callbacks have a port, a file, a form of Numba's, and which forms are silently wrong."""
    of_numpy = [one for one in examined if not one.get("is_on_tensors")]
    files = [one for one in of_numpy if _is_right(one, "traced_file")]
    found = {
        "a right form that is no callback": (len([one for one in examined if _ports(one)]), len(examined)),
        "the same, of bodies that compute with NumPy": (len([one for one in of_numpy if _ports(one)]), len(of_numpy)),
        "a file to traced that passes its own test and further draws": (len(files), len(of_numpy)),
        "right in Numba": (_count(of_numpy, "numba_op"), len(of_numpy)),
        "a right form of any kind": (
            len([one for one in examined if _ports(one) or _is_right(one, "numba_op")]),
            len(examined),
        ),
    }
    forms = Counter((form["form"], form["became"]) for one in examined for form in one["forms"])
    return {
        "shares": {
            what: {"count": count, "of": of, "interval": list(tallies.interval(count, of)) if of else []}
            for what, (count, of) in found.items()
        },
        "forms": {
            name: {became: forms[name, became] for became in tallies.OUTCOMES if forms[name, became]}
            for name in dict.fromkeys(name for name, _ in forms)
        },
        "silently wrong": silently_wrong(examined),
    }


def silently_wrong(examined: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the forms that were right on the first inputs and wrong later: first the files that passed their test."""
    found = [dict(one) for one in examined]
    for one in found:
        passed = _is_right(one, "traced_file")
        one["forms"] = [
            {**form, "is_silent": form.get("is_silent") or _is_late(one, form), "form": _named(form, passed=passed)}
            for form in one["forms"]
        ]
    return tallies.silent(found)


def _is_late(one: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
    first = f"{one['sizes'][0]:,} {one['size_unit']}, seed 0" if one.get("sizes") else ""
    return form["became"] == "wrong" and form.get("at", "") not in (first, "")


def _named(form: Mapping[str, Any], *, passed: bool) -> str:
    """Return the name of a form; what is wrong as `traced` while its file passed its test is a file that is wrong."""
    return f"{form['form']}_file" if passed and form["form"] == "traced" else form["form"]


def _ports(one: Mapping[str, Any]) -> list[str]:
    return [form["form"] for form in one["forms"] if form["kind"] == "port" and form["became"] == "right"]


def _is_right(one: Mapping[str, Any], name: str) -> bool:
    return any(form["form"] == name and form["became"] == "right" for form in one["forms"])


def _count(examined: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(_is_right(one, name) for one in examined)


def totals(document: Mapping[str, Any]) -> str:
    """Return how many callbacks have what, with Wilson's intervals, and what became of each form, as Markdown."""
    counted = document["counts"]
    rows = [(what, tallies.share(one["count"], one["of"])) for what, one in counted["shares"].items()]
    forms = [
        (f"`{name}`", *(str(became.get(outcome, "")) for outcome in tallies.OUTCOMES))
        for name, became in counted["forms"].items()
    ]
    head = ("of the callbacks", "number, share, 95% interval")
    of_forms = table(("form", *tallies.OUTCOMES), forms)
    return f"{table(head, rows)}\n{of_forms}{files_text(document['examined'])}"


def callbacks(document: Mapping[str, Any]) -> str:
    """Return a row for each callback: where it is from, what is right, and the first obstacle, as Markdown."""
    rows = [_row(one, document["sources"].get(one["body"], {})) for one in document["examined"]]
    head = (
        "callback",
        "what it does",
        "from",
        "ports that are right",
        "file to `traced`",
        "`numba_op`",
        "first obstacle",
    )
    return table(head, rows)


def _row(one: Mapping[str, Any], source: Mapping[str, str]) -> tuple[str, ...]:
    by_name = {form["form"]: form for form in one["forms"]}
    became = {name: by_name[name]["became"] if name in by_name else "" for name in ("traced_file", "numba_op")}
    return (
        cell(one["body"]),
        cell(source.get("what", "")),
        cell(source.get("source", one.get("found_in", ""))),
        ", ".join(f"`{name}`" for name in _ports(one)),
        became["traced_file"],
        became["numba_op"],
        cell(obstacle(one)),
    )


def obstacle(one: Mapping[str, Any]) -> str:
    """Return what stopped the first of the forms that are not right; empty where a port is right and written."""
    if "failed" in one:
        return str(one["failed"])
    by_name = {form["form"]: form for form in one["forms"]}
    names = ("autograph", "native") if one.get("is_on_tensors") else FIRST_TRIED
    if _is_right(one, "traced_file") or (one.get("is_on_tensors") and _ports(one)):
        return ""
    return next((by_name[name]["reason"] for name in names if name in by_name and "reason" in by_name[name]), "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
