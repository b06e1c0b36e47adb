"""Bodies compiled by Numba, one file an op: `body` in the form of `Op.numpy`, `gradient` of `Op.numpy_gradient`.

They are imported only where the variant `numba` is asked for, because Numba is an extra. Ufuncs and functions with
`nogil` give up Python's lock while they run; the callback around them has it when it begins and when it ends.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from importlib.util import find_spec

from pyopbench.core.op import Body, GradientBody

Compiled = Callable[[], tuple[Body, GradientBody | None]]


def why_no_numba() -> str | None:
    """Return how to get Numba where it is not installed, or None."""
    return None if find_spec("numba") else "Numba is not installed: pip install 'pyopbench[numba]'"


def bodies(name: str) -> Compiled:
    """Return what imports the compiled bodies of an op."""

    def load() -> tuple[Body, GradientBody | None]:
        module = importlib.import_module(f"pyopbench.catalogue.numba_bodies.{name}")
        return module.body, module.gradient

    return load
