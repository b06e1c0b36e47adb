"""The shape of a JSON value, as data, and where a value departs from it.

A shape is a tuple of the types that a value may have, a list of one shape for every item, or a dict of shapes by key;
under `ANY` stands the shape of all other keys, which without it may be there and hold anything. A key that ends with
`OPTIONAL` may be absent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Shape: TypeAlias = "tuple[type, ...] | list[Shape] | dict[str, Shape]"

ANY = "*"
OPTIONAL = "?"
NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    list: "a list",
    dict: "an object",
}

TEXT = (str,)
TEXTS: Shape = [TEXT]
MAYBE_TEXT = (str, type(None))
WHOLE = (int,)
MAYBE_WHOLE = (int, type(None))
NUMBER = (int, float)
MAYBE_NUMBER = (int, float, type(None))
TRUTH = (bool,)
MAYBE_TRUTH = (bool, type(None))


def departure(value: Any, shape: Shape) -> str | None:
    """Return where a value departs from a shape and how, or None."""
    return _problem(value, shape, "")


def _problem(value: Any, shape: Shape, path: str) -> str | None:
    if isinstance(shape, tuple):
        # Not isinstance: True is an int to Python.
        names = " or ".join(NAMES[kind] for kind in shape)
        return None if type(value) in shape else f"{path or 'the line'} is not {names}: {str(value)[:80]}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path} is not a list: {str(value)[:80]}"
        return _first(_problem(item, shape[0], f"{path}[{place}]") for place, item in enumerate(value))
    if not isinstance(value, dict):
        return f"{path or 'it'} is not an object: {str(value)[:80]}"
    missing = [key for key in shape if key != ANY and not key.endswith(OPTIONAL) and key not in value]
    if missing:
        return f"{path + ': ' if path else ''}missing {', '.join(missing)}"
    shapes = {key.removesuffix(OPTIONAL): inner for key, inner in shape.items()}
    return _first(
        _problem(item, shapes[key if key in shapes else ANY], f"{path}.{key}" if path else key)
        for key, item in value.items()
        if key in shapes or ANY in shapes
    )


def _first(problems: Iterable[str | None]) -> str | None:
    return next((problem for problem in problems if problem is not None), None)
