"""How controls are made from a variant: the same code with a `tf.function` of its own, as it is or slowed down."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_variant
from pyopbench.ops.parts._twins import twin_of


def twin(base: str) -> Variant:
    """Return the twin of `base` as a control, which is measured by name."""
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
