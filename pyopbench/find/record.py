"""Runs a program with its callbacks counted, keeps what its processes wrote, and reads what a recording says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from pyopbench.find.usage import (
    NAMES,
    Cost,
    CountedSite,
    Part,
    Shape,
    SiteUsage,
    Step,
    Usage,
    merge,
    mix_file,
    propose_sizes,
)
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.paths import real_path
from pyopbench.model.write_file import write_atomically
from pyopbench.store.json_file import UNDECODABLE, encode_in_lines, problem
from pyopbench.store.run_json import NotNegative

VERSION = 1
"""Of the file; raised when a key changes its meaning or goes."""

VARIABLE = "PYOPBENCH_RECORD"
"""Names the folder that each process of the program writes to; `find/injected/recorder.py` reads it."""

PROGRAM = "PYOPBENCH_PROGRAM"
"""A variable with JSON that says what else to record, such as each call; `find/injected/recorder.py` reads it."""

INJECTED = PACKAGE / "find" / "injected"

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT)
"""What is sent to the recording process and meant for the program."""

SIGNAL_EXIT = 128
"""What shells add to the number of the signal that ended a program."""


def record(command: Sequence[str], file: Path, trace: Path | None = None) -> tuple[int, Usage]:
    """Run a program to its end and write what its callbacks cost.

    The program has the terminal, the arguments and the environment that it would have, but for PYTHONPATH and a
    variable that says where to write. What it wrote is kept too where it fails or is ended by a signal.

    Args:
        command: the program and its arguments.
        file: where the recording goes; not there yet.
        trace: where a trace of each call goes, for Perfetto; None to keep none.

    Returns:
        The program's exit code, 128 and its number for a signal; and what was counted.

    Raises:
        BadInput: the program cannot be started, or the file already exists or cannot be made.
    """
    parts = file.with_name(f"{file.name}.parts")
    for path, option in ((file, "--out"), (parts, "--out"), *(() if trace is None else ((trace, "--trace"),))):
        if os.path.lexists(path):
            raise BadInput("the file already exists", received=path, hint=f"choose another {option}")
    if trace is not None and real_path(trace) == real_path(file):
        raise BadInput("the recording and the trace are the same file", received=file, hint="choose another --trace")
    parts.mkdir(mode=0o700, parents=True)
    if trace is not None:  # before the program runs, which may take hours
        trace.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    try:
        code = _run(command, parts, is_traced=trace is not None)
    except BadInput:
        shutil.rmtree(parts)
        raise
    usage = merge(read_parts(parts), time.perf_counter() - start)
    _write(file, {"version": VERSION, "command": list(command), "exit_code": code, **asdict(usage)})
    if trace is not None:
        write_atomically(trace, json.dumps(trace_of(parts, command)).encode())
    shutil.rmtree(parts, ignore_errors=True)
    return code, usage


def read_parts(folder: Path) -> list[Mapping[str, Any]]:
    """Return what each process wrote, in the order of their names; one that was cut off has a `.part` and is left.

    The program may have left anything there, and what it returned is not to be lost for that: what no process of a
    recording wrote is told as a trouble.
    """
    return [_read_part(path) for path in sorted(folder.glob("*.json"))]


def _read_part(path: Path) -> Mapping[str, Any]:
    try:
        part: dict[str, Any] = msgspec.json.decode(path.read_bytes())
        wrong = problem(part, Part)
    except (OSError, *UNDECODABLE) as error:
        part, wrong = {}, str(error)
    return (
        part if wrong is None else {"sites": [], "trouble": f"{path.name} does not belong to this recording: {wrong}"}
    )


def environment_of(parts: Path, *, is_traced: bool = False) -> dict[str, str]:
    """Return the environment of a program that is recorded."""
    paths = [str(INJECTED), *filter(None, [os.environ.get("PYTHONPATH")])]
    traced = {PROGRAM: json.dumps({"trace": True})} if is_traced else {}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), VARIABLE: str(real_path(parts)), **traced}


def trace_of(parts: Path, command: Sequence[str]) -> dict[str, Any]:
    """Return the recorded calls of all processes of a program, in the format of Chrome and Perfetto.

    Format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU. Times are microseconds of
    the clock that all processes of a machine share. Waits for the GIL and for input have tracks of their own.
    """
    events: list[dict[str, Any]] = []
    for path in sorted(parts.glob("*.slices")):
        process = int(path.name.split("-")[0])
        events.append(_named("process_name", process, 0, f"{process} {' '.join(command)}"))
        events += [_named("thread_name", process, track, name) for name, track in TRACKS.items()]
        for line in path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):  # the process was killed while it wrote
                break
            kind, start, end, thread, *about = msgspec.json.decode(line)
            event = {"ph": "X", "pid": process, "ts": start * 1e6, "dur": (end - start) * 1e6, "cat": kind}
            if kind == "call":
                file, number, function, made_by, mode, body, direction, shapes, raised = about
                event |= {
                    "name": body if direction == "forward" else f"gradient of {body}",
                    "tid": thread,
                    "args": {
                        "place": f"{file}:{number}",
                        "function": function,
                        "kind": made_by,
                        "mode": mode,
                        "direction": direction,
                        "inputs": [f"{dtype}{'?' if shape is None else shape}" for shape, dtype in shapes],
                        "raised": raised,
                    },
                }
            else:
                event |= {"name": WAITS[kind], "tid": TRACKS[WAITS[kind]]}
            events.append(event)
    return {"traceEvents": events, "displayTimeUnit": "ms"}


WAITS = {"gil": "waiting for the GIL", "input": "waiting for input"}
TRACKS = {"waiting for the GIL": 1, "waiting for input": 2}
"""Numbers of the tracks; on Linux, only threads of the machine's first processes have numbers as small."""


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _run(command: Sequence[str], parts: Path, *, is_traced: bool) -> int:
    try:
        with (
            subprocess.Popen(command, env=environment_of(parts, is_traced=is_traced)) as process,
            _forwarding(process.send_signal),
        ):
            code = process.wait()
    except OSError as error:
        raise BadInput(
            f"cannot start the program: {error.strerror}",
            received=command[0],
            hint="for example `pyopbench record -- python train.py`",
        ) from error
    return code if code >= 0 else SIGNAL_EXIT - code


@contextmanager
def _forwarding(send: Callable[[int], None]) -> Iterator[None]:
    """Pass signals on to the program while it runs; it decides what becomes of it."""

    def forward(number: int, frame: FrameType | None) -> None:
        if number not in {signal.SIGINT, signal.SIGQUIT} or not _is_foreground():
            send(number)  # what a terminal sends, it has sent to the program too

    before = {number: signal.signal(number, forward) for number in FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.__stdin__.fileno() if sys.__stdin__ else 0) == os.getpgrp()
    except (OSError, ValueError):  # no terminal
        return False


def _write(file: Path, content: Mapping[str, Any]) -> None:
    write_atomically(file, encode_in_lines(content))


Example: TypeAlias = tuple[tuple[tuple[int, ...], str], ...]
"""Shape and dtype of each input."""


class Recording(Struct):
    """What `pyopbench record` writes, as far as it is read here."""

    sites: list[CountedSite]
    called_seconds: float | None = None
    elements: NotNegative = 0


@dataclass(frozen=True)
class Recorded:
    """A callback as a program called it.

    Attributes:
        examples: of its inputs, ascending by the elements of the largest.
        mix: the file of its mix of sizes, which `record` wrote beside the recording; None if that is not there.
        step: of the program; None where it takes no elements from iterators.
    """

    examples: list[Example]
    mix: Path | None = None
    step: Step | None = None


def look_up(recording: Path, file: Path, first: int, last: int | None) -> Recorded:
    """Return what a recording says of a callback.

    Args:
        recording: the file of a recording.
        file: the source of the callback.
        first: the first line of the call in it.
        last: the last one; None if that is not known.

    Raises:
        BadInput: the recording cannot be read, or has no inputs of known shape of this callback.
    """
    found = _read(recording)
    sites: list[dict[str, Any]] = found["sites"]
    here = [one for one in sites if _is_here(one, file, first, last or first)]
    shapes = [Shape(one["inputs"], one["calls"], one["seconds"]) for site in here for one in site["shapes"]]
    by_size: dict[int, Shape] = {}
    for shape in shapes:
        size = shape.size
        if size and (size not in by_size or shape.calls > by_size[size].calls):
            by_size[size] = shape
    if not by_size:
        places = sorted({f"{Path(one['file']).name}:{one['line']}" for one in sites})
        raise BadInput(
            "the recording has no inputs of this callback",
            received=f"{recording}, {file}:{first}",
            legal=", ".join(places) or "a recording of a run that called it",
            hint="pyopbench record -- COMMAND, with the source as it is now",
        )
    examples = [
        tuple((tuple(one["shape"]), str(one["dtype"])) for one in by_size[size].inputs or ())
        for size in propose_sizes(sorted(by_size))
    ]
    usual = max(here, key=lambda site: site["forward"]["calls"])
    mix = mix_file(recording, 1 + sites.index(usual))
    return Recorded(examples, mix if mix.exists() else None, _step_of(found, usual))


def _expression(shape: Sequence[int], dtype: str) -> str:
    """Return an expression for an array: floats in [0, 1), or integers 0 and 1, which are indices of most arrays."""
    axes = tuple(shape)
    if dtype == "string":
        return f"np.full({axes}, b'text', object)"
    if dtype == "bool" or "int" in dtype:
        return f"rng.integers(0, {256 if dtype == 'uint8' else 2}, {axes}).astype(np.dtype('{dtype}'))"
    return f"np.asarray(rng.random({axes})).astype(np.dtype('{dtype}'))"


def _step_of(found: dict[str, Any], site: dict[str, Any]) -> Step | None:
    usage = Usage(0.0, 1, [], called_seconds=found.get("called_seconds"), elements=found.get("elements", 0))
    forward = Cost()
    forward.add(site["forward"])
    return usage.step_of(SiteUsage(**{name: site[name] for name in NAMES}, forward=forward))


def _read(recording: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = msgspec.json.decode(recording.read_bytes())
        wrong = problem(found, Recording)
    except (OSError, *UNDECODABLE) as error:
        found, wrong = {}, str(error)
    if wrong is not None:
        raise BadInput(
            "not a recording",
            received=f"{recording}: {wrong}",
            hint="pyopbench record --out recording.json -- COMMAND",
        )
    return found


def _is_here(site: dict[str, Any], file: Path, first: int, last: int) -> bool:
    return real_path(site["file"]) == real_path(file) and first <= site["line"] <= last
