"""Ways to tamper with a file: bytes, structure, types, numbers, encodings, and what is no file."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stored
from mutant_files import VICTIM
from pyopbench.store import integrity

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
    places = list(stored.places_in(value))
    path = rng.choice(places)
    new = _other_value(value, places, rng)
    changed = _with_other_key(value, path, rng) if path and rng.random() < 0.3 else stored.put(value, path, new)
    if len(lines) == 1:
        return _sealed(changed)
    before = integrity.checksum_of(lines[number - 1]) or 0 if number else 0
    if isinstance(changed, dict):
        changed = {key: inner for key, inner in changed.items() if key != integrity.KEY}
    text = json.dumps(changed, separators=(",", ":")).encode()
    lines[number] = integrity.sealed_line(text, before) if text.endswith(b"}") and len(text) > 2 else text
    return b"\n".join(lines) + b"\n"


def _other_value(value: Any, places: list[tuple[Any, ...]], rng: random.Random) -> Any:
    """Return a value to put into JSON: a strange one, a number, or one of its own from another place.

    The last is often of the right type, so that it gets past the schema to what relies on one part fitting another.
    """
    kind = rng.random()
    if kind < 0.4:
        return json.loads(rng.choice(TEXTS))
    if kind < 0.6:
        return rng.choice([-5, 1e300, 2**62, True, None, 0.5, 0, 1])
    return functools.reduce(lambda outer, step: outer[step], rng.choice(places), value)


def _sealed(changed: Any) -> bytes:
    if isinstance(changed, dict) and integrity.KEY in changed:
        kept = {key: inner for key, inner in changed.items() if key != integrity.KEY}
        return integrity.sealed(json.dumps(kept, indent=1))
    return json.dumps(changed).encode()


def _with_other_key(value: Any, path: tuple[Any, ...], rng: random.Random) -> Any:
    """Return JSON without what is at a path, or with it under another key."""
    *above, last = path
    outer = value
    for step in above:
        outer = outer[step]
    changed = dict(outer) if isinstance(outer, dict) else list(outer)
    inner = changed.pop(last)
    if isinstance(changed, list) and rng.random() < 0.3:
        changed += [inner, inner]
    elif isinstance(changed, dict) and rng.random() < 0.5:
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
            lambda: path.symlink_to(Path(VICTIM).absolute()),
            lambda: path.hardlink_to(VICTIM),
            lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC), 3 << 30),
            lambda: None,
        ]
    )()


CHANGES: list[Callable[[bytes, random.Random], bytes]] = [of_bytes, of_numbers, *[of_structure] * 4]
"""Most bytes and numbers that are changed are found by a checksum; what changes the structure makes that anew."""


def mutate(path: Path, rng: random.Random) -> None:
    """Change a file in one way, or in several."""
    if rng.random() < 0.1:
        of_kind(path, rng)
        return
    content = path.read_bytes()
    for _ in range(rng.choice([1, 1, 1, 1, 2, 4])):
        change = rng.choice(CHANGES)
        with contextlib.suppress(
            IndexError, ValueError, RecursionError
        ):  # an earlier change has left nothing for this one
            content = change(content, rng)
    path.write_bytes(content)
