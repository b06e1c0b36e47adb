"""The floor of a variant, measured in the rounds of whatever it explains: one element through its bridge and back."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.model.case import FLOOR_SUFFIX
from pyopbench.model.variant import Variant
from pyopbench.ops.builtin.identity import OP as IDENTITY


def floor_of(variant: Variant) -> Variant:
    """Return the part that has nothing to do in a variant, whatever the op of its case."""
    return replace(
        variant,
        name=variant.name + FLOOR_SUFFIX,
        summary=f"one element through {variant.name} and back",
        role="floor",
        effort=0,
        build=lambda op, case: variant.build(IDENTITY, case),
        gradients=(),
        modes=("call",),
        op=IDENTITY,
    )
