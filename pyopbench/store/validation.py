"""Validation of JSON by types: whether a value is of a type, and if not, where it differs and by what."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from pyopbench.model.errors import BadInput

T = TypeVar("T")

REFUSALS = (msgspec.ValidationError, UnicodeError, OverflowError)
"""What msgspec raises of a value: a text may be none in UTF-8, and a whole number more than a float holds."""

LONGEST_SHOWN = 80
"""Characters of a received value in a message."""
KEYS = re.compile(r"\[(?:\.\.\.|[0-9]+)\]|[^.\[\]]+")
"""The steps of a path as msgspec writes it: `settings`, `[3]`, or `[...]` for some key of an object."""


def converted(value: Any, kind: type[T], place: str) -> T:
    """Return JSON as a type; keys that the type does not have are left out.

    Raises:
        BadInput: it is not of the type; names `place`, and the place in the value.
    """
    try:
        return msgspec.convert(value, kind)
    except REFUSALS as error:
        raise corrupt(place, _message(value, kind, str(error))) from error


def problem(value: Any, kind: Any) -> str | None:
    """Return why JSON is not of a type, such as `settings.rounds: expected int, got str: ten`, or None if it is."""
    try:
        msgspec.convert(value, kind)
    except REFUSALS as error:
        return _message(value, kind, str(error))
    return None


def corrupt(place: str, what: str) -> BadInput:
    """Return the error for results that are not as they were written."""
    return BadInput(
        "corrupt results",
        received=f"{place}: {what}",
        legal="the schema in results/README.md",
        hint="restore the file, or delete this line of samples and use --allow-changed",
    )


def _message(value: Any, kind: Any, original: str) -> str:
    """Return msgspec's message as `place: problem`, with the keys that it leaves out and the value that is there."""
    what, _, path = original.partition(" - at `")
    steps = _named(value, kind, KEYS.findall(path.removesuffix("`").removeprefix("$")))
    what = what.replace("`", "").replace("Object missing required field", "missing")
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
        msgspec.convert(value, kind)
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
