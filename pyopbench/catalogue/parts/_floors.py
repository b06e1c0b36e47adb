"""The floor of a variant, measured in the rounds of whatever it explains: one element through its bridge and back."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.catalogue.ops.identity import OP as IDENTITY
from pyopbench.core.model import FLOOR_SUFFIX
from pyopbench.core.variant import Variant


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
