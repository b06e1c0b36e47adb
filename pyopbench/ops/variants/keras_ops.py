"""The NumPy body as it stands, on public functions of `keras.ops` alone, which Keras has for JAX and PyTorch too."""

from __future__ import annotations

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.keras_ops.available import why_no_keras_ops
from pyopbench.ports.rebinding import arrange, why_not_rebound, written


def _build(op: Op, case: Case) -> Body:
    from pyopbench.ports.keras_ops.names import on_keras  # imports Keras, which takes a second and may not be there

    return arrange(op.numpy, on_keras(written(op.numpy)))


VARIANT = Variant(
    name="keras_ops",
    summary="the NumPy body on keras.ops' public functions alone, which exist for JAX and PyTorch too",
    body="numpy",
    kind="port",
    effort=2,
    build=_build,
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": False},
    also_on=("JAX", "PyTorch"),
    unsupported=lambda op, case: why_no_keras_ops() or why_not_rebound(op.numpy),
    role="own_attempt",
)
