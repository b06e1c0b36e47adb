"""Damaged results: whatever happened to a file, reading it gives a run or a `BadInput`, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import stored
from places import DATA
from pyopbench.model.errors import BadInput
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_one

STORED = DATA / "stored_run"
FILES = ("run.json", "samples.jsonl")
LINES = 3
"""Of samples that are read, of each kind that the stored run has."""

damaging = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def small_run() -> dict[str, bytes]:
    """Return the files of a stored run with a few lines of every kind, so that reading it takes a millisecond."""
    kept: dict[str, list[bytes]] = {}
    for line in (STORED / "samples.jsonl").read_bytes().splitlines(keepends=True):
        kept.setdefault(json.loads(line)["kind"], []).append(line)
    lines = [line for of_kind in kept.values() for line in of_kind[:LINES]]
    return {"run.json": (STORED / "run.json").read_bytes(), "samples.jsonl": b"".join(lines)}


RUN = small_run()
Damage = Callable[[bytes], bytes]


def set_bytes(place: float, new: bytes) -> Damage:
    """Overwrite bytes."""

    def damage(content: bytes) -> bytes:
        start = int(place * len(content))
        return content[:start] + new + content[start + len(new) :]

    return damage


def cut_off(place: float) -> Damage:
    """Drop the end of a file."""
    return lambda content: content[: int(place * len(content))]


def move_line(source: int, target: int, copies: int) -> Damage:
    """Drop, move or repeat a line."""

    def damage(content: bytes) -> bytes:
        lines = content.splitlines(keepends=True)
        if not lines:
            return content
        line = lines.pop(source % len(lines))
        where = target % (len(lines) + 1)
        return b"".join(lines[:where] + [line] * copies + lines[where:])

    return damage


def set_value(number: int, place: int, new: Any) -> Damage:
    """Put another value anywhere into a line, or into a file that is one document."""

    def damage(content: bytes) -> bytes:
        lines = [content] if content.startswith(b"{\n") else content.splitlines(keepends=True)
        number_of = number % max(len(lines), 1)
        try:
            document = json.loads(lines[number_of])
        except (ValueError, IndexError, RecursionError):  # what was damaged already
            return content
        places = list(stored.places_in(document))
        lines[number_of] = json.dumps(stored.put(document, places[place % len(places)], new)).encode() + b"\n"
        return b"".join(lines)

    return damage


shares = st.floats(0, 1, exclude_max=True)
numbers = st.integers(0, 10_000)
damages = st.one_of(
    st.builds(set_bytes, shares, st.binary(min_size=1, max_size=4)),
    st.builds(cut_off, shares),
    st.builds(move_line, numbers, numbers, st.integers(0, 2)),
    st.builds(set_value, numbers, numbers, stored.json_values),
)


def read(folder: Path) -> Run | BadInput:
    try:
        return read_one([folder])
    except BadInput as error:
        return error


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("damaged")
    yield place
    shutil.rmtree(place)


@damaging
@given(name=st.sampled_from(FILES), several=st.lists(damages, max_size=3))
@example(name="samples.jsonl", several=[])
def test_damaged_results_are_read_or_refused(folder: Path, name: str, several: list[Damage]) -> None:
    for file, content in RUN.items():
        damaged = content
        for damage in several if file == name else []:
            damaged = damage(damaged)
        (folder / file).write_bytes(damaged)
    found = read(folder)
    if not several:
        assert isinstance(found, Run)
    if isinstance(found, BadInput):
        assert str(folder) in str(found), "the file is named"
        assert "\n" not in found.message
