"""The NumPy body by itself, on arrays: what a callback over it spends inside Python."""

from pyopbench.model import Variant

VARIANT = Variant(
    name="numpy_alone",
    summary="NumPy body called on arrays, without TensorFlow",
    body="numpy",
    kind="part",
    effort=0,
    build=lambda op, case: op.numpy,
    gradients=(),
    modes=("call",),
)
