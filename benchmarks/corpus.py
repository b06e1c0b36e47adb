"""Try every form that nobody wrote with the bodies of `examples/corpus/`, and make the table of what became of each.

    python benchmarks/corpus.py --time --json docs/corpus.json --page docs/corpus.md
    python benchmarks/corpus.py --time --json docs/corpus.json --resume --stop-after 20m    # the next portion of that
    python benchmarks/corpus.py dice losses                      # bodies or families; what became of them to stdout

A body has a process of its own, so that a crash or a form that takes too long costs one form. With `--json FILE` what
is done is kept there, and `--resume` goes on with it. Exit codes: 0 done, 1 a body could not be examined, 2 bad usage,
3 it was stopped before all were done.
"""

from __future__ import annotations

import argparse
import importlib.metadata
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

from bodies import find, page
from bodies.find import BLOCKS, SEEDS
from pyopbench.core.errors import BadInput
from pyopbench.core.parse import parse_duration

EXAMINE = Path(find.__file__).with_name("examine.py")
FORM_SECONDS = 150.0
"""How long one form of a body may take, with the compiler that it needs; so may the start of a process."""

POLL_SECONDS = 0.1


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; returns the exit code."""
    options = _read(arguments)
    try:
        paths = find.paths(options.names)
    except BadInput as error:
        print(error, file=sys.stderr)
        return 2
    done = _kept(options.json) if options.resume else {}
    left = [path for path in paths if path.stem not in done]
    look = partial(_examine_in_time, options=options, ends=time.monotonic() + options.stop_after)
    with ThreadPoolExecutor(1 if options.time else options.processes) as pool:
        for path, body in zip(left, pool.map(look, left), strict=True):
            if body is None:
                continue
            done[path.stem] = body
            print(_line(body), file=sys.stderr)
            if options.json:
                _write(options.json, json.dumps(_document(done, paths), indent=1, allow_nan=False) + "\n")
    document = _document(done, paths)
    text = page.page(document)
    if options.page:
        _write(options.page, text)
    else:
        print(text)
    if len(document["bodies"]) < len(paths):
        print(f"{len(document['bodies'])} of {len(paths)} bodies are done: go on with --resume", file=sys.stderr)
        return 3
    return 1 if any("failed" in body for body in document["bodies"]) else 0


def _examine_in_time(path: Path, options: argparse.Namespace, ends: float) -> dict[str, Any] | None:
    """Return what became of a body; None where it would begin too late."""
    if time.monotonic() > ends:
        return None
    return examine(path, timed=options.time, batch=options.batch)


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bodies or families; all if none is named")
    parser.add_argument("--time", action="store_true", help="also how fast right forms are; one body after another")
    parser.add_argument("--json", type=Path, help="write what became of each body here")
    parser.add_argument("--resume", action="store_true", help="keep what the file of --json holds already")
    parser.add_argument(
        "--stop-after", type=parse_duration, default=math.inf, help="begin no body after that, e.g. 20m"
    )
    parser.add_argument("--batch", type=int, default=8, help="examples of a batch of batched forms (8); 0 for none")
    parser.add_argument("--page", type=Path, help="write the page here and not to stdout")
    parser.add_argument("--processes", type=int, default=2, help="bodies at a time (2)")
    options = parser.parse_args(arguments)
    if options.resume and not options.json:
        parser.error("--resume goes on with the file of --json")
    return options


def _kept(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    return {body["body"]: body for body in json.loads(path.read_text(encoding="utf-8"))["bodies"]}


def _document(done: dict[str, Any], paths: Sequence[Path]) -> dict[str, Any]:
    return {
        "version": 1,
        **{name: _version(name) for name in ("tensorflow", "numpy", "numba")},
        "seeds": SEEDS,
        "blocks": BLOCKS,
        "bodies": [done[path.stem] for path in paths if path.stem in done],
    }


def _version(name: str) -> str | None:
    found = {one.name.lower().replace("_", "-"): one.version for one in importlib.metadata.distributions()}
    return found.get(name, found.get(f"{name}-cpu"))


def examine(path: Path, *, timed: bool = False, batch: int = 0, form_seconds: float = FORM_SECONDS) -> dict[str, Any]:
    """Return what became of a body; a process that ends early or hangs is started again for the forms that are left."""
    body: dict[str, Any] = {"body": path.stem, "family": path.parent.name, "forms": []}
    while True:
        begun = None
        without = ",".join(form["form"] for form in body["forms"])
        options = ["--without", without, "--batch", str(batch), *(["--time"] if timed else [])]
        for line in _lines(path, options, form_seconds):
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


def _lines(path: Path, options: Sequence[str], form_seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the lines of a process, and a last one with what ended it where it did not end by itself."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w+", encoding="utf-8") as log:
        written = Path(folder) / "lines"
        command = [sys.executable, str(EXAMINE), str(path), "--lines", str(written), *options]
        found_in = os.pathsep.join([str(EXAMINE.parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": found_in})
        seen, since = 0, time.monotonic()
        try:
            while True:
                has_ended = process.poll() is not None
                lines = written.read_text(encoding="utf-8").splitlines(keepends=True) if written.exists() else []
                for line in (one for one in lines[seen:] if one.endswith("\n")):
                    seen, since = seen + 1, time.monotonic()
                    yield json.loads(line)
                if has_ended:
                    break
                if time.monotonic() - since > form_seconds:
                    yield {"ended": f"took longer than {form_seconds:g} s"}
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


def _write(path: Path, text: str) -> None:
    """Write a file whole, so that an interrupted run leaves the last one."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
