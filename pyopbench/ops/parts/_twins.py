"""The twin of each variant: the same code in a graph of its own, under a second name."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.model.case import TWIN_SUFFIX
from pyopbench.model.variant import Variant


def twin_of(variant: Variant) -> Variant:
    """Return a variant as `<name>_twin`: whatever is measured between the two is noise."""
    name = variant.name + TWIN_SUFFIX
    return replace(variant, name=name, summary=f"{variant.name} under a second name", role="twin")
