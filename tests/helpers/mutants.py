"""Results that were tampered with, by seeds: bytes, structure, types, numbers, encodings, and kinds of files.

`python tests/helpers/mutants.py [COUNT] [SEED]` runs the commands that read results over COUNT mutants and prints what
went otherwise than documented, with the seed that makes it again.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import copied_files
import placement_files
import probe_files
import stored
from places import ROOT
from pyopbench.cli import app
from pyopbench.cli.errors import command_of, end_of
from pyopbench.results import copy_costs, counted_copies, integrity, probes, store, versions

SECONDS_EACH = 10
WEIGHT = 12
FOUND = (21358,)
"""Seeds of mutants that were not seen through; they stay as tests."""
EXIT_CODES = (0, 1, 2, 3)
UNEXPECTED = "failed where it should not"
FOREIGN = [ROOT / "tests/data/foreign" / name for name in ("asv-first.json", "pytest-benchmark-first.json")]
NUMBERS = (b"1e999", b"-1", b"9" * 400, b"0", b"NaN", b"-0.0", b"1e-400", b"9223372036854775808", b"1.5", b"true")
TEXTS = (
    '"\\ud800"',
    '"\\u202e\\u2028\\u001b[2J"',
    '"constructor"',
    '""',
    '"[/]"',
    '"a/b"',
    "null",
    "[]",
    "{}",
    "[[[]]]",
)
NUMBER = re.compile(rb"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?")


def make(folder: Path) -> dict[str, list[list[str]]]:
    """Write one of every kind of file, and return the command lines that read it, by the name of the file."""
    cases = [stored.case(variant, size=size) for variant in ("well", "native") for size in (1, 10)]
    content = stored.run(cases)
    content["catalogue"]["variants"]["native"] = {**stored.VARIANT, "kind": "port"}
    lines = [stored.launch_line(0), stored.limits_line(0)]
    for launch in range(3):
        for size in (1, 10):
            both = [stored.case(variant, size=size) for variant in ("well", "native")]
            failed = [stored.failure(stored.case("broken", size=size))]
            lines.append(stored.group_line(launch, both, failed, 0.5 + 0.01 * launch))
    run = stored.write(folder / "run", content, lines)
    probes.write(run / probes.FILE, probe_files.document(probe_files.row("xla", "native", "fails", "no")))
    counted_copies.write(run / counted_copies.FILE, placement_files.document())
    made = copied_files.document(copied_files.row(1, 1e-4), copied_files.row(1_000, 2e-4))
    copy_costs.write(run / copy_costs.FILE, {**made, **copied_files.gpu_document(copied_files.GPU)})
    shutil.copytree(run, folder / "several" / "tf-2.21.0")
    versions.write(folder / "several", versions.named(folder / "several", ["2.21.0"]))
    (folder / "mix.csv").write_text("size,weight\n1,3\n10,1\n", encoding="utf-8")
    for path in FOREIGN:
        shutil.copy(path, folder)
    of_run = [
        ["report", "run", "--out", "out"],
        ["compare", "run", "run"],
        ["check", "run"],
        ["check", "--json", "run"],
    ]
    allowed = [["report", "run", "--allow-changed", "--json", "--out", "out"]]
    found = {f"run/{name}": [*of_run, *allowed] for name in (store.RUN_FILE, store.SAMPLES_FILE)}
    found |= {f"run/{name}": of_run for name in (counted_copies.FILE, copy_costs.FILE)}
    found[f"run/{probes.FILE}"] = [*of_run, ["probe", f"run/{probes.FILE}"], ["probe", "--json", f"run/{probes.FILE}"]]
    found[f"several/{versions.FILE}"] = [["compare", "several", "several"], ["check", "several"]]
    found["mix.csv"] = [["report", "run", "--mix", "mix.csv", "--out", "out"]]
    found |= {path.name: [["compare", path.name, path.name], ["report", path.name, "--out", "out"]] for path in FOREIGN}
    return found


def of_bytes(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    return rng.choice(
        [
            lambda: content[:place],
            lambda: content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :],
            lambda: content[:place] + rng.randbytes(rng.randrange(1, 9)) + content[place:],
            lambda: content[:place] + content[place + rng.randrange(1, 40) :],
            lambda: content + content,
            lambda: b"\xef\xbb\xbf" + content,
            lambda: content.decode().encode("utf-16"),
            lambda: b"",
            lambda: b"[" * 100_000,
        ]
    )()


def of_numbers(content: bytes, rng: random.Random) -> bytes:
    places = [match.span() for match in NUMBER.finditer(content)]
    start, end = rng.choice(places)
    return content[:start] + rng.choice(NUMBERS) + content[end:]


def of_structure(content: bytes, rng: random.Random) -> bytes:
    """Change a value, a key or an item of JSON; of samples in one line, with a checksum that fits it."""
    lines = content.splitlines() if content.count(b"\n{") > 2 else [content]
    number = rng.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except ValueError:
        return of_bytes(content, rng)
    path = rng.choice(list(stored.places_in(value)))
    new = json.loads(rng.choice(TEXTS)) if rng.random() < 0.7 else rng.choice([-5, 1e300, 2**62, True, None, 0.5])
    changed = _with_other_key(value, path, rng) if path and rng.random() < 0.3 else stored.put(value, path, new)
    if len(lines) == 1:
        return _sealed(changed)
    before = integrity.checksum_of(lines[number - 1]) or 0 if number else 0
    if isinstance(changed, dict):
        changed = {key: inner for key, inner in changed.items() if key != integrity.KEY}
    text = json.dumps(changed, separators=(",", ":")).encode()
    lines[number] = integrity.sealed_line(text, before) if text.endswith(b"}") and len(text) > 2 else text
    return b"\n".join(lines) + b"\n"


def _sealed(changed: Any) -> bytes:
    if isinstance(changed, dict) and integrity.KEY in changed:
        kept = {key: inner for key, inner in changed.items() if key != integrity.KEY}
        return integrity.sealed_run(json.dumps(kept, indent=1))
    return json.dumps(changed).encode()


def _with_other_key(value: Any, path: tuple[Any, ...], rng: random.Random) -> Any:
    """Return JSON without what is at a path, or with it under another key."""
    *above, last = path
    outer = value
    for step in above:
        outer = outer[step]
    changed = dict(outer) if isinstance(outer, dict) else list(outer)
    inner = changed.pop(last)
    if isinstance(changed, dict) and rng.random() < 0.5:
        changed[str(json.loads(rng.choice(TEXTS)))] = inner
    return stored.put(value, tuple(above), changed)


def of_kind(path: Path, rng: random.Random) -> None:
    """Put something else in place of a file."""
    path.unlink()
    rng.choice(
        [
            lambda: os.mkfifo(path),
            path.mkdir,
            lambda: path.symlink_to("/dev/zero"),
            lambda: path.symlink_to(path),
            lambda: path.symlink_to(path.with_name("missing")),
            lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC), 3 << 30),
            lambda: None,
        ]
    )()


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [of_bytes, of_numbers, of_structure, of_structure]


def mutate(path: Path, rng: random.Random) -> None:
    """Change a file in one way, or in several."""
    if rng.random() < 0.1:
        of_kind(path, rng)
        return
    content = path.read_bytes()
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        change = rng.choice(CHANGES)
        with contextlib.suppress(
            IndexError, ValueError, RecursionError
        ):  # an earlier change has left nothing for this one
            content = change(content, rng)
    path.write_bytes(content)


def call(words: list[str]) -> tuple[int, str]:
    """Return the exit code of a command and all that it prints."""
    sys.argv = ["pyopbench", *words]
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = end_of(_command())
    return code, told.getvalue()


@cache
def _command() -> Any:
    return command_of(app.app)


def snapshot(folder: Path) -> dict[str, object]:
    """Return what is in a folder, but for what commands are told to write."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.partition("/")[0] != "out":
            status = path.lstat()
            found[name] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def run(count: int, seed: int) -> Iterator[str]:
    """Make mutants; yield, for each command that does not end as documented, its seed and what it said."""

    def interrupt(number: int, frame: object) -> None:
        raise TimeoutError(f"not done after {SECONDS_EACH} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    here = Path.cwd()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            template = Path(scratch, "template")
            template.mkdir()
            commands = make(template)
            for number in range(seed, seed + count):
                yield from _try_one(Path(scratch, "mutant"), template, commands, number)
    finally:
        signal.signal(signal.SIGALRM, before)
        os.chdir(here)


def _try_one(folder: Path, template: Path, commands: dict[str, list[list[str]]], seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    shutil.copytree(template, folder)
    os.chdir(folder)
    name = rng.choice(sorted(commands))
    # A report takes ten times as long as anything else, most of it after all has been read.
    words = rng.choice([one for one in commands[name] for _ in range(1 if one[0] == "report" else WEIGHT)])
    mutate(folder / name, rng)
    was = snapshot(folder)
    signal.alarm(SECONDS_EACH)
    try:
        code, told = call(words)
    except Exception as error:  # noqa: BLE001 - what a command lets through is what is looked for
        code, told = -1, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    if code not in EXIT_CODES or UNEXPECTED in told or "TimeoutError" in told:
        yield f"seed {seed}: {name}: {' '.join(words)}: exit code {code}: {told[-600:]}"
    if snapshot(folder) != was:
        yield f"seed {seed}: {name}: {' '.join(words)} changed its input"
    os.chdir(folder.parent)
    shutil.rmtree(folder)


def main() -> int:
    count, seed = (int(word) for word in (*sys.argv[1:], *("2000", str(time.time_ns() % 10**9))[len(sys.argv) - 1 :]))
    start, wrong = time.process_time(), 0
    for problem in run(count, seed):
        wrong += 1
        sys.stdout.write(f"{problem}\n")
        sys.stdout.flush()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    seconds = time.process_time() - start
    said = f"{count:,} mutants from seed {seed}: {wrong:,} wrong; {seconds:.0f} s of CPU, at most {peak:.2f} GiB"
    sys.stdout.write(f"{said}\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
