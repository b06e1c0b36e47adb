"""Gates over two revisions, run one after another, for `gate.py`.

Each gate has a folder of its own, and a row in a summary. One that is interrupted is resumed the next time, one that
has a row is not measured again, so that hours of measuring can be had in portions, and on several machines.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import special

from pyopbench.model.write_file import write_atomically
from pyopbench.report.gate import DOCUMENT
from pyopbench.store.run import is_run

ENDED = (0, 1, 3)
"""Exit codes of a gate that has something to say: passed, failed, nothing to compare."""
TOLD_APART = ("slower", "faster")
OUTCOMES = (*TOLD_APART, "equivalent", "unresolved")
SECONDS = "seconds.json"
"""Seconds of each process that worked at a gate, beside it: one that was interrupted took several."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Trial:
    """A gate to run.

    Attributes:
        folder: its own.
        repository: in which the command is given.
        ops: words that name ops; files or names.
        revisions: two.
        options: more words of `pyopbench run`.
        fail_on: what the gate fails on.
    """

    folder: Path
    repository: Path
    ops: tuple[str, ...]
    revisions: tuple[str, str]
    options: tuple[str, ...]
    fail_on: str = "slower:5%"

    @property
    def command(self) -> tuple[str, ...]:
        """The command line that begins it, without where results go."""
        asked = [word for revision in self.revisions for word in ("--rev", revision)]
        return ("pyopbench", "run", *self.ops, *asked, "--fail-on", self.fail_on, *self.options)

    @property
    def is_done(self) -> bool:
        """Whether there is an answer."""
        return (self.folder / DOCUMENT).exists()

    def _words(self) -> tuple[str, ...]:
        """Return what begins it, or what goes on with what is there."""
        if is_run(self.folder):
            files = [word for word in self.ops if ".py" in word]
            return ("pyopbench", "resume", str(self.folder), *files, "--yes", "--fail-on", self.fail_on)
        if self.folder.exists():
            shutil.rmtree(self.folder)  # killed while it was planned
        return (*self.command, "--out", str(self.folder))

    def answer(self) -> Mapping[str, Any]:
        """Return what the gate says, measured first where it is not there, and the `seconds` that took.

        Raises:
            SystemExit: the command failed.
        """
        if not self.is_done:
            start = time.monotonic()
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", *self._words()]
            code = exit_code_of(command, self.repository)
            if self.folder.exists():
                spent = [*self._spent(), time.monotonic() - start]
                write_atomically(self.folder / SECONDS, json.dumps(spent).encode())
            if code not in ENDED:
                sys.exit(f"exit code {code} of {' '.join(command)}; the same command as before goes on from here")
        document: dict[str, Any] = json.loads((self.folder / DOCUMENT).read_text(encoding="utf-8"))
        return {**document, "seconds": sum(self._spent())}

    def _spent(self) -> list[float]:
        path = self.folder / SECONDS
        return [float(one) for one in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def exit_code_of(command: Sequence[str], folder: Path) -> int:
    """Return the exit code of a command; Ctrl-C reaches it as well, and it is given the time to end by itself."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        with suppress(KeyboardInterrupt):
            return process.wait()
        return process.wait()


def in_portions(trials: Sequence[Trial], most_seconds: float | None) -> Iterator[tuple[Trial, Mapping[str, Any]]]:
    """Yield trials with what came of each, those too that were done before.

    One is begun if it would end within so many seconds, provided that it takes no longer than the longest before it;
    the first is, if there is any time.
    """
    start, longest = time.monotonic(), 0.0
    for trial in trials:
        began = time.monotonic()
        if not trial.is_done and most_seconds is not None and began - start + longest >= most_seconds:
            continue
        was_done = trial.is_done
        yield trial, trial.answer()
        if not was_done:
            longest = max(longest, time.monotonic() - began)


def rows_of(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of every comparison of a gate but the control."""
    return [row for found in answer["comparisons"].values() for row in found["cases"]]


def told_apart(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows that were found to be slower or faster."""
    return [row for row in rows if row["outcome"] in TOLD_APART]


def at_least(count: int, of: int) -> float:
    """Return what a share is at least, with 95% confidence (Clopper and Pearson, Biometrika 26 (1934) 404-413)."""
    return 0.0 if count == 0 else float(special.betaincinv(count, of - count + 1, 1 - CONFIDENCE))


def at_most(count: int, of: int) -> float:
    """Return what a share is at most, with 95% confidence; as `at_least`."""
    return 1.0 if count >= of else float(special.betaincinv(count + 1, of - count, CONFIDENCE))


def still_to_run(trials: Sequence[Trial], rows: Sequence[Mapping[str, Any]]) -> list[Trial]:
    """Return the trials of which no row was kept."""
    kept = {row["run"] for row in rows}
    return [trial for trial in trials if trial.folder.name not in kept]


def keep(path: Path, summary: Mapping[str, Any]) -> None:
    """Write a summary, with the command that made it."""
    document = {"command": " ".join(["python", *sys.argv]), "python": sys.version.split()[0], **summary}
    write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())
