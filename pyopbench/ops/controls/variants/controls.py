"""The controls of `pyopbench certify`: variants whose difference from another one is known, as both run its code."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.model.variant import Variant
from pyopbench.ops.cost_components import twin_of
from pyopbench.ops.load import load_variant


def twin(base: str) -> Variant:
    """Return the twin of `base`, measured by name: what is measured between the two is noise."""
    return replace(twin_of(load_variant(base)), role="control")


def slowed(base: str, percent: int) -> Variant:
    """Return `base` as `<base>_slowed_<percent>`, each timed block of which lasts `percent` percent longer."""
    return replace(
        load_variant(base),
        name=f"{base}_slowed_{percent}",
        summary=f"{base}, {percent}% slower",
        role="control",
        stretch=percent / 100,
    )


VARIANTS = {
    "native_twin": twin("native"),
    "numpy_function_twin": twin("numpy_function"),
    "py_function_numpy_slowed_10": slowed("py_function_numpy", 10),
    "py_function_numpy_slowed_5": slowed("py_function_numpy", 5),
    "py_function_numpy_twin": twin("py_function_numpy"),
}
