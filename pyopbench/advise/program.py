"""A user's program: it runs in copies of its folder, so its files are not touched, and is observed from inside."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from pyopbench.find.record import PROGRAM, environment_of
from pyopbench.find.scan import NOT_SOURCES
from pyopbench.model.child_process import die_with_parent, end_group
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path

LEFT_OUT = frozenset({".git", ".hg", ".svn", ".venv", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache"})
"""Folders that programs do not need."""

COPIED_BYTES, LARGE = 16 * 1024**2, "large"
"""Larger files are copied once, into the folder `LARGE` next to the copies, which have links to them."""

MOST_FILES = 20_000
SEED = 0
"""Before a program starts, Python, NumPy and TensorFlow are seeded with this, in every run."""

MOST_OUTPUT_BYTES = 16 * 1024**2
KEEP_BYTES = 128 * 1024**2
LAST_LINES = 12
"""How many lines of a failed program's stderr are shown."""


@dataclass(frozen=True)
class Program:
    """A command and the folder that is copied for it.

    Attributes:
        command: the program and its arguments.
        root: the folder that is copied: the git repository of the working folder, or that folder itself.
        folder: the working folder.
        left_out: folders in it that are not copied.
    """

    command: tuple[str, ...]
    root: Path
    folder: Path
    left_out: tuple[Path, ...] = ()

    @classmethod
    def here(cls, command: Sequence[str], folder: Path, left_out: Sequence[Path] = ()) -> Program:
        """Return the program of a command that was typed in a folder.

        Raises:
            BadInput: there is no command, or it names a file that is not in the folder.
        """
        if not command:
            raise BadInput(
                "no program to run",
                received="nothing after --",
                hint="for example `pyopbench advise -- python train.py --epochs 1`",
            )
        folder = real_path(folder)
        root = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)
        script = command[1] if len(command) > 1 and command[1].endswith(".py") and _is_python(command[0]) else None
        path = real_path(folder / (script or ""))
        if not path.exists() or not path.is_relative_to(root):
            raise BadInput(
                f"there is no such program in {root}, the folder that would be copied",
                received=script,
                hint="cd to the folder in which you usually run it",
            )
        first = os.path.abspath(folder / command[0]) if os.sep in command[0] else command[0]  # .venv is not copied
        return cls((first, *command[1:]), root, folder, tuple(real_path(one) for one in left_out))

    def copy_to(self, target: Path) -> None:
        """Copy the folder; large files once for all copies. Raises `BadInput` if there are too many files."""
        number = 0
        for name, folders, files in os.walk(self.root):
            here = Path(name)
            place = target / here.relative_to(self.root)
            place.mkdir(parents=True, exist_ok=True)
            folders[:] = [one for one in folders if self._is_copied(here / one)]
            for one in (*folders, *files):
                path, number = here / one, number + 1
                if number > MOST_FILES:
                    raise BadInput(
                        "the folder of the program has too many files to copy",
                        received=f"{self.root}, more than {MOST_FILES:,}",
                        hint="run it in a folder that contains only the sources and data of the program",
                    )
                is_file = path.is_file()  # no socket, and no link that leads nowhere
                if path.is_symlink() and path.exists():
                    led = real_path(path)
                    is_here = led.is_relative_to(self.root) and self._is_copied(led)
                    (place / one).symlink_to(target / led.relative_to(self.root) if is_here else led)
                elif is_file and path.stat().st_size > COPIED_BYTES:
                    shared = target.parent / LARGE / path.relative_to(self.root)
                    if not shared.exists() or shared.stat().st_mtime_ns != path.stat().st_mtime_ns:  # a run wrote to it
                        shared.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copy2(path, shared)
                    (place / one).symlink_to(shared)
                elif is_file:
                    shutil.copy2(path, place / one)

    def _is_copied(self, path: Path) -> bool:
        """Is a path in the root copied, as far as the folders that it is in decide?"""
        if path == self.root:
            return True
        is_known = any((path / name).exists() for name in NOT_SOURCES)
        is_left_out = path.name in LEFT_OUT or path in self.left_out or is_known
        return not is_left_out and self._is_copied(path.parent)

    def original(self, file: str, copy: Path) -> str:
        """Return the path of a file in a copy, relative to its root; empty if it is not in it, or is not a source.

        Neither is one that a link leads to: a patch does not change what is behind a link.
        """
        path = Path(os.path.normpath(copy / self.folder.relative_to(self.root) / file))
        if not path.is_relative_to(copy):
            return ""
        inside = path.relative_to(copy)
        is_mine = (self.root / inside).is_file() and real_path(self.root / inside) == real_path(self.root) / inside
        return inside.as_posix() if is_mine else ""

    def path_in(self, copy: Path, word: str) -> str:
        """Return an absolute path in the user's folder, perhaps after `--option=`, as the path in a copy."""
        option, sign, value = word.partition("=")
        if option.startswith("-") and sign:
            return f"{option}={self.path_in(copy, value)}"
        path = Path(word)
        is_inside = path.is_absolute() and path.is_relative_to(self.root)
        inside = path.relative_to(self.root) if is_inside else path
        # An interpreter in a virtual environment is not copied.
        is_copied = os.path.lexists(copy / inside) or not os.path.lexists(path)  # a new file is new in the copy
        return str(copy / inside) if is_inside and is_copied else word


def _is_python(command: str) -> bool:
    return re.fullmatch(r"(python|pypy)[\d.]*", Path(command).name) is not None


@dataclass(frozen=True)
class Asked:
    """The settings of a run.

    Attributes:
        counts: are callbacks counted?
        steps, seconds: after so many elements of its input, or seconds, it is ended; None to let it end.
        timeout_seconds: after which it counts as hanging.
        keeps: are real inputs and sources of callbacks kept?
        flights: is the time that calls take in graphs measured, with ops around them?
        shift: is added to all seeds, including those that the program sets.
    """

    counts: bool
    steps: int | None = None
    seconds: float | None = None
    timeout_seconds: float = 600.0
    keeps: bool = False
    flights: bool = False
    shift: int = 0


class Watched(Struct):
    """What a process of the program did; `find/injected/watch.py` writes it."""

    samples: list[tuple[float, float]]
    losses: list[dict[str, float]]
    weights: list[list[float]]
    ended: str


@dataclass
class Run:
    """A run of the program.

    Attributes:
        code: its exit code, below zero for a signal.
        seconds: from its start to its end.
        lines: what it printed.
        errors: the last lines that it wrote to stderr.
        samples: seconds since its start and elements taken by then, ascending.
        losses: by name, as Keras reported them after its first batches and after each epoch.
        weights: mean and root mean square of each variable that is trained.
        ended: `steps` or `seconds` where it was ended, `timeout` if it counted as hanging.
    """

    code: int
    seconds: float
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    samples: list[tuple[float, float]] = field(default_factory=list)
    losses: list[dict[str, float]] = field(default_factory=list)
    weights: list[list[float]] = field(default_factory=list)
    ended: str = ""

    @property
    def elements(self) -> float:
        """How many elements it took from its iterators."""
        return self.samples[-1][1] if self.samples else 0


def run_program(program: Program, copy: Path, parts: Path, asked: Asked) -> Run:
    """Run a program in a copy of its folder until it ends or is ended; raises `BadInput` if it cannot be started.

    `parts` is a new folder for what its processes write about themselves.
    """
    parts.mkdir(parents=True)
    wanted: dict[str, Any] = {
        "counts": asked.counts,
        "keep_bytes": KEEP_BYTES if asked.keeps else 0,
        "flights": asked.flights,
        "package": str(PACKAGE.parent),
        "steps": asked.steps,
        "seconds": asked.seconds,
        "seed": SEED + asked.shift,
        "shift": asked.shift,
    }
    environment = {
        "PYTHONHASHSEED": str(SEED),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        **environment_of(parts),
        "NUMBA_CACHE_DIR": str(copy.with_name("compiled")),  # each run has a new copy, and compiles nothing again
        PROGRAM: json.dumps(wanted),
    }
    paths = environment["PYTHONPATH"].split(os.pathsep)
    environment["PYTHONPATH"] = os.pathsep.join(program.path_in(copy, one) for one in paths)
    output, errors = parts / "stdout", parts / "stderr"
    where = copy / program.folder.relative_to(program.root)
    words = [program.path_in(copy, word) for word in program.command]
    start = time.perf_counter()
    with output.open("xb") as out, errors.open("xb") as err:
        code, ended = _wait(words, where, environment, (out, err), asked.timeout_seconds)
    seconds = time.perf_counter() - start
    run = Run(code, seconds, _lines(output), _lines(errors)[-LAST_LINES:], ended=ended)
    for path in sorted(parts.glob("*.watch")):
        # By the standard library, because a loss may be NaN.
        watched = msgspec.convert(json.loads(path.read_bytes()), Watched)
        if not run.samples or (watched.samples and watched.samples[-1][1] > run.elements):
            run.samples, run.losses, run.weights = watched.samples, watched.losses, watched.weights
            run.ended = run.ended or watched.ended
    return run


def _wait(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[IO[bytes], IO[bytes]],
    timeout: float,
) -> tuple[int, str]:
    """Run a command until it ends or takes too long, with its output in files; return how it ended.

    Files, because a process that it leaves behind would hold a pipe open.
    """
    try:
        process = subprocess.Popen(
            words,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it calls one function of the C library
        )
    except OSError as error:
        hint = "for example `pyopbench advise -- python train.py`"
        raise BadInput("cannot start the program", received=f"{words[0]}: {error.strerror}", hint=hint) from error
    ended = ""
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        ended = "timeout"
    finally:
        end_group(process.pid)
        process.wait()
    return process.returncode, ended


def _lines(path: Path) -> list[str]:
    with path.open("rb") as stream:
        stream.seek(max(path.stat().st_size - MOST_OUTPUT_BYTES, 0))
        return stream.read().decode(errors="replace").split("\n")
