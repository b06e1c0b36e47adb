"""Run asv's default suite in a clean clone, over two commits and two versions of TensorFlow, and say what came of it.

python scripts/asv_clean_clone.py FOLDER [--tf 2.18.1 --tf 2.21.0] [COMMIT COMMIT]

The commits are HEAD~1 and HEAD unless two are named. `FOLDER` gets the clone, asv's environments, its results and its
pages (`FOLDER/clone/.asv/html`); what is there is used again, and commits that were measured are not measured twice.
The exit code is 1 if a benchmark failed. `asv` and `uv` have to be installed beside this Python.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
TENSORFLOWS = ("2.18.1", "2.21.0")
CONFIGURATION = "asv.conf.json"
ROUTES = "device_copies.CopiesOnRoute."


def clone_of(folder: Path, commits: Sequence[str], versions: Sequence[str]) -> tuple[Path, list[str]]:
    """Make the clone where it is not there, with fewer versions in its configuration; return it and the hashes."""
    clone = folder / "clone"
    if not clone.exists():
        _run(["git", "clone", "--quiet", "--no-local", str(REPOSITORY), str(clone)], folder)
    hashes = [_output(["git", "rev-parse", "--verify", f"{one}^{{commit}}"], REPOSITORY) for one in commits]
    _run(["git", "checkout", "--quiet", "--force", "--detach", hashes[-1]], clone)
    util: Any = import_module("asv.util")
    configuration: dict[str, Any] = util.load_json(str(clone / CONFIGURATION), js_comments=True)
    configuration["matrix"]["req"]["tensorflow-cpu"] = list(versions)
    (clone / CONFIGURATION).write_text(json.dumps(configuration, indent=1) + "\n", encoding="utf-8")
    return clone, hashes


def _run(command: Sequence[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, cwd=folder, check=True)


def _output(command: Sequence[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def measure(clone: Path, hashes: Sequence[str]) -> float:
    """Let asv measure the commits and make its pages; return the seconds of measuring, environments among them."""
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "UV_COMPILE_BYTECODE": "1"}
    (clone / ".asv").mkdir(exist_ok=True)
    listed = clone / ".asv" / "commits.txt"
    listed.write_text("\n".join(hashes) + "\n", encoding="utf-8")

    def asv(*words: str) -> None:
        subprocess.run([sys.executable, "-m", "asv", *words], cwd=clone, env=environment, check=True)

    asv("machine", "--yes")
    start = time.monotonic()
    # asv exits with 2 where a benchmark has failed; which ones is read off the results.
    command = [sys.executable, "-m", "asv", "run", "--skip-existing-successful", "--show-stderr", f"HASHFILE:{listed}"]
    code = subprocess.run(command, cwd=clone, env=environment, check=False).returncode
    if code not in (0, 2):
        sys.exit(f"exit code {code} of asv run")
    seconds = time.monotonic() - start
    asv("publish")
    return seconds


def results_of(clone: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the commit and the environment of each file of results, with its benchmarks."""
    for path in sorted((clone / "results" / "asv").glob("*/*-*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        columns = document["result_columns"]
        rows = {name: dict(zip(columns, row, strict=False)) for name, row in document["results"].items()}
        yield f"{document['commit_hash'][:8]} {document['env_name']}", rows


def lines_of(rows: Mapping[str, Any]) -> Iterator[str]:
    """Yield for each benchmark how many combinations have a value, were skipped, and failed."""
    for name, row in sorted(rows.items()):
        values = row["result"] or [None]
        failed = sum(one is None for one in values)
        skipped = sum(one is not None and math.isnan(one) for one in values)
        yield f"  {name:52} {len(values) - failed - skipped:4} values {skipped:4} n/a {failed:4} failed"
        if name.startswith(ROUTES):
            keys = (" ".join(part.strip("'") for part in key) for key in product(*row["params"]))
            yield from (f"    {key}: {value:g}" for key, value in zip(keys, values, strict=True) if value is not None)


def main() -> None:
    """Clone, measure, and print what came of each commit in each environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("commits", nargs="*", metavar="COMMIT")
    parser.add_argument("--tf", action="append", default=[])
    asked = parser.parse_args()
    commits = asked.commits or ["HEAD~1", "HEAD"]
    clone, hashes = clone_of(asked.folder.resolve(), commits, asked.tf or TENSORFLOWS)
    seconds = measure(clone, hashes)
    failed = False
    for name, rows in results_of(clone):
        sys.stdout.write("\n".join([name, *lines_of(rows)]) + "\n")
        failed |= any(value is None for row in rows.values() for value in row["result"] or [None])
    sys.stdout.write(f"{seconds / 60:.1f} min for {len(hashes)} commits; pages: {clone / '.asv' / 'html'}\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
