"""Write ports of the bodies of `examples/corpus/` as source, and say which pass their own test.

    python benchmarks/ports.py --to traced,njit --out ports              # all bodies
    python benchmarks/ports.py dice haversine --to traced                # some; the files are thrown away

One process writes; each test has a process of its own, in which pyopbench cannot be imported. Exit codes: 0 every body
has a port that passes, 1 some have none, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bodies import find
from pyopbench.engine.port import TOOLS, write_port
from pyopbench.model.errors import BadInput, PyopbenchError, WrongResult
from pyopbench.model.own_target import read_target
from pyopbench.model.portable import PORTABLE, which_ruff

TEST_SECONDS = 300.0


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bodies or families; all if none is named")
    parser.add_argument(
        "--to", default="traced,njit", help=f"variants, in the order of preference: {','.join(PORTABLE)}"
    )
    parser.add_argument("--all-variants", action="store_true", help="also those behind the first that passes")
    parser.add_argument("--out", type=Path, help="keep the files here")
    options = parser.parse_args(arguments)
    try:
        paths = find.paths(options.names)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        counted = Counter(
            outcome
            for path in paths
            for outcome in _tried(path, options.to.split(","), folder, every=options.all_variants)
        )
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counted.items())))
    return 0 if counted["ported"] == len(paths) else 1


def _tried(path: Path, variants: Sequence[str], folder: Path, *, every: bool) -> list[str]:
    """Return `ported` once if a variant is written, checked and clean, and each outcome that another one had."""
    outcomes = []
    for variant in variants:
        outcome, what = _port(path, variant, folder / f"{path.stem}_{variant}.py")
        print(f"{path.stem} {variant}: {outcome} {what}".rstrip(), flush=True)
        outcomes.append(outcome)
        if outcome == "passed" and not every:
            break
    return ["ported"] if "passed" in outcomes else ["not ported"]


def _port(path: Path, variant: str, out: Path) -> tuple[str, str]:
    target = read_target(str(path), (), ())
    for old in (out, out.with_name(f"test_{out.name}")):
        old.unlink(missing_ok=True)
    try:
        written = write_port(target, variant, out, TEST_SECONDS, replace(TOOLS, ask=_answer))
    except WrongResult as error:
        return "failed", f"{error.message}: {error.received}"[:300].replace("\n", " ")
    except PyopbenchError as error:
        return "refused", f"{error.message}, {error.received}"
    # What is said of the body's own file stands in the port too, as all does that is not of NumPy.
    of_body = _findings(path.parent, [one.name for one in path.parent.glob("*.py")])
    findings = _findings(out.parent, [written.port.name, written.test.name]) - of_body
    if findings:
        return "not clean", "; ".join(sorted(findings))[:300]
    return "passed", f"{', '.join(written.passed)} {' '.join(written.notes)}"


def _findings(folder: Path, names: Sequence[str]) -> set[str]:
    """Return what Ruff says of files of a folder by its default rules, without where."""
    options = ["--isolated", "--no-cache", "--output-format", "json"]
    command = [which_ruff() or "ruff", "check", *options, *names]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return {f"{one['code']} {one['message']}" for one in json.loads(checked.stdout)}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answer in this process, which has TensorFlow already, instead of by a worker for each."""
    from pyopbench.worker.requests import write_port as answer

    return answer(request, lambda event: None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
