"""A body that Numba compiles, as pyopbench writes it for that, and NumPy's values of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyopbench.ports.rebinding import rebind_helpers


def compiled(body: Any) -> Any:
    """Return a body compiled as the variant `njit` does it."""
    numba = pytest.importorskip("numba")
    return rebind_helpers(body, numba.njit)


def require_equal_to_numpy(body: Any, *inputs: Any) -> None:
    """Require values, shapes and dtypes of a body that returns several arrays to be NumPy's.

    Raises:
        AssertionError: an output differs.
        Exception: whatever Numba or the body raises.
    """
    expected = body(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in inputs))
    found = compiled(body)(*inputs)
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    assert len(found) == len(expected)
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert np.shape(one) == np.shape(other), place
        assert not isinstance(one, np.ndarray) or one.dtype == other.dtype, (place, one.dtype, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=str(place))
