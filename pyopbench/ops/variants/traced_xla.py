"""The NumPy body as it stands, traced into TensorFlow ops as in `traced`, and compiled by XLA."""

from __future__ import annotations

from pyopbench.model.variant import Variant
from pyopbench.ports.rebinding import arrange, written
from pyopbench.ports.traced.trace import traced

VARIANT = Variant(
    name="traced_xla",
    summary="the function as it is, traced into TensorFlow ops and compiled by XLA",
    body="numpy",
    kind="port",
    effort=5,
    build=lambda op, case: arrange(op.numpy, traced(written(op.numpy))),
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": False, "jit_compile": True},
    role="own_attempt",
)
