"""The NumPy body rebound as in `tnp`, its control flow on tensors converted by AutoGraph."""

from __future__ import annotations

from pyopbench.model.variant import Variant
from pyopbench.ports.rebinding import rebind, why_not_rebound

VARIANT = Variant(
    name="tnp_autograph",
    summary="the NumPy body with np rebound to tf.experimental.numpy, control flow converted by AutoGraph",
    body="numpy",
    kind="port",
    effort=3,
    build=lambda op, case: rebind(op.numpy),
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": True},
    unsupported=lambda op, case: why_not_rebound(op.numpy),
    role="own_attempt",
)
