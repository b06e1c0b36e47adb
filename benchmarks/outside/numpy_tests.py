"""Try the calls that the tests of TensorFlow's NumPy make, as ports and in `tf.experimental.numpy`, against NumPy.

    python benchmarks/outside/numpy_tests.py FOLDER                       # results/outside/numpy_tests.json
    python benchmarks/outside/numpy_tests.py FOLDER np_indexing_test --json OTHER.json --resume

FOLDER has the files of `tensorflow/python/ops/numpy_ops/tests` of a checkout of TensorFlow, or of
`trax/tf_numpy/jax_tests` of one of Trax, from where they came; TensorFlow's wheel has neither. Their tables of
functions, dtypes, shapes and axes are used, with their own sampling of ten cases of each, and their random inputs.
NumPy takes the place of the namespace that is tested, and each call that the function of a test makes is a body of one
line, whose port is written, imported and run.

Exit codes: 0 done, 1 a module could not be examined, 2 bad usage.
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
STORED = tallies.RESULTS / "numpy_tests.json"
VERSION = 1
GROUP_SECONDS = 300.0
MODULES = ("np_test", "np_indexing_test", "lax_numpy_test", "lax_numpy_indexing_test")
"""Of TensorFlow and of Trax. Their tests of einsum compare by a function of their own, which is not replaced."""

WAYS = {"traced": "`traced`", "tnp": "`tf.experimental.numpy`"}


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="of the tests")
    parser.add_argument("names", nargs="*", metavar="MODULE", help="modules; all if none is named")
    options = tallies.read_options(parser, arguments, GROUP_SECONDS, STORED)
    found = [options.folder / f"{name}.py" for name in options.names or MODULES]
    paths = [path for path in found if path.exists()]
    if not paths:
        print(f"no tests of that name in {options.folder}: np_test.py or lax_numpy_test.py", file=sys.stderr)
        return 2
    begun = tallies.begin(VERSION, {"modules": [path.stem for path in paths]})
    document = tallies.run(paths, [HERE / "examine_numpy_tests.py"], options, begun, counts)
    print(f"{totals(document)}\n{wrong(document)}\n{reasons(document)}")
    return tallies.exit_code(document)


def counts(examined: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what became of all calls, and how many groups of tests made some."""
    forms = [form for one in examined for form in one["forms"]]
    calls: dict[str, Counter[str]] = {way: Counter() for way in WAYS}
    for form in forms:
        for way, counted in form.get("calls", {}).items():
            calls[way].update(counted)
    return {
        "groups": len(forms),
        "groups with calls": sum(form["became"] != "not tried" for form in forms),
        "groups that are right": sum(form["became"] == "right" for form in forms),
        "calls": {way: dict(sorted(counted.items())) for way, counted in calls.items()},
    }


def totals(document: Mapping[str, Any]) -> str:
    """Return what became of the calls of each module, as ports and in TensorFlow's NumPy, as Markdown."""
    rows = []
    for one in document["examined"]:
        counted = counts([one])
        for way, text in WAYS.items():
            calls = counted["calls"][way]
            tried = sum(calls.values()) - calls.get("not tried", 0)
            right = tallies.share(calls.get("right", 0), tried) if tried else "no call was tried"
            right = f"not examined: {cell(one['failed'])}" if "failed" in one else right
            others = (str(calls.get(became, "")) for became in ("refused", "failed", "wrong"))
            rows.append((f"`{one['body']}`", text, right, *others))
    return table(("module", "way", "right", "refused", "failed", "wrong"), rows)


def wrong(document: Mapping[str, Any]) -> str:
    """Return a row for each ported call that is known to be wrong, as Markdown."""
    rows = [
        (f"`{form['form']}`", cell(one["at"]), cell(one["reason"]))
        for body in document["examined"]
        for form in body["forms"]
        for one in form.get("wrong", [])
    ]
    return table(("tests", "call", "how it is wrong"), rows) if rows else "No ported call was wrong.\n"


def reasons(document: Mapping[str, Any]) -> str:
    """Return the first reason of each group of tests that is not right, as Markdown."""
    rows = [
        (f"`{form['form']}`", became, str(form["calls"]["traced"][became]), cell(form[became][0]["reason"]))
        for body in document["examined"]
        for form in body["forms"]
        for became in ("failed", "refused")
        if became in form
    ]
    return table(("tests", "became", "calls", "the first of them"), rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
