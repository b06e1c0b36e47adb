"""Runs a program with its callbacks counted, and keeps what its processes wrote."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import msgspec

from pyopbench.find.usage import Part, Usage, merge
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path, write_atomically
from pyopbench.store.json_file import UNDECODABLE, encode_in_lines

VERSION = 1
"""Of the file; raised when a key changes its meaning or goes."""

VARIABLE = "PYOPBENCH_RECORD"
"""Names the folder that each process of the program writes to; `find/injected/recorder.py` reads it."""

PROGRAM = "PYOPBENCH_PROGRAM"
"""A variable with JSON that says what else to record; `find/injected/recorder.py` reads it."""

INJECTED = PACKAGE / "find" / "injected"

FORWARDED = (signal.SIGTERM, signal.SIGHUP)
"""What is sent to the recording process and meant for the program."""

SIGNAL_EXIT = 128
"""What shells add to the number of the signal that ended a program."""


def record(command: Sequence[str], file: Path) -> tuple[int, Usage]:
    """Run a program to its end and write what its callbacks cost.

    What was counted is kept too where the program fails or is ended by a signal.

    Args:
        command: the program and its arguments.
        file: where the recording goes; not there yet.

    Returns:
        The program's exit code, which for a signal is 128 plus its number; and what was counted.
    """
    parts = file.with_name(f"{file.name}.parts")
    for path in (file, parts):
        if os.path.lexists(path):
            raise BadInput("the file already exists", received=path, hint="choose another --out")
    start = time.perf_counter()
    try:
        with _forwarding() as forward_to:
            parts.mkdir(mode=0o700, parents=True)
            code = _run(command, parts, forward_to)
        usage = merge(read_parts(parts), time.perf_counter() - start)
        content = {
            "version": VERSION,
            "command": [os.fsencode(one).decode(errors="replace") for one in command],
            "exit_code": code,
            **asdict(usage),
        }
        write_atomically(file, encode_in_lines(content))
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    return code, usage


def read_parts(folder: Path) -> list[Part]:
    """Return what each process wrote; what the program left in the folder is reported as a trouble."""
    return [_read_part(path) for path in sorted(folder.glob("*.json"))]


def _read_part(path: Path) -> Part:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Part)
    except (OSError, *UNDECODABLE) as error:
        return Part(f"{path.name} does not belong to this recording: {error}")


def environment_of(parts: Path) -> dict[str, str]:
    """Return the environment of a program that is recorded."""
    paths = [str(INJECTED), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), VARIABLE: str(real_path(parts))}


def _run(command: Sequence[str], parts: Path, forward_to: Callable[[subprocess.Popen[bytes]], None]) -> int:
    try:
        with subprocess.Popen(command, env=environment_of(parts)) as process:
            forward_to(process)
            code = process.wait()
    except OSError as error:
        raise BadInput(
            f"cannot start the program: {error.strerror}",
            received=command[0],
            hint="for example `pyopbench record -- python train.py`",
        ) from error
    return code if code >= 0 else SIGNAL_EXIT - code


@contextmanager
def _forwarding() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Pass signals on to the program that the function is called with; it decides what becomes of an interrupt."""
    programs, early = list[subprocess.Popen[bytes]](), list[int]()

    def send(number: int) -> None:
        programs[0].send_signal(number) if programs else early.append(number)

    def forward_to(program: subprocess.Popen[bytes]) -> None:
        programs.append(program)
        for number in early:
            send(number)

    before = {one: signal.signal(one, lambda number, frame: send(number)) for one in FORWARDED}
    # A terminal sends an interrupt to the program too.
    is_typed = os.isatty(0)
    before[signal.SIGINT] = signal.signal(signal.SIGINT, lambda number, frame: None if is_typed else send(number))
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
