"""The op as a C++ kernel, compiled for the TensorFlow that is running."""

from __future__ import annotations

from pyopbench.model.case import DEVICES, GPU, Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.kernels import register


def _build(op: Op, case: Case) -> Body:
    return register.body_of(op, on_gpu=case.placement == GPU)


def _why_not(op: Op, case: Case) -> str | None:
    return register.why_not(op, on_gpu=case.placement == GPU)


VARIANT = Variant(
    name="custom_op",
    summary="C++ kernel as a TensorFlow op of its own",
    body="kernel",
    kind="port",
    effort=6,
    build=_build,
    gradients=("autodiff",),
    placements=DEVICES,
    function_options={"autograph": False},
    unsupported=_why_not,
)
