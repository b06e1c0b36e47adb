"""Commands over files that were tampered with, by seeds.

`python tests/helpers/mutants.py [COUNT] [SEED]` runs the commands that read what others may have made over COUNT
mutants, and prints what went otherwise than documented, with the seed that makes it again, and how often each command
ended with which exit code. What they write goes into folders that links to a file of the user's may have been laid in.
Nothing is measured: no worker starts.

A fault is told by values: an exit code that is none of `EXIT_CODES` (a bug of pyopbench has one of its own), an
exception, the alarm of a command that does not end, the memory that it takes, and what is in its folders before and
after.
"""

from __future__ import annotations

import contextlib
import faulthandler
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
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import probe_files
import pyopbench
import stored
from mutant_files import DATA, KNOWN, NATIVE, OUT, PYTHON, TODAY, VICTIM, Commands, make, mutate
from places import ROOT
from pyopbench.__main__ import EXIT_INTERRUPTED
from pyopbench.cli import app
from pyopbench.cli.errors import command_of, end_of
from pyopbench.engine import environments, git, measure, probe, worker_process
from pyopbench.engine import plan as planning
from pyopbench.model.errors import InternalError, PyopbenchError, WorkerLost
from pyopbench.store import copy_costs, counted_copies, probes, run_folder

SECONDS_EACH = 30.0
"""For a command; the slowest takes one."""
SECONDS_IN_C = 300.0
"""After so long what no signal interrupts ends the process, with its traceback and the mutant left in its folder."""
MOST_BYTES = 1 << 30
"""That a command may take; what all of them import comes to a fifth of it."""
LIGHT, BESIDE = 12, 6
"""How often a command that only reads is tried, and one that judges a file beside a run, for once of others."""
BESIDE_A_RUN = [f"run/{one.FILE}" for one in (copy_costs, counted_copies, probes)]
FOUND = {"mix.csv": (b"[" * 200_000,)}
"""Contents of files that commands did not see through; they stay as tests."""
KEPT = ROOT / ".fuzz"
"""Where files are put that a command does not see through."""
EXIT_CODES = (0, 1, 2, 3)
REPORTS = ("report.html", "report.md", "decisions.json", "comment.md", "gate.json", "junit.xml")
HISTORY = ("history.html", "history.md", "history.json")
OTHERS = ("compare-2.20.0-2.21.0.md", probes.FILE, "r.json", "told.md", "told.xml", "my_op.py", "new")
WRITTEN = (*REPORTS, *HISTORY, *OTHERS)
"""What commands write, in the folder that they are told to or in a run that is reported or resumed."""
PROBED = "probes/"
"""The folder of the user's own data that gets what was probed."""
RESUMED = (run_folder.SAMPLES_FILE, "lock")
HEAVY = ("report", "history", PYTHON)
"""Commands that judge, which takes ten times as long as reading does."""


class NotDone(BaseException):
    """A command does not end: no `Exception`, and no `OSError` as `TimeoutError` is, so that no command answers it."""


def call(words: list[str]) -> tuple[int, str]:
    """Return the exit code of a command, or of what Python calls, and all that it prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        if words[0] == PYTHON:
            return _call_python(words[1:]), said.getvalue()
        sys.argv = ["pyopbench", *words]
        return end_of(cli()), said.getvalue()


def _call_python(words: list[str]) -> int:
    """Call a function of the package; of its errors only those that it documents have an exit code."""
    try:
        found = API[words[0]](*words[1:])
        for frame in FRAMES:
            getattr(found, frame, None)
        repr(found)
    except PyopbenchError as error:
        return error.exit_code
    return 0


API: dict[str, Callable[..., Any]] = {"compare": pyopbench.compare, "read": pyopbench.read}
"""Functions for Python."""
FRAMES = ("decisions", "verdicts", "latencies", "failures", "changes", "values", "control")
"""What a result makes when it is asked for it."""


@cache
def cli() -> Any:
    return command_of(app.make_app())


@contextlib.contextmanager
def nothing_starts(data: Path, locks: Path) -> Iterator[None]:
    """Let `run` and `resume` come as far as workers, of which none starts; nothing is compiled or installed.

    Args:
        data: the folder of the user's own data.
        locks: a folder for the locks of those who measure: nobody has to wait for what measures nothing.
    """
    plan = stored.run([stored.case(variant) for variant in (TODAY, NATIVE)], environment=KNOWN)

    def install(*_: object) -> None:
        raise AssertionError("something is installed")

    with contextlib.ExitStack() as stack:
        own = {"XDG_DATA_HOME": str(data), "PYOPBENCH_LOCK_FOLDER": str(locks), "COLUMNS": "120"}
        stack.enter_context(patch.dict(os.environ, own))
        found = probe_files.document(probe_files.row("xla", TODAY, "fails"))
        for module, name, instead in (
            (measure, "measure_runs", _lost),
            (probe, "try_all", lambda *_: found),
            (planning, "ask_for_plan", lambda *_, **__: plan),
            (git, "commit_of_package", lambda: {"commit": None, "dirty": None}),
            (environments, "_make", install),
            (environments, "_is_whole", lambda folder: False),
            (worker_process, "COMMAND", ("no program of this name",)),
        ):
            stack.enter_context(patch.object(module, name, instead))
        yield


def _lost(*_: object) -> None:
    raise WorkerLost("no worker starts here")


class Fuzzer:
    """Makes mutants and runs commands over them.

    Attributes:
        commands: name of a file -> the command lines that read it.
        ends: how often a command over a kind of file ended with an exit code.
    """

    def __init__(self, scratch: Path) -> None:
        self._template, self.folder = scratch / "template", scratch / "mutant"
        self._template.mkdir()
        self.commands: Commands = make(self._template)
        self._ways = [(name, words) for name in sorted(self.commands) for words in self.commands[name]]
        self._weights = [_weight(name, words) for name, words in self._ways]
        self.ends: Counter[tuple[str, str, int | str]] = Counter()

    def attempt(self, rng: random.Random) -> list[str]:
        """Tamper with a file, run a command over it, and return what did not go as documented."""
        ((name, words),) = rng.choices(self._ways, self._weights)
        return self.run(name, words, lambda path: mutate(path, rng), with_links=rng.random() < 0.05)

    def run(
        self, name: str, words: list[str], change: Callable[[Path], object], *, with_links: bool = False
    ) -> list[str]:
        """Run a command over a changed file, and return what did not go as documented.

        Args:
            name: of the file.
            words: of the command line.
            change: is called with the path of the file.
            with_links: lay links to a file of the user's where the command writes.
        """
        self._lay(name, words)
        os.chdir(self.folder)
        try:
            change(self.folder / name)
            target = self.folder / _target(words)
            if with_links:
                _lay_links(target)
            elif words[0] in ("scan", "compare"):
                target.mkdir(exist_ok=True)
            found = [f"{name}: {' '.join(words)}: {one}" for one in self._end(name, words)]
            if found:
                _keep(self.folder / name)
            return found
        finally:
            os.chdir(self._template.parent)
            shutil.rmtree(self.folder)

    def _lay(self, name: str, words: list[str]) -> None:
        """Copy what a command reads."""
        needed = {VICTIM, *(word.partition(":")[0].partition("/")[0] for word in (name, *words))}
        needed |= {DATA} if words[0] in ("run", "resume") else set()
        self.folder.mkdir()
        for entry in os.scandir(self._template):
            if entry.name in needed:
                copy = shutil.copytree if entry.is_dir() else shutil.copy2
                copy(entry.path, self.folder / entry.name)

    def _end(self, name: str, words: list[str]) -> Iterator[str]:
        was = snapshot(self.folder, words)
        code: int | str
        said = ""
        with _bounds() as bounds:
            try:
                code, said = call(words)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - what a command lets through is what is looked for
                code, said = type(error).__name__, str(error)
        if code == EXIT_INTERRUPTED:  # by Ctrl-C, which commands answer: it is meant for the fuzzer
            raise KeyboardInterrupt
        self.ends[Path(name).parts[0], words[0], code] += 1
        if code == InternalError.exit_code or code not in EXIT_CODES:
            yield f"ends with {code}: {said[-600:]}"
        if bounds.is_late:
            yield f"not done after {SECONDS_EACH:g} s"
        if bounds.bytes_taken > MOST_BYTES:
            yield f"takes {bounds.bytes_taken:,} bytes"
        now = snapshot(self.folder, words)
        if now != was:
            changed = sorted(one for one in {*was, *now} if was.get(one) != now.get(one))
            yield f"changes {', '.join(changed)}"


class _Bounds:
    """What a command may take, and what it took.

    Attributes:
        is_late: did the alarm go off? It is asked here, whatever became of the exception.
        bytes_taken: the most memory that it held, beyond what was there before.
    """

    is_late = False
    bytes_taken = 0

    def interrupt(self, *_: object) -> None:
        """End the command; the alarm goes off again and again, for a command that goes on."""
        self.is_late = True
        raise NotDone


@contextlib.contextmanager
def _bounds() -> Iterator[_Bounds]:
    """Bound the time and the memory of what is run inside.

    Memory that is asked for is bounded, touched or not: Python raises `MemoryError`. Only what can be written counts,
    because V8, which draws charts, reserves addresses by the gigabyte. What is touched counts by its peak, as well.
    """
    bounds = _Bounds()
    before = signal.signal(signal.SIGALRM, bounds.interrupt)
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    Path("/proc/self/clear_refs").write_bytes(b"5")  # the peak counts from here on: proc_pid_clear_refs(5)
    held, writable = _memory("VmRSS"), _memory("VmData")
    resource.setrlimit(resource.RLIMIT_DATA, (writable + 3 * MOST_BYTES // 2, limits[1]))
    faulthandler.dump_traceback_later(SECONDS_IN_C, exit=True, file=sys.__stderr__)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_EACH, 1.0)
    try:
        yield bounds
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        faulthandler.cancel_dump_traceback_later()
        resource.setrlimit(resource.RLIMIT_DATA, limits)
        signal.signal(signal.SIGALRM, before)
        bounds.bytes_taken = _memory("VmHWM") - held


def _memory(name: str) -> int:
    """Return bytes of this process, by the name that /proc has for them."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    raise KeyError(name)


def _target(words: list[str]) -> str:
    """Return the folder that a command writes into: that of `--out`, or the one that is resumed or reported."""
    if "--out" in words:
        return Path(words[words.index("--out") + 1]).parts[0]
    return words[1] if words[0] in ("resume", "report") else OUT


def snapshot(folder: Path, words: list[str]) -> dict[str, object]:
    """Return what is in a folder, but for what a command is told to write."""
    found: dict[str, object] = {}
    target, folders = _target(words), [""]
    told = (*WRITTEN, *RESUMED) if words[0] == "resume" else WRITTEN
    while folders:
        above = folders.pop()
        for entry in os.scandir(folder / above):
            name, status = f"{above}{entry.name}", entry.stat(follow_symlinks=False)
            top = name.partition("/")[0]
            if top == OUT or above.endswith(PROBED) or (top == target and entry.name in told):
                continue
            if is_folder := entry.is_dir(follow_symlinks=False):
                folders.append(f"{name}/")
            if name != target:  # which a command may make
                found[name] = (status.st_mode, is_folder or (status.st_size, status.st_mtime_ns, status.st_ino))
    return found


def _lay_links(folder: Path) -> None:
    """Lay links to a file of the user's under the names that commands write, and under those that could be foreseen."""
    folder.mkdir(exist_ok=True)
    for name in WRITTEN:
        for one in (name, f".{name}.{os.getpid()}", f"{name}.new", f"{name}.parts"):
            with contextlib.suppress(FileExistsError):
                (folder / one).symlink_to(Path(VICTIM).absolute())


@contextlib.contextmanager
def fuzzing() -> Iterator[Fuzzer]:
    """Give what makes mutants, in a folder of its own."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            locks = Path(scratch, "locks")
            locks.mkdir()
            with nothing_starts(Path(scratch, "mutant", DATA), locks):
                yield Fuzzer(Path(scratch))
        finally:
            os.chdir(here)


def run(count: int, seed: int, ends: Counter[tuple[str, str, int | str]] | None = None) -> Iterator[str]:
    """Make mutants; yield, for each command that does not end as documented, its seed and what it said.

    Args:
        count: of mutants.
        seed: of the first; each further one has the next.
        ends: gets how often a command over a kind of file ended with an exit code.
    """
    with fuzzing() as fuzzer:
        fuzzer.ends = fuzzer.ends if ends is None else ends
        for number in range(seed, seed + count):
            for problem in fuzzer.attempt(random.Random(number)):
                yield f"seed {number}: {problem}"


def replay(name: str, content: bytes) -> Iterator[str]:
    """Run all commands that read a file over a content of it; yield what did not end as documented."""
    with fuzzing() as fuzzer:
        for words in fuzzer.commands[name]:
            yield from fuzzer.run(name, words, lambda path: path.write_bytes(content))


def _weight(name: str, words: list[str]) -> int:
    """Return how often a command is tried: one that judges takes longer than others, most of it after the reading.

    A file beside a run is read by nothing else, and little in it is refused before it is judged.
    """
    is_heavy = words[0] in HEAVY or words[:2] in (["resume", "begun"], ["resume", "several"])
    return LIGHT if not is_heavy else BESIDE if name in BESIDE_A_RUN else 1


def _keep(path: Path) -> None:
    """Put a file where it is found again, if it is one."""
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 24:
        KEPT.mkdir(exist_ok=True)
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:12]
        (KEPT / f"{path.parent.name}-{path.stem}-{digest}{path.suffix}").write_bytes(content)


def table(ends: Counter[tuple[str, str, int | str]]) -> Iterator[str]:
    """Yield a line for each command over a kind of file: how often it was tried, and how it ended."""
    for kind, command in sorted({key[:2] for key in ends}):
        codes = {code: many for (*key, code), many in ends.items() if key == [kind, command]}
        each = ", ".join(f"{code}: {many:,}" for code, many in sorted(codes.items(), key=str))
        yield f"{kind:28} {command:10} {sum(codes.values()):6,}   {each}"


def main() -> int:
    count, seed = (int(word) for word in (*sys.argv[1:], *("2000", str(time.time_ns() % 10**9))[len(sys.argv) - 1 :]))
    planning, wrong = time.process_time(), 0
    ends: Counter[tuple[str, str, int | str]] = Counter()
    is_interrupted = False
    try:
        for problem in run(count, seed, ends):
            wrong += 1
            sys.stdout.write(f"{problem}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        is_interrupted = True
    seconds = time.process_time() - planning
    said = f"{sum(ends.values()):,} mutants from seed {seed}: {wrong:,} wrong; {seconds:.0f} s of CPU"
    sys.stdout.write("\n".join((*table(ends), said)) + "\n")
    return EXIT_INTERRUPTED if is_interrupted else int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
