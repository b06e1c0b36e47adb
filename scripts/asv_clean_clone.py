"""Run asv's default suite in a clean clone, over two commits and two versions of TensorFlow, and say what came of it.

python scripts/asv_clean_clone.py FOLDER [--tf 2.18.1 --tf 2.21.0] [--portion 50m] [--bench REGEX] [COMMIT COMMIT]

The commits are HEAD~1 and HEAD unless two are named. `FOLDER` gets the clone, asv's results and its pages
(`FOLDER/clone/.asv/html`), and `seconds.json` with what each part took. asv's environments are in pyopbench's cache, or
in `--environments`, and serve every clone. The parts are each commit on each version, the first of a version with its
environment: run the same command again to go on with those that are left. After `--portion` none is begun that would
probably end later. The exit code is 1 if a benchmark failed, and 3 if parts are left. `asv` and `uv` have to be
installed beside this Python, and nothing else may run meanwhile.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from pyopbench.model import cache_folder
from pyopbench.model.parse import parse_duration
from pyopbench.model.write_file import write_atomically

REPOSITORY = Path(__file__).resolve().parents[1]
TENSORFLOWS = ("2.18.1", "2.21.0")
CONFIGURATION = "asv.conf.json"
ENVIRONMENTS = "asv"
"""The folder of asv's environments in the cache."""
SECONDS = "seconds.json"
ROUTES = "device_copies.CopiesOnRoute."
LEFT = 3
"""The exit code where parts are left."""


def clone_of(folder: Path, commits: Sequence[str]) -> tuple[Path, list[str]]:
    """Make the clone where it is not there, with the last of the commits checked out; return it and the hashes."""
    clone = folder / "clone"
    hashes = [_output(["git", "rev-parse", "--verify", f"{one}^{{commit}}"], REPOSITORY) for one in commits]
    if not clone.exists():
        _run(["git", "clone", "--quiet", "--no-local", "--no-checkout", str(REPOSITORY), str(clone)], folder)
    branches = "+refs/heads/*:refs/remotes/origin/*"
    _run(["git", "fetch", "--quiet", str(REPOSITORY), "HEAD", branches], clone)  # made by an earlier call
    _run(["git", "checkout", "--quiet", "--force", "--detach", hashes[-1]], clone)
    return clone, hashes


@dataclass(frozen=True)
class Suite:
    """asv in a clone.

    Attributes:
        clone: of the repository.
        configuration: what it says of asv.
        environments: the folder for asv's environments.
        bench: what of the suite is measured, as asv's `--bench`; "" for the default of the suite.
    """

    clone: Path
    configuration: Mapping[str, Any]
    environments: Path
    bench: str = ""

    @classmethod
    def of(cls, clone: Path, environments: Path, bench: str) -> Suite:
        """Read the configuration as it is committed."""
        util: Any = import_module("asv.util")
        return cls(clone, util.load_json(str(clone / CONFIGURATION), js_comments=True), environments, bench)

    def configure(self, versions: Sequence[str]) -> None:
        """Write the configuration for these versions of TensorFlow."""
        required = {**self.configuration["matrix"]["req"], "tensorflow-cpu": list(versions)}
        changed = {"env_dir": str(self.environments), "matrix": {"req": required}}
        text = json.dumps({**self.configuration, **changed}, indent=1) + "\n"
        (self.clone / CONFIGURATION).write_text(text, encoding="utf-8")

    def call(self, *words: str, legal: Sequence[int] = (0,)) -> None:
        """Call asv.

        Raises:
            SystemExit: its exit code is none of `legal`.
        """
        programs = Path(sys.executable).parent
        environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "UV_COMPILE_BYTECODE": "1"}
        code = subprocess.run([sys.executable, "-m", "asv", *words], cwd=self.clone, env=environment, check=False)
        if code.returncode not in legal:
            sys.exit(f"exit code {code.returncode} of asv {' '.join(words)}; the same command as before goes on")

    def measure(self, commit: str, version: str) -> None:
        """Measure a commit on a version of TensorFlow, but for what has a result already; the environment is made."""
        self.configure([version])
        self.call("machine", "--yes")
        bench = ("--bench", self.bench) if self.bench else ()
        # asv exits with 2 where a benchmark has failed; which ones is read off the results.
        self.call("run", "--skip-existing-successful", "--show-stderr", *bench, f"{commit}^!", legal=(0, 2))

    def publish(self, versions: Sequence[str]) -> None:
        """Make the pages, of all versions."""
        self.configure(versions)
        self.call("publish")


class Parts:
    """What there is to do, part by part, with the seconds that each took in a file."""

    def __init__(self, path: Path) -> None:
        """Read what is done."""
        self._path = path
        self.seconds: dict[str, float] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def run(self, parts: Mapping[str, Callable[[], None]], most_seconds: float | None) -> list[str]:
        """Do what is left of some parts, and return those for which the time would probably not have sufficed."""
        start, longest = time.monotonic(), 0.0
        for name, part in parts.items():
            if name in self.seconds:
                continue
            began = time.monotonic()
            if most_seconds is not None and longest and began - start + longest > most_seconds:
                continue
            part()
            self.seconds[name] = time.monotonic() - began
            longest = max(longest, self.seconds[name])
            write_atomically(self._path, (json.dumps(self.seconds, indent=1) + "\n").encode())
        return [name for name in parts if name not in self.seconds]


def _run(command: Sequence[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, cwd=folder, check=True)


def _output(command: Sequence[str], folder: Path) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


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
    parser.add_argument("--portion", type=parse_duration, default=None)
    parser.add_argument("--bench", default="")
    parser.add_argument("--environments", type=Path, default=cache_folder.folder_of(ENVIRONMENTS))
    asked = parser.parse_intermixed_args()
    folder, versions = asked.folder.resolve(), asked.tf or TENSORFLOWS
    clone, hashes = clone_of(folder, asked.commits or ["HEAD~1", "HEAD"])
    suite, parts = Suite.of(clone, asked.environments.resolve(), asked.bench), Parts(folder / SECONDS)
    wanted = {f"{one[:8]} {version}": partial(suite.measure, one, version) for one in hashes for version in versions}
    left = parts.run(wanted, asked.portion)
    results, failed = list(results_of(clone)), False
    if results:
        suite.publish(versions)
    for name, rows in results:
        sys.stdout.write("\n".join([name, *lines_of(rows)]) + "\n")
        failed |= any(value is None for row in rows.values() for value in row["result"] or [None])
    for name, seconds in parts.seconds.items():
        sys.stdout.write(f"{seconds / 60:6.1f} min  {name}\n")
    sys.stdout.write(f"pages: {clone / '.asv' / 'html'}\n")
    if left:
        sys.stdout.write(f"left, for the same command: {', '.join(left)}\n")
    sys.exit(1 if failed else LEFT if left else 0)


if __name__ == "__main__":
    main()
