"""Helpers for Numba give what NumPy's functions give, wherever they stand in for one alone."""

from __future__ import annotations

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from pyopbench.ports.for_numba import helpers  # noqa: E402
from pyopbench.ports.porting.body_code import helper_source, needed_helpers  # noqa: E402

NAMES = [name for name in vars(helpers) if name.startswith("_") and name.islower() and not name.startswith("__")]


def test_sources_make_a_module_of_their_own() -> None:
    names = needed_helpers(NAMES)
    scope = {"np": np, "numba": numba}
    text = "\n".join([*helper_source(names), "greatest = numba.njit(lambda x: _along(np.max, x, 0))"])
    exec(text, scope)
    assert set(names) <= scope.keys()
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(scope["greatest"](x), x.max(axis=0))
