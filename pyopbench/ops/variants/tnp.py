"""The NumPy body as it stands, with `np` rebound to TensorFlow's NumPy: a port that costs nothing where it works."""

from __future__ import annotations

from pyopbench.model.variant import Variant
from pyopbench.ports.rebinding import rebind, why_not_rebound

VARIANT = Variant(
    name="tnp",
    summary="the NumPy body with np rebound to tf.experimental.numpy",
    body="numpy",
    kind="port",
    effort=2,
    build=lambda op, case: rebind(op.numpy),
    gradients=("autodiff",),
    function_options={"autograph": False},
    unsupported=lambda op, case: why_not_rebound(op.numpy),
    role="attempt",
)
