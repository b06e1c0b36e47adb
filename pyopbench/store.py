"""A run on disk: `run.json`, written once, and `samples.jsonl`, appended group by group. Schema: results/README.md."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyopbench.errors import BadInput
from pyopbench.model import Case

SCHEMA = 1
RUN_FILE = "run.json"
SAMPLES_FILE = "samples.jsonl"

RUN_KEYS = ("schema", "run", "created", "command", "settings", "environment", "catalogue", "cases", "skips")
ANSWER_KEYS = ("samples", "failures", "timer_seconds", "timer_error_seconds")
GROUP_KEYS = ("launch", "group", *ANSWER_KEYS)
LAUNCH_KEYS = ("launch", "environment")
LOST_KEYS = ("launch", "group", "failures")
STATUSES = ("unsupported", "wrong", "raised", "timeout", "crashed")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, sees all of it or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def require_new(folder: Path) -> None:
    """Check that a folder holds no run yet.

    Raises:
        BadInput: it does.
    """
    if (folder / RUN_FILE).exists():
        raise BadInput(
            "the output folder holds a run already, and measured data is never overwritten",
            received=folder,
            legal="an empty or new folder",
            next_step=f"choose another --out, or continue that run: pyopbench run --resume {folder}",
        )


def create(folder: Path, run: Mapping[str, Any]) -> None:
    """Make the folder of a new run and write its `run.json`."""
    require_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"schema": SCHEMA, **run}, indent=1, allow_nan=False)
    write_atomically(folder / RUN_FILE, content.encode() + b"\n")


def append(folder: Path, line: Mapping[str, Any]) -> None:
    """Append one line to the samples and return when it is on the disk."""
    path = folder / SAMPLES_FILE
    content = json.dumps(line, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    with path.open("ab") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def drop_torn_line(folder: Path) -> None:
    """Cut off a last line that a crash left unfinished, so that what is appended next stands on a line of its own."""
    path = folder / SAMPLES_FILE
    if not path.exists():
        return
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        with path.open("r+b") as stream:
            stream.truncate(content.rfind(b"\n") + 1)
            os.fsync(stream.fileno())


def read_run(folder: Path) -> dict[str, Any]:
    """Return the validated content of `run.json`.

    Raises:
        BadInput: no such file, not JSON, another schema version, a key missing or a case id that is none.
    """
    path = folder / RUN_FILE
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadInput(
            "not a folder of results: it holds no run.json",
            received=folder,
            legal="a folder written by `pyopbench run`",
        ) from error
    except (OSError, ValueError) as error:
        raise BadInput("run.json cannot be read", received=f"{path}: {error}", legal="JSON, as written") from error
    _require_keys(run, RUN_KEYS, f"{path}")
    if run["schema"] != SCHEMA:
        raise BadInput("results of another schema version", received=f"{path}: {run['schema']!r}", legal=SCHEMA)
    for case in run["cases"]:
        Case.from_id(case)
    return dict(run)


def read_lines(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the validated lines of `samples.jsonl`, and a warning if a torn last line was dropped.

    Raises:
        BadInput: a line other than the last is no JSON, or any line is not of the schema; names file and line.
    """
    path = folder / SAMPLES_FILE
    if not path.exists():
        return [], []
    content = path.read_bytes()
    lines = content.split(b"\n")
    torn = lines.pop()
    warnings = [f"{path}:{len(lines) + 1}: an unfinished last line was dropped"] if torn else []
    return [_parse(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)], warnings


def _parse(line: bytes, place: str) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
    except ValueError as error:
        raise _corrupt(place, f"not JSON ({error})") from error
    kind = parsed.get("kind") if isinstance(parsed, dict) else None
    keys = {"launch": LAUNCH_KEYS, "group": GROUP_KEYS, "lost": LOST_KEYS}.get(str(kind))
    if keys is None:
        raise _corrupt(place, f"kind is {kind!r}, not 'group', 'lost' or 'launch'")
    _require_keys(parsed, keys, place)
    if not isinstance(parsed["launch"], int):
        raise _corrupt(place, f"launch is {parsed['launch']!r}, not a whole number")
    if kind == "group":
        _validate_samples(parsed, place)
    if kind != "launch":
        _validate_failures(parsed, place)
    return dict(parsed)


def _validate_samples(line: Mapping[str, Any], place: str) -> None:
    if not isinstance(line["samples"], dict):
        raise _corrupt(place, "samples is no object")
    for case, row in _rows(line):
        Case.from_id(case)
        numbers = len(row) == 4 and all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in row)
        if not numbers or row[2] < 1 or not 0 <= row[3] < float("inf"):
            raise _corrupt(place, f"a sample of {case} is not [round, order, calls >= 1, seconds >= 0]: {row}")


def _validate_failures(line: Mapping[str, Any], place: str) -> None:
    for failure in line["failures"]:
        _require_keys(failure, ("case", "status", "reason", "launch"), place)
        if failure["status"] not in STATUSES:
            raise _corrupt(place, f"status {failure['status']!r} is none of {', '.join(STATUSES)}")


def _rows(line: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for case, rows in line["samples"].items():
        for row in rows:
            yield case, row


def _require_keys(value: Any, keys: tuple[str, ...], place: str) -> None:
    missing = [key for key in keys if not isinstance(value, dict) or key not in value]
    if missing:
        raise _corrupt(place, f"missing {', '.join(missing)}")


def _corrupt(place: str, problem: str) -> BadInput:
    return BadInput(
        "corrupt results",
        received=f"{place}: {problem}",
        legal="the schema in results/README.md",
        next_step="restore the file, or delete that line if you can spare what it measured",
    )
