"""The op's Python control flow, converted by AutoGraph."""

from pyopbench.model.variant import Variant

VARIANT = Variant(
    name="autograph",
    summary="Python control flow on tensors, converted by tf.function's AutoGraph",
    body="python",
    kind="port",
    effort=3,
    build=lambda op, case: op.python,  # type: ignore[arg-type,return-value]
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": True},
)
