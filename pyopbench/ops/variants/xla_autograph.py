"""A body with Python control flow on tensors, converted by AutoGraph and compiled by XLA."""

from pyopbench.model.variant import Variant

VARIANT = Variant(
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
)
