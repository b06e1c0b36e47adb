"""Commands over files that were tampered with, by seeds.

`python tests/helpers/mutants.py [COUNT] [SEED]` runs the commands that read what others may have made over COUNT
mutants and prints what went otherwise than documented, with the seed that makes it again. What they write goes into
folders that links to a file of the user's may have been laid in. Nothing is measured: no worker starts.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
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
from unittest.mock import patch

import probe_files
import stored
from mutant_files import KNOWN, NATIVE, OUT, TODAY, VICTIM, Commands, make
from mutations import mutate
from places import ROOT
from pyopbench.cli import app
from pyopbench.cli.errors import command_of, end_of
from pyopbench.core.errors import WorkerLost
from pyopbench.results import probes, store
from pyopbench.run import conduct, environments, probe, start, worker_process

SECONDS_EACH = 10
MOST_GIB = 1.0
WEIGHT = 12
FOUND = {"mix.csv": (b"[" * 200_000,)}
"""Contents of files that commands did not see through; they stay as tests."""
KEPT = ROOT / ".fuzz"
"""Where files are put that a command does not see through."""
EXIT_CODES = (0, 1, 2, 3)
UNEXPECTED = "failed where it should not"
WRITTEN = ("report.html", "report.md", "decisions.json", probes.FILE, "r.json", "told.md", "my_op.py", "new")
"""What commands write, in the folder that they are told to or in a run that is resumed."""
PROBED = "probes"
"""The folder of the user's own data that gets what was probed."""
RESUMED = (*WRITTEN, store.SAMPLES_FILE, "lock")


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


def snapshot(folder: Path, words: list[str]) -> dict[str, object]:
    """Return what is in a folder, but for what a command is told to write."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        top, _, inner = name.partition("/")
        told = words[0] == "resume" and inner.rpartition("/")[2] in RESUMED
        if top != OUT and not told and path.parent.name != PROBED:
            status = path.lstat()
            changed = None if path.is_dir() else (status.st_size, status.st_mtime_ns, status.st_ino)
            found[name] = (status.st_mode, changed)
    return found


def lay_links(folder: Path) -> None:
    """Lay links to a file of the user's under the names that commands write, and under those that could be foreseen."""
    folder.mkdir(exist_ok=True)
    for name in WRITTEN:
        for one in (name, f".{name}.{os.getpid()}", f"{name}.new", f"{name}.parts"):
            with contextlib.suppress(FileExistsError):
                (folder / one).symlink_to(Path(VICTIM).absolute())


@contextlib.contextmanager
def nothing_starts(data: Path) -> Iterator[None]:
    """Let `run` and `resume` come as far as workers, of which none starts; nothing is compiled or installed.

    Args:
        data: the folder of the user's own data.
    """
    plan = stored.run([stored.case(variant) for variant in (TODAY, NATIVE)], environment=KNOWN)

    def install(*_: object) -> None:
        raise AssertionError("something is installed")

    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, {"XDG_DATA_HOME": str(data), "COLUMNS": "120"}))
        found = probe_files.document(probe_files.row("xla", TODAY, "fails"))
        for module, name, instead in (
            (conduct, "measure_together", _lost),
            (probe, "try_all", lambda *_: found),
            (start, "ask_for_plan", lambda *_, **__: plan),
            (start, "_commit", lambda: {"commit": None, "dirty": None}),
            (environments, "_make", install),
            (environments, "_is_whole", lambda folder: False),
            (worker_process, "COMMAND", ("no program of this name",)),
        ):
            stack.enter_context(patch.object(module, name, instead))
        yield


def _lost(*_: object) -> None:
    raise WorkerLost("no worker starts here")


@contextlib.contextmanager
def fuzzing() -> Iterator[Callable[[random.Random], list[str]]]:
    """Give what makes a mutant, runs a command over it, and returns what did not go as documented."""

    def interrupt(number: int, frame: object) -> None:
        raise TimeoutError(f"not done after {SECONDS_EACH} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        template, folder = Path(scratch, "template"), Path(scratch, "mutant")
        template.mkdir()
        try:
            with nothing_starts(folder / "data"):
                commands = make(template)
                yield lambda rng: _try_one(folder, template, commands, rng)
        finally:
            signal.signal(signal.SIGALRM, before)
            os.chdir(here)


def run(count: int, seed: int) -> Iterator[str]:
    """Make mutants; yield, for each command that does not end as documented, its seed and what it said."""
    with fuzzing() as attempt:
        for number in range(seed, seed + count):
            for problem in attempt(random.Random(number)):
                yield f"seed {number}: {problem}"


def replay(name: str, content: bytes) -> Iterator[str]:
    """Run all commands that read a file over a content of it; yield what did not end as documented."""
    with fuzzing(), tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "mutant")
        for words in make_once(folder)[name]:
            (folder / name).write_bytes(content)
            yield from _end(folder, name, words)


def make_once(folder: Path) -> Commands:
    """Write one of every kind of file into a new folder, go there, and return the commands that read them."""
    folder.mkdir()
    os.chdir(folder)
    return make(folder)


def _try_one(folder: Path, template: Path, commands: Commands, rng: random.Random) -> list[str]:
    shutil.copytree(template, folder)
    os.chdir(folder)
    try:
        name = rng.choice(sorted(commands))
        words = rng.choice([one for one in commands[name] for _ in range(_weight(one))])
        mutate(folder / name, rng)
        if rng.random() < 0.2:
            lay_links(folder / (words[1] if words[0] == "resume" else OUT))
        elif words[0] in ("scan", "compare"):
            Path(OUT).mkdir()
        found = list(_end(folder, name, words))
        if found:
            _keep(folder / name)
        return found
    finally:
        os.chdir(folder.parent)
        shutil.rmtree(folder)


def _weight(words: list[str]) -> int:
    """Return how often a command is tried: a report takes ten times as long as others, most of it after the reading."""
    return 1 if words[0] == "report" or words[:2] == ["resume", "begun"] else WEIGHT


def _end(folder: Path, name: str, words: list[str]) -> Iterator[str]:
    was = snapshot(folder, words)
    signal.alarm(SECONDS_EACH)
    try:
        code, told = call(words)
    except Exception as error:  # noqa: BLE001 - what a command lets through is what is looked for
        code, told = -1, f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    if code not in EXIT_CODES or UNEXPECTED in told or "TimeoutError" in told:
        yield f"{name}: {' '.join(words)}: exit code {code}: {told[-600:]}"
    if snapshot(folder, words) != was:
        yield f"{name}: {' '.join(words)} changed its input"


def _keep(path: Path) -> None:
    """Put a file where it is found again, if it is one."""
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 24:
        KEPT.mkdir(exist_ok=True)
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        (KEPT / f"{path.parent.name}-{path.stem}-{digest}{path.suffix}").write_bytes(content)


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
    return int(wrong > 0 or peak > MOST_GIB)


if __name__ == "__main__":
    sys.exit(main())
