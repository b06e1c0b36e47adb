"""Every function in the table gives what NumPy's does, for shapes, dtypes, ties, NaN and empty arrays."""

from __future__ import annotations

import runpy
import warnings
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from places import ROOT
from pyopbench.catalogue.traced import functions
from pyopbench.catalogue.traced.array import TracedArray
from pyopbench.catalogue.traced.names import rebound
from traced_cases import CASES


def flat(nest: Any) -> list[Any]:
    """Return arrays of a nest."""
    if type(nest) is TracedArray:
        return [np.asarray(nest)]
    return [one for part in nest for one in flat(part)] if isinstance(nest, list | tuple) else [np.asarray(nest)]


def compare(call: Any, arrays: tuple[Any, ...]) -> str:
    """Return how what is traced differs from NumPy's; empty where it does not."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = flat(call(*(array.copy() for array in arrays)))
        except Exception:  # noqa: BLE001 - what NumPy refuses is not compared
            return ""
        found = flat(call(*(TracedArray(tf.constant(array)) for array in arrays)))
    for one, other in zip(found, expected, strict=True):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{one.dtype} {one.shape}, not {other.dtype} {other.shape}"
        if other.dtype.kind in "fc":
            close = 1e-4 if other.dtype in (np.float32, np.complex64) else 1e-9
            if not np.allclose(one, other, rtol=close, atol=close, equal_nan=True):
                return f"{one}, not {other}"
        elif not np.array_equal(one, other):
            return f"{one}, not {other}"
    return ""


@pytest.mark.parametrize("name", functions.supported())
def test_a_function_gives_what_numpys_does(name: str) -> None:
    assert CASES[name]
    differing = {}
    for number, (call, arrays) in enumerate(CASES[name]):
        described = f"{number}: {[(str(array.dtype), array.shape) for array in arrays]}"
        found = compare(rebound(call), arrays)
        if found:
            differing[described] = found
    assert differing == {}


def test_the_page_lists_what_is_in_the_table() -> None:
    """`python scripts/traced_functions.py` writes it."""
    script = runpy.run_path(str(ROOT / "scripts" / "traced_functions.py"))
    page = (ROOT / "docs" / "tracing.md").read_text(encoding="utf-8")
    assert script["written"](page) == page
