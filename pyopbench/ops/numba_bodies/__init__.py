"""Bodies compiled by Numba: `body` in the form of `Op.numpy`, `gradient` of `Op.numpy_gradient`.

They are imported only where the variant `numba` is asked for, because Numba is an extra. Ufuncs and functions with
`nogil` give up Python's lock while they run; the callback around them has it when it begins and when it ends.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from pyopbench.model.cache_folder import make_folder
from pyopbench.model.errors import BadInput
from pyopbench.model.op import Body, GradientBody

Compiled = Callable[[], tuple[Body, GradientBody | None]]

FOLDER = "numba"
FOLDER_VARIABLE = "NUMBA_CACHE_DIR"
"""Where Numba keeps what it has compiled, by the path, time and size of the source, its own version and the CPU:
https://numba.readthedocs.io/en/stable/reference/envvars.html"""


def why_no_numba() -> str | None:
    """Return how to get Numba where it is not installed, or None."""
    return None if find_spec("numba") else "Numba is not installed: pip install 'pyopbench[numba]'"


def bodies(module: str) -> Compiled:
    """Return what imports the `body` and the `gradient` of a module of this package."""

    def load() -> tuple[Body, GradientBody | None]:
        keep_in_cache_folder()
        loaded = importlib.import_module(f"{__name__}.{module}")
        return loaded.body, loaded.gradient

    return load


def elementwise_bodies(name: str) -> Compiled:
    """Return what compiles the formulas of an elementwise op."""

    def load() -> tuple[Body, GradientBody | None]:
        keep_in_cache_folder()
        from pyopbench.ops.numba_bodies.elementwise import compile_bodies

        return compile_bodies(name)

    return cache(load)


@cache
def keep_in_cache_folder() -> None:
    """Have Numba keep what it compiles in the folder of the user, unless the user has named another.

    Numba's own choice is beside the sources, which belong to whoever has installed them.
    """
    if os.environ.get(FOLDER_VARIABLE):
        return
    try:
        os.environ[FOLDER_VARIABLE] = str(make_folder(FOLDER, "what Numba has compiled"))
    except BadInput:  # it only saves time
        return
    import numba

    numba.config.reload_config()  # it may have been imported before
