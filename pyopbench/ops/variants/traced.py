"""The NumPy body as it stands, called with arrays that stand for tensors: what it does becomes TensorFlow ops."""

from __future__ import annotations

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.rebinding import arrange, written
from pyopbench.ports.traced.trace import traced


def _build(op: Op, case: Case) -> Body:
    return arrange(op.numpy, traced(written(op.numpy)))


VARIANT = Variant(
    name="traced",
    summary="the function as it is, traced into TensorFlow ops",
    body="numpy",
    kind="port",
    effort=2,
    build=_build,
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": False},
    role="own_attempt",
)
