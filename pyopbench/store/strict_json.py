"""JSON as pyopbench takes it from a file: strictly, and at once as the type that everything uses.

Python's parser takes more: a key twice (the first is lost), 1e999 (infinity), whole numbers of hundreds of digits,
which no float holds, halves of surrogate pairs, which no terminal takes, and nesting as deep as its stack.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from pyopbench.model.errors import BadInput

T = TypeVar("T")

REFUSALS = (msgspec.ValidationError, UnicodeError, OverflowError)
"""What msgspec raises of a value: a text may be none in UTF-8, and a whole number more than a float holds."""

DEEPEST = 64
"""Levels of nesting; what pyopbench and the tools that it reads write has fewer than 12."""
LARGEST = 2**63
"""Whole numbers are smaller than this, on both sides of 0: what a column of a frame holds."""
LONGEST_SHOWN = 80
"""Characters of a received value, a number or a key in a message."""
OF_A_KEY = "key` in `"
"""What msgspec writes in front of a path where a key of an object is of another type."""
KEYS = re.compile(r"\[(?:\.\.\.|[0-9]+)\]|[^.\[\]]+")
"""The steps of a path as msgspec writes it: `settings`, `[3]`, or `[...]` for some key of an object."""


def decode(content: bytes, kind: type[T], place: str) -> T:
    """Return the JSON in some bytes as a type.

    Raises:
        BadInput: it is no JSON that `parse` takes, or not of the type; names `place`, and the place in the JSON.
    """
    return convert(parse_at(content, place), kind, place)


def parse_at(content: bytes, place: str) -> Any:
    """Return the JSON in some bytes, as `parse`.

    Raises:
        BadInput: it is none; names `place`.
    """
    try:
        return parse(content)
    except (ValueError, RecursionError) as error:
        raise corrupt(place, f"not JSON ({error})") from error


def convert(value: Any, kind: type[T], place: str) -> T:
    """Return parsed JSON as a type.

    Raises:
        BadInput: it is not of the type; names `place`, and the place in the value.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except REFUSALS as error:
        raise corrupt(place, _message(value, kind, str(error))) from error


def problem(value: Any, kind: Any) -> str | None:
    """Return why JSON is not of a type, such as `settings.rounds: expected int, got str: ten`, or None if it is."""
    try:
        msgspec.convert(value, kind, str_keys=True)
    except REFUSALS as error:
        return _message(value, kind, str(error))
    return None


def corrupt(place: str, what: str) -> BadInput:
    """Return the error for results that are not as they were written."""
    return BadInput(
        "corrupt results",
        received=f"{place}: {what}",
        hint="restore the file, or measure again",
    )


def parse(content: bytes, *, allow_nan: bool = False) -> Any:
    """Return the JSON in some bytes.

    Args:
        content: JSON in UTF-8.
        allow_nan: take NaN and the infinities, which asv writes, for numbers.

    Raises:
        ValueError: it is not JSON in UTF-8, has a key twice, half of a surrogate pair or more than `DEEPEST` levels, or
            a number that JSON has not, or one that no float or no column can hold.
        RecursionError: it is nested without end.
    """
    constant = float if allow_nan else _refuse_constant
    value = json.loads(content.decode(), object_pairs_hook=_with_each_key_once, parse_constant=constant)
    try:
        _check(value, DEEPEST, finite=not allow_nan)
    except OverflowError:
        json.loads(content, parse_float=_finite)  # raises, with the digits; asking of each number takes far longer
        raise
    return value


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:LONGEST_SHOWN]!a} is there twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:LONGEST_SHOWN]} is too large a number")
    return number


def _check(value: Any, levels: int, *, finite: bool) -> None:
    kind = type(value)
    if kind is str:
        _check_text(value)
    elif kind is float:
        if finite and math.isinf(value):
            raise OverflowError(value)
    elif kind is int:
        if not -LARGEST < value < LARGEST:
            raise ValueError(f"{str(value)[:LONGEST_SHOWN]} is too large a number")
    elif kind is list or kind is dict:
        if not levels:
            raise ValueError(f"nested in more than {DEEPEST} levels")
        if kind is dict:
            for key in value:
                _check_text(key)
            value = value.values()
        for inner in value:
            _check(inner, levels - 1, finite=finite)


def _check_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"half of a surrogate pair in {text[:LONGEST_SHOWN]!a}") from error


def without_nan(value: Any) -> Any:
    """Return a document for JSON, which has no NaN or infinity: they are None, and every key is text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): without_nan(item) for key, item in value.items()}
    return [without_nan(item) for item in value] if isinstance(value, list | tuple) else value


def storable(value: Any) -> Any:
    """Return what is to be written as JSON, with halves of surrogate pairs in its texts as their escapes.

    They stand for bytes of a file name that is no UTF-8, which gets into command lines and messages of exceptions.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {storable(key): storable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and not all(isinstance(inner, int | float) for inner in value):
        return [storable(inner) for inner in value]
    return value


def _message(value: Any, kind: Any, original: str) -> str:
    """Return msgspec's message as `place: problem`, with the keys that it leaves out and the value that is there."""
    what, _, path = original.partition(" - at `")
    what = f"key: {what}" if path.startswith(OF_A_KEY) else what
    path = path.removeprefix(OF_A_KEY)
    steps = _named(value, kind, KEYS.findall(path.removesuffix("`").removeprefix("$")))
    what = what.replace("`", "").replace("Object missing required field", "missing")
    what = what.replace("Object contains unknown field", "unknown key")
    what = what[:1].lower() + what[1:]
    received = _at(value, steps)
    if what.startswith(("expected", "number out of range")) and received is not None:
        what += f"{':' if ', got ' in what else ', got'} {str(received)[:LONGEST_SHOWN]}"
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
    return f"{where}: {what}" if where else what


def _named(value: Any, kind: Any, steps: Sequence[str]) -> list[str | int]:
    """Return the steps of a path with the keys in place of `[...]`.

    The key is the one that fails where it is the only one in its object.
    """
    path: list[str | int] = []
    for step in steps:
        if step != "[...]":
            path.append(int(step[1:-1]) if step.startswith("[") else step)
            continue
        keys = _at(value, path)
        alone = ((key, _with(value, path, {key: inner})) for key, inner in keys.items())
        key, value = next((key, narrowed) for key, narrowed in alone if not _fits(narrowed, kind))
        path.append(key)
    return path


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, str_keys=True)
    except REFUSALS:
        return False
    return True


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """Return a copy of JSON with another value at a path."""
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = _with(value[path[0]], path[1:], new)
    return changed
