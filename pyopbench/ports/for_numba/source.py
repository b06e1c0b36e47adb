"""The source of helpers, for a port that brings them along."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

from pyopbench.ports.for_numba.instead import helper_names

TYPED = "_typed"
"""What the name of the function ends with that says what Numba compiles for a helper of some types."""

OURS = re.compile(r": Any\b| -> (?:Any|None)\b|  # type: ignore\[[\w-]+\]")
"""What stands in the source of a helper for type checkers."""


def needed(names: Iterable[str]) -> list[str]:
    """Return helpers and those that they call, in the order of their file."""
    from pyopbench.ports.for_numba import helpers

    wanted, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += [one for one in helper_names(source_of([name])[0]) if one in vars(helpers)]
    return [name for name in vars(helpers) if name in wanted and not name.endswith(TYPED)]


def source_of(names: Iterable[str]) -> list[str]:
    """Return the source of some helpers, each with what types it."""
    return ["\n\n\n".join(_texts(name)) for name in names]


def _texts(name: str) -> Iterator[str]:
    from pyopbench.ports.for_numba import helpers

    for one in (name, name + TYPED):
        function = getattr(helpers, one, None)
        if function is not None:
            yield OURS.sub("", inspect.getsource(getattr(function, "py_func", function))).strip()
