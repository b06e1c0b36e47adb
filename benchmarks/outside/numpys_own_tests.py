"""Run NumPy's own tests, as they are in its wheel, with each call of theirs as the port of a body of one line.

    python benchmarks/outside/numpys_own_tests.py                         # all: results/outside/numpys_own_tests.json
    python benchmarks/outside/numpys_own_tests.py lib.test_shape_base     # a module; the tables to stdout alone
    python benchmarks/outside/numpys_own_tests.py --peer torch            # by torch._numpy, which has to be installed

A test that makes no array with a replaced function is not tried. With a peer, the same calls are run by it
instead of as ports, and counted by the same rules: results/outside/numpys_own_tests_torch.json. torch has to be
installed without triton, because its copy of LLVM and TensorFlow's cannot be loaded together. Exit codes: 0 done, 1 a
module could not be examined, 2 bad usage.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from markdown_table import cell, table
from outside import tallies

HERE = Path(__file__).resolve().parent
STORED = tallies.RESULTS / "numpys_own_tests.json"
STORED_BY_PEER = {"torch": tallies.RESULTS / "numpys_own_tests_torch.json"}
VERSION = 1
TEST_SECONDS = 120.0
MODULES = (
    "lib.test_function_base",
    "lib.test_shape_base",
    "lib.test_arraysetops",
    "lib.test_nanfunctions",
    "lib.test_twodim_base",
    "lib.test_index_tricks",
    "lib.test_histograms",
    "lib.test_arraypad",
    "lib.test_type_check",
    "lib.test_ufunclike",
    "lib.test_polynomial",
    "linalg.test_linalg",
    "_core.test_numeric",
    "_core.test_shape_base",
    "_core.test_einsum",
    "_core.test_function_base",
)
OUTCOMES = ("right", "refused", "failed", "lost", "wrong")
LOUD = ("refused", "failed", "lost")


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("--peer", choices=tuple(STORED_BY_PEER), help="run the calls by this library, not as ports")
    options = tallies.read_options(parser, arguments, TEST_SECONDS, STORED, MODULES)
    if options.peer and importlib.util.find_spec(options.peer) is None:
        parser.error(f"{options.peer} is not installed in the environment of {sys.executable}")
    if options.peer and options.json == STORED:
        options.json = STORED_BY_PEER[options.peer]
    paths = [Path(f"{name}.py") for name in options.names or MODULES]
    packages = ("pytest", *([options.peer] if options.peer else []))
    begun = tallies.begin(VERSION, {"modules": [path.stem for path in paths], "peer": options.peer}, packages)
    script = [HERE / "examine_numpys_own_tests.py", *(["--peer", options.peer] if options.peer else [])]
    document = tallies.run(paths, script, options, begun, counts)
    print(f"{totals(document)}\n{wrong(document)}\n{reasons(document)}")
    return tallies.exit_code(document)


def counts(examined: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what became of all tests, parameters counted each by itself."""
    tests: Counter[str] = Counter()
    for one in examined:
        for form in one["forms"]:
            tests.update(form.get("tests", {form["became"]: 1}))
    return {"tests": {name: tests[name] for name in (*OUTCOMES, "not tried") if tests[name]}}


def totals(document: Mapping[str, Any]) -> str:
    """Return the outcomes of the tests of each module, as Markdown; for a module that was not examined, the reason."""
    rows = []
    for one in (*document["examined"], {"body": "all", "forms": []}):
        counted = (document["counts"] if one["body"] == "all" else counts([one]))["tests"]
        right = f"not examined: {cell(one['failed'])}" if "failed" in one else _right(counted)
        rows.append((cell(one["body"]), right, *(str(counted.get(outcome, "")) for outcome in OUTCOMES[1:])))
    return table(("module", *OUTCOMES), rows)


def _right(counted: Mapping[str, int]) -> str:
    return tallies.share(counted.get("right", 0), sum(counted.get(outcome, 0) for outcome in OUTCOMES))


def wrong(document: Mapping[str, Any]) -> str:
    """Return a row for each test with a call whose result is not NumPy's, as Markdown."""
    rows = [tuple(map(cell, one)) for one in _shown(document) if one[2] == "wrong"]
    return table(("module", "test", "became", "what it says"), rows) if rows else "No test was wrong.\n"


def reasons(document: Mapping[str, Any]) -> str:
    """Return how many test functions were stopped by what, as Markdown."""
    found = Counter((became, reason.partition(" (")[0]) for _, _, became, reason in _shown(document) if became in LOUD)
    rows = [(became, str(count), cell(reason)) for (became, reason), count in found.most_common()]
    return table(("became", "tests shown", "by"), rows)


def _shown(document: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    return [
        (body["body"], f"{form['form'].rpartition('.')[0]}.{one['at']}".lstrip("."), one["became"], one["reason"])
        for body in document["examined"]
        for form in body["forms"]
        for one in form.get("shown", [])
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
