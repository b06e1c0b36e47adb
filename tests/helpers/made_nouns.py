"""Ops and variants, made up."""

from __future__ import annotations

from typing import Any

from pyopbench.model.op import Op, Own
from pyopbench.model.variant import Variant

OWN_OPS = {
    "of the catalogue": None,
    "with a NumPy body": Own(),
    "with examples": Own(fixed_sizes=True),
    "with a py_function body": Own(py_function=abs, tried=frozenset({"tensor"})),
}


def made_op(**fields: Any) -> Op:
    given = {"sizes": (3, 5), "quick_sizes": (3,), **fields}
    return Op("made", "", "", lambda size, dtype, rng: (), abs, **given)


def made_variant(**fields: Any) -> Variant:
    usual = {"body": "numpy", "kind": "callback", "role": "candidate"}
    given: dict[str, Any] = {**usual, **fields}
    return Variant("made", "", effort=0, build=lambda op, case: abs, gradients=(), **given)
