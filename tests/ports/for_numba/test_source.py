"""The source of helpers that a port brings along is whole, and of Numba and NumPy alone."""

from __future__ import annotations

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from pyopbench.ports.for_numba import helpers, source  # noqa: E402

NAMES = [name for name in vars(helpers) if name.startswith("_") and name.islower() and not name.startswith("__")]


def test_what_a_helper_calls_comes_before_or_with_it() -> None:
    assert source.needed(["_along"]) == ["_checked", "_moved", "_along", "_of_vectors"]


def test_sources_make_a_module_of_their_own() -> None:
    """Without types, which a port does not import names for."""
    names = source.needed(name for name in NAMES if not name.endswith(source.TYPED))
    scope = {"np": np, "numba": numba}
    text = "\n".join([*source.source_of(names), "greatest = numba.njit(lambda x: _along(np.max, x, 0))"])
    exec(text, scope)
    assert set(names) <= scope.keys()
    assert "Any" not in text
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(scope["greatest"](x), x.max(axis=0))
