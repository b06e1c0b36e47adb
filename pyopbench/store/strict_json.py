"""JSON as pyopbench takes it from a file: what every reader sees alike, and nothing that later stands in the way.

Python's parser takes more: a key twice (the first is lost), 1e999 (infinity), whole numbers of hundreds of digits,
which no float holds, halves of surrogate pairs, which no terminal takes, and nesting as deep as its stack.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

DEEPEST = 64
"""Levels of nesting; what pyopbench and the tools that it reads write has fewer than 12."""
LARGEST = 2**63
"""Whole numbers are smaller than this, on both sides of 0: what a column of a frame holds."""
LONGEST_SHOWN = 80
"""Characters of a number or a key in a message."""


def parse(content: bytes, *, checked_later: Sequence[str] = (), allow_nan: bool = False) -> Any:
    """Return the JSON in some bytes.

    Args:
        content: JSON in UTF-8.
        checked_later: keys of the outermost object whose values the caller checks number by number: looking at each of
            a million samples here too would take as long as parsing them.
        allow_nan: take NaN and the infinities, which asv writes, for numbers.

    Raises:
        ValueError: it is not JSON in UTF-8, has a key twice, half of a surrogate pair or more than `DEEPEST` levels, or
            a number that JSON has not, or one that no float or no column can hold.
        RecursionError: it is nested without end.
    """
    constant = float if allow_nan else _refuse_constant
    value = json.loads(content.decode(), object_pairs_hook=_with_each_key_once, parse_constant=constant)
    looked_at = value
    if checked_later and isinstance(value, dict):
        looked_at = {key: inner for key, inner in value.items() if key not in checked_later}
    try:
        _check(looked_at, DEEPEST, finite=not allow_nan)
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
