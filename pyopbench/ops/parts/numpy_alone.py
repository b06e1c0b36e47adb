"""The NumPy body by itself, on arrays: what a callback over it spends inside Python."""

from __future__ import annotations

from pyopbench.model.case import Case
from pyopbench.model.errors import Unsupported
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant


def _build(op: Op, case: Case) -> Body:
    if op.py_function is not None:
        raise Unsupported("the op has a py_function body, which needs TensorFlow")
    return op.numpy


VARIANT = Variant(
    name="numpy_alone",
    summary="NumPy body called on arrays, without TensorFlow",
    body="numpy",
    kind="callback",
    role="body_alone",
    effort=0,
    build=_build,
    gradients=(),
    modes=("call", "node"),
)
