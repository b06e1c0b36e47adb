"""The TensorFlow body by itself, run eagerly: what `py_function` spends inside its callback."""

from pyopbench.model.variant import Variant

VARIANT = Variant(
    name="tensor_alone",
    summary="TensorFlow body called eagerly, on eager tensors",
    body="tensor",
    kind="callback",
    role="body_alone",
    effort=0,
    build=lambda op, case: op.tensor,  # type: ignore[arg-type,return-value]
    gradients=(),
    modes=("call", "node"),
)
