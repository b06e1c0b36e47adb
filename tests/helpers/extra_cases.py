"""Cases of the ops in `extras`, for tests that have them measured or checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyopbench.model.case import Case
from pyopbench.ops.load import load_ops, load_variant

ELEMENTWISE = [
    name
    for name, op in load_ops().items()
    if op.kernel is not None and '#include "elementwise.h"' in op.kernel.read_text(encoding="utf-8")
]
"""Built-in ops whose kernel takes each element by itself."""

SIZE = 4


def case(variant: str, direction: str = "forward", gradient: str = "", op: str = "negate", mode: str = "call") -> str:
    usual = "none" if direction == "forward" else gradient or load_variant(variant).gradients[0]
    return Case(op, variant, usual, direction, mode, "float32", SIZE).id


def ignore(event: Mapping[str, Any]) -> None:
    pass
