"""Ports that are written from the NumPy body: each is measured as the file that `pyopbench port` writes.

`traced` is the body in TensorFlow ops, `tnp` on TensorFlow's NumPy, `keras_ops` on public functions of `keras.ops`
alone, which Keras has for JAX and PyTorch too. `traced_graph` is for bodies that can be traced and not be written.
"""

from __future__ import annotations

import tempfile
from functools import partial
from typing import Any

import tensorflow as tf

from pyopbench.model.case import MODES, Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.load import make_inputs
from pyopbench.ops.port_file import build_port
from pyopbench.ports.arrays import as_array
from pyopbench.ports.porting.keras_code import why_no_keras_ops
from pyopbench.ports.rebinding import arrange, written
from pyopbench.ports.tracing.trace import traced


def _exported(op: Op, case: Case) -> Body:
    """Return the traced body as it comes back from a SavedModel, for the shapes of the case."""
    arrays = [as_array(one) for one in make_inputs(op, case.size, case.dtype)]
    specs = [tf.TensorSpec(one.shape, tf.as_dtype(one.dtype)) for one in arrays]
    module = tf.Module()
    module.call = tf.function(arrange(op.numpy, traced(written(op.numpy))), input_signature=specs, autograph=False)
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder)
        loaded = tf.saved_model.load(folder)

    def call(*tensors: Any) -> Any:
        return loaded.call(*tensors)

    return call


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
    "traced_graph": _port(
        name="traced_graph",
        summary="the NumPy body traced into a SavedModel, which no source is written of",
        build=_exported,
        effort=3,
        function_options={"autograph": False},
        role="named_attempt",
    ),
    "traced_loop": _port(
        name="traced_loop",
        summary="the NumPy body written in TensorFlow ops, its loops of known length as loops of the graph",
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
