"""The op in TensorFlow ops, compiled by XLA."""

from pyopbench.model.variant import Variant

VARIANT = Variant(
    name="xla",
    summary="TensorFlow ops compiled by XLA: tf.function(jit_compile=True)",
    body="tensor",
    kind="port",
    effort=5,
    build=lambda op, case: op.tensor,  # type: ignore[arg-type,return-value]
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": False, "jit_compile": True},
    role="attempt",
)
