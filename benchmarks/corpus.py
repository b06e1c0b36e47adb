"""Try every form that nobody wrote with the bodies of `examples/corpus/`, and keep what became of each.

    python benchmarks/corpus.py --time                             # all bodies, with times: results/corpus.json
    python benchmarks/corpus.py --time --resume --stop-after 20m   # goes on with it, for the next 20 minutes
    python benchmarks/corpus.py dice losses                        # bodies or families; the tables to stdout

With `--time`, the machine has to be idle;
`--resume` refuses a file that another version of TensorFlow, NumPy or Numba wrote, or other options. A body has a
process of its own, so that a crash or a form that takes too long costs one form. Exit codes: 0 done, 1 a body could not
be examined, 2 bad usage, 3 it was stopped before all were done.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import stored_document
from bodies import find, tables
from bodies.find import BLOCKS, SEEDS
from pyopbench.model.errors import BadInput
from pyopbench.model.parse import parse_duration

EXAMINE = Path(find.__file__).with_name("examine.py")
STORED = Path(__file__).resolve().parents[1] / "results" / "corpus.json"
"""What is kept of all bodies; benchmarks/README.md has the counts."""

PACKAGES = ("tensorflow-cpu", "tensorflow", "numpy", "numba")
VERSION = 2
"""Of the file: 1 had the versions of packages beside the bodies, and did not say what it was made with."""

FORM_SECONDS = 150.0
"""How long one form of a body may take, with the compiler that it needs."""

START_SECONDS = 300.0
"""How long a process may take until it begins a form: on a busy machine, importing TensorFlow can take minutes."""

POLL_SECONDS = 0.1


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    options = _read(arguments)
    document = _begun(options)
    try:
        paths = find.paths(options.names)
        if options.resume:
            document = stored_document.read_to_go_on(options.json, document)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    _examine_all(paths, document, options)
    done = document["bodies"]
    if options.names:
        print("\n".join(table(document) for table in (tables.totals, tables.families, tables.reasons)))
    if len(done) < len(paths):
        print(f"{len(done)} of {len(paths)} bodies are done: go on with --resume", file=sys.stderr)
        return 3
    return 1 if any("failed" in body for body in done) else 0


def _examine_all(paths: Sequence[Path], document: dict[str, Any], options: argparse.Namespace) -> None:
    """Examine the bodies that a document lacks, and keep each as soon as it is done."""
    done = {body["body"]: body for body in document["bodies"]}
    left = [path for path in paths if path.stem not in done]
    look = partial(_examine_in_time, options=options, ends=time.monotonic() + options.stop_after)
    with ThreadPoolExecutor(1 if options.time else options.processes) as pool:
        for path, body in zip(left, pool.map(look, left), strict=True):
            if body is None:
                continue
            done[path.stem] = body
            print(_line(body), file=sys.stderr)
            document["bodies"] = [done[each.stem] for each in paths if each.stem in done]
            if options.json:
                stored_document.write(options.json, document)


def _examine_in_time(path: Path, options: argparse.Namespace, ends: float) -> dict[str, Any] | None:
    """Return what became of a body; None where it would begin too late."""
    if time.monotonic() > ends:
        return None
    return examine(path, timed=options.time)


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bodies or families; all if none is named")
    parser.add_argument("--time", action="store_true", help="also how fast right forms are; one body after another")
    parser.add_argument(
        "--json", type=Path, help="write what became of each body here; results/corpus.json if none is named"
    )
    parser.add_argument("--resume", action="store_true", help="keep the results that are already in that file")
    parser.add_argument(
        "--stop-after", type=parse_duration, default=math.inf, help="begin no body after that, e.g. 20m"
    )
    parser.add_argument("--processes", type=int, default=2, help="bodies at a time (2)")
    options = parser.parse_args(arguments)
    if not options.names and not options.json:
        options.json = STORED
    if options.resume and not options.json:
        parser.error("--resume goes on with a file: name one with --json, or no body and no family")
    return options


def _begun(options: argparse.Namespace) -> dict[str, Any]:
    """Return a document without bodies: when, where, with what and how it is made."""
    settings = {"seeds": SEEDS, "blocks": BLOCKS, "timed": options.time}
    return {**stored_document.begin(VERSION, PACKAGES, settings), "bodies": []}


def examine(
    path: Path,
    *,
    timed: bool = False,
    form_seconds: float = FORM_SECONDS,
    script: Sequence[str] = (),
) -> dict[str, Any]:
    """Return what became of a body; a process that ends early or hangs is started again for the forms that are left.

    Args:
        path: the file of its op.
        timed: also how fast right forms are.
        form_seconds: how long a form may take.
        script: what examines it, with options of its own; `EXAMINE` if there is none.
    """
    body: dict[str, Any] = {"body": path.stem, "family": path.parent.name, "forms": []}
    while True:
        begun = None
        without = ",".join(form["form"] for form in body["forms"])
        options = ["--without", without, *(["--time"] if timed else [])]
        for line in _lines([*(script or [str(EXAMINE)]), str(path)], options, form_seconds):
            if "ended" in line:
                break
            begun = line if "begun" in line else None
            if "form" in line:
                body["forms"].append(line)
            elif "body" in line:
                body |= line
        else:
            return body
        if begun is None:
            return body | {"failed": line["ended"]}
        lost = {"form": begun["begun"], "kind": begun["kind"], "became": "lost", "at": "", "error": line["ended"]}
        body["forms"].append(lost | {"reason": line["ended"], "cause": "a crash, or no end in time"})


def _lines(script: Sequence[str], options: Sequence[str], form_seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the lines of a process, and a last one with what ended it where it did not end by itself."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+", encoding="utf-8") as log:
        written = Path(folder) / "lines"
        command = [sys.executable, *script, "--lines", str(written), *options]
        found_in = os.pathsep.join([str(EXAMINE.parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": found_in})
        seen, since, has_begun = 0, time.monotonic(), False
        try:
            while True:
                has_ended = process.poll() is not None
                lines = written.read_text(encoding="utf-8").splitlines(keepends=True) if written.exists() else []
                for line in (one for one in lines[seen:] if one.endswith("\n")):
                    seen, since, found = seen + 1, time.monotonic(), json.loads(line)
                    has_begun = has_begun or "begun" in found
                    yield found
                if has_ended:
                    break
                limit = form_seconds if has_begun else max(form_seconds, START_SECONDS)
                if time.monotonic() - since > limit:
                    yield {"ended": f"took longer than {limit:g} s"}
                    return
                time.sleep(POLL_SECONDS)
            if process.returncode:
                log.seek(0)
                last = (log.read().strip().splitlines() or [""])[-1]
                yield {"ended": f"the process ended with {process.returncode}: {last[:200]}"}
        finally:
            process.kill()
            process.wait()


def _line(body: dict[str, Any]) -> str:
    forms = ", ".join(f"{form['form']} {form['became']}" for form in body["forms"])
    return f"{body['family']}/{body['body']}: {body.get('failed') or forms}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
