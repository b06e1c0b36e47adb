"""The op in TensorFlow ops: as it is, compiled by XLA, and with Python control flow that AutoGraph converts."""

from functools import partial

from pyopbench.model.variant import Variant

_port = partial(Variant, kind="port", gradients=("autodiff",))
_of_tensors = partial(_port, body="tensor", build=lambda op, case: op.tensor)
_of_python = partial(
    _port,
    body="python",
    build=lambda op, case: op.python,
    modes=("call", "node"),
)

VARIANTS = {
    "native": _of_tensors(
        name="native",
        summary="TensorFlow ops",
        effort=4,
        function_options={"autograph": False},
    ),
    "xla": _of_tensors(
        name="xla",
        summary="TensorFlow ops compiled by XLA: tf.function(jit_compile=True)",
        effort=5,
        modes=("call", "node"),
        function_options={"autograph": False, "jit_compile": True},
        role="attempt",
    ),
    "autograph": _of_python(
        name="autograph",
        summary="Python control flow on tensors, converted by tf.function's AutoGraph",
        effort=3,
        function_options={"autograph": True},
    ),
    "xla_autograph": _of_python(
        name="xla_autograph",
        summary="Python control flow on tensors, converted by AutoGraph, compiled by XLA",
        effort=5,
        function_options={"autograph": True, "jit_compile": True},
        role="own_attempt",
    ),
}
