"""Ports that are written from the NumPy body: each is measured as the file that `pyopbench port` writes.

`traced` is the body in TensorFlow ops, `tnp` on TensorFlow's NumPy, `keras_ops` on public functions of `keras.ops`
alone, which Keras has for JAX and PyTorch too.
"""

from __future__ import annotations

from functools import partial

from pyopbench.model.case import MODES
from pyopbench.model.variant import Variant
from pyopbench.ops.port_file import build_port
from pyopbench.ports.porting.keras_code import why_no_keras_ops

_port = partial(
    Variant,
    body="numpy",
    kind="port",
    effort=2,
    build=build_port,
    gradients=("autodiff",),
    modes=("call", "node"),
    role="own_attempt",
)

VARIANTS = {
    "keras_ops": _port(
        name="keras_ops",
        summary="the NumPy body on keras.ops' public functions alone, which exist for JAX and PyTorch too",
        also_on=("JAX", "PyTorch"),
        unsupported=lambda op, case: why_no_keras_ops(),
    ),
    "tnp": _port(
        name="tnp",
        summary="the NumPy body with np rebound to tf.experimental.numpy",
        modes=MODES,
        function_options={"autograph": False},
        role="attempt",
    ),
    "tnp_autograph": _port(
        name="tnp_autograph",
        summary="the NumPy body with np rebound to tf.experimental.numpy, control flow converted by AutoGraph",
        effort=3,
        function_options={"autograph": True},
    ),
    "tnp_xla": _port(
        name="tnp_xla",
        summary="the NumPy body with np rebound to tf.experimental.numpy, compiled by XLA",
        effort=5,
        function_options={"autograph": True, "jit_compile": True},
    ),
    "traced": _port(
        name="traced",
        summary="the NumPy body written in TensorFlow ops",
        function_options={"autograph": True},
    ),
    "traced_loop": _port(
        name="traced_loop",
        summary="the NumPy body written in TensorFlow ops, with loops of known length kept as loops in the graph",
        function_options={"autograph": True},
    ),
    "traced_unrolled": _port(
        name="traced_unrolled",
        summary="the NumPy body written in TensorFlow ops, with long loops of known length unrolled",
        function_options={"autograph": True},
    ),
    "traced_xla": _port(
        name="traced_xla",
        summary="the NumPy body written in TensorFlow ops and compiled by XLA",
        effort=5,
        function_options={"autograph": True, "jit_compile": True},
    ),
}
