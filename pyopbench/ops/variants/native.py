"""The op in TensorFlow ops."""

from pyopbench.model.variant import Variant

VARIANT = Variant(
    name="native",
    summary="TensorFlow ops",
    body="tensor",
    kind="port",
    effort=4,
    build=lambda op, case: op.tensor,  # type: ignore[arg-type,return-value]
    gradients=("autodiff",),
    function_options={"autograph": False},
)
