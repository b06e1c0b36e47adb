"""JSON files as types: decoded once, by msgspec. What cannot be decoded is one line that names the file and the place.

Keys that a type does not have are ignored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pyopbench.model.errors import BadInput

T = TypeVar("T")

UNDECODABLE = (msgspec.DecodeError, ValueError, OverflowError, RecursionError)
"""What msgspec raises of bytes or of a value that are not of a type."""


def read(path: Path, kind: type[T]) -> T:
    """Return the JSON in a file as a type; raises as `decode`, and an `OSError` if there is no such file."""
    return decode(path.read_bytes(), kind, str(path))


def decode(content: bytes, kind: type[T], place: str) -> T:
    """Return the JSON in some bytes as a type.

    Raises:
        BadInput: it is not JSON, or not of the type; names `place`, and the place in the JSON.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except UNDECODABLE as error:
        raise corrupt(place, str(error)) from error


def convert(value: Any, kind: type[T], place: str) -> T:
    """Return plain data as a type; raises as `decode`."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except UNDECODABLE as error:
        raise corrupt(place, str(error)) from error


def corrupt(place: str, what: str) -> BadInput:
    """Return the error for a file that cannot be what pyopbench wrote."""
    return BadInput(f"cannot decode {place}: {what}")


def encode(value: Any) -> bytes:
    """Return a value as JSON in one line; NaN is null."""
    return msgspec.json.encode(value)


def encode_in_lines(value: Any) -> bytes:
    """Return a value as JSON that people can read; NaN is null."""
    return msgspec.json.format(encode(value), indent=1) + b"\n"


def without_nan(value: Any) -> Any:
    """Return a document for JSON, which has no NaN or infinity: they are None, and every key is text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): without_nan(item) for key, item in value.items()}
    return [without_nan(item) for item in value] if isinstance(value, list | tuple) else value
