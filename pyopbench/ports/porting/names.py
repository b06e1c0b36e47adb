"""NumPy's, SciPy's and Python's functions by the names that tables use."""

from __future__ import annotations

import builtins
import functools
import math
from typing import Any

import numpy as np

MODULES = {
    "np.lib.stride_tricks": np.lib.stride_tricks, "np": np, "np.linalg": np.linalg, "np.fft": np.fft, "math": math,
    "": builtins,
}  # fmt: skip


@functools.cache
def _names() -> dict[int, str]:
    found = {}
    for prefix, module in MODULES.items():
        for name in sorted(vars(module), key=lambda one: (one in SECOND, one), reverse=True):
            value = vars(module)[name]
            if callable(value) and not name.startswith("_"):
                found[id(value)] = f"{prefix}.{name}" if prefix else name
    return found


SECOND = (
    "abs", "mod", "true_divide", "concat", "permute_dims", "conj", "acos", "acosh", "asin", "asinh", "atan", "atan2",
    "atanh", "pow", "bitwise_invert", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
"""Names for what is known under another one."""


METADATA = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")
"""Attributes of an array that do not share its memory."""


def name_of(value: Any) -> str:
    """Return the name of a function, such as `np.sum` or `len`; empty for a function that is in no table."""
    if isinstance(value, type) and issubclass(value, np.generic):
        return f"np.{np.dtype(value).name}"
    known = _names().get(id(value))
    if known is not None:
        return known
    ufunc = getattr(value, "__self__", None)
    if isinstance(ufunc, np.ufunc):  # its method
        return f"{name_of(ufunc)}.{value.__name__}"
    module, name = str(getattr(value, "__module__", "") or ""), str(getattr(value, "__name__", ""))
    if isinstance(value, np.ufunc):  # of which SciPy's have no module
        module = "scipy.special"
    return f"{module.split('._')[0]}.{name}" if module.startswith("scipy") and name else ""
