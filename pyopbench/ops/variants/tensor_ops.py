"""The op in TensorFlow ops: as it is, compiled by XLA, and with Python control flow that AutoGraph converts."""

from pyopbench.model.variant import Variant

VARIANTS = {
    "native": Variant(
        name="native",
        summary="TensorFlow ops",
        body="tensor",
        kind="port",
        effort=4,
        build=lambda op, case: op.tensor,  # type: ignore[arg-type,return-value]
        gradients=("autodiff",),
        function_options={"autograph": False},
    ),
    "xla": Variant(
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
    ),
    "autograph": Variant(
        name="autograph",
        summary="Python control flow on tensors, converted by tf.function's AutoGraph",
        body="python",
        kind="port",
        effort=3,
        build=lambda op, case: op.python,  # type: ignore[arg-type,return-value]
        gradients=("autodiff",),
        modes=("call", "node"),
        function_options={"autograph": True},
    ),
    "xla_autograph": Variant(
        name="xla_autograph",
        summary="Python control flow on tensors, converted by AutoGraph, compiled by XLA",
        body="python",
        kind="port",
        effort=5,
        build=lambda op, case: op.python,  # type: ignore[arg-type,return-value]
        gradients=("autodiff",),
        modes=("call", "node"),
        function_options={"autograph": True, "jit_compile": True},
        role="own_attempt",
    ),
}
