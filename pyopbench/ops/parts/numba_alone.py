"""The body compiled by Numba by itself, on arrays: what a callback over it spends inside it."""

from __future__ import annotations

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant


def _build(op: Op, case: Case) -> Body:
    assert op.numba is not None
    return op.numba()[0]


VARIANT = Variant(
    name="numba_alone",
    summary="Numba body called on arrays, without TensorFlow",
    body="numba",
    kind="callback",
    role="body_alone",
    effort=0,
    build=_build,
    gradients=(),
    modes=("call", "node"),
)
