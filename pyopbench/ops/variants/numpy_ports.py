"""The NumPy body as it stands, on functions that build TensorFlow ops: a port that costs nothing where it works.

`tnp` rebinds `np` to TensorFlow's NumPy. `traced` calls the body with arrays that stand for tensors: what it does
becomes TensorFlow ops. `keras_ops` uses public functions of `keras.ops` alone, which Keras has for JAX and PyTorch too.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.eager_body import on_arrays
from pyopbench.ports.keras_ops.available import why_no_keras_ops
from pyopbench.ports.rebinding import arrange, rebind, why_not_rebound, written
from pyopbench.ports.traced.for_xla import for_xla
from pyopbench.ports.traced.trace import traced


def _rebind(op: Op, case: Case) -> Body:
    return arrange(op.numpy, rebind(_written(op)))


def _written(op: Op) -> Any:
    """Return the function that the user wrote; of one for `tf.py_function`, a copy without what only tensors have."""
    return written(op.numpy) if op.py_function is None else on_arrays(op.numpy)


def _why_not_rebound(op: Op, case: Case) -> str | None:
    return why_not_rebound(op.numpy)


def _trace(op: Op, case: Case) -> Body:
    return arrange(op.numpy, traced(written(op.numpy)))


def _trace_for_xla(op: Op, case: Case) -> Body:
    port = _trace(op, case)

    def compiled(*tensors: Any) -> Any:
        with for_xla():
            return port(*tensors)

    return compiled


def _on_keras(op: Op, case: Case) -> Body:
    from pyopbench.ports.keras_ops.names import on_keras  # imports Keras, which takes a second and may not be there

    return arrange(op.numpy, on_keras(_written(op)))


_port = partial(
    Variant,
    body="numpy",
    kind="port",
    effort=2,
    gradients=("autodiff",),
    modes=("call", "node"),
    function_options={"autograph": False},
    role="own_attempt",
)

VARIANTS = {
    "keras_ops": _port(
        name="keras_ops",
        summary="the NumPy body on keras.ops' public functions alone, which exist for JAX and PyTorch too",
        build=_on_keras,
        also_on=("JAX", "PyTorch"),
        unsupported=lambda op, case: why_no_keras_ops() or why_not_rebound(op.numpy),
    ),
    "tnp": Variant(
        name="tnp",
        summary="the NumPy body with np rebound to tf.experimental.numpy",
        body="numpy",
        kind="port",
        effort=2,
        build=_rebind,
        gradients=("autodiff",),
        function_options={"autograph": False},
        unsupported=_why_not_rebound,
        role="attempt",
    ),
    "tnp_autograph": _port(
        name="tnp_autograph",
        summary="the NumPy body with np rebound to tf.experimental.numpy, control flow converted by AutoGraph",
        effort=3,
        build=_rebind,
        function_options={"autograph": True},
        unsupported=_why_not_rebound,
    ),
    "tnp_xla": _port(
        name="tnp_xla",
        summary="the NumPy body with np rebound to tf.experimental.numpy, compiled by XLA",
        effort=5,
        build=_rebind,
        function_options={"autograph": True, "jit_compile": True},
        unsupported=_why_not_rebound,
    ),
    "traced": _port(
        name="traced",
        summary="the function as it is, traced into TensorFlow ops",
        build=_trace,
    ),
    "traced_xla": _port(
        name="traced_xla",
        summary="the function as it is, traced into TensorFlow ops and compiled by XLA",
        effort=5,
        build=_trace_for_xla,
        function_options={"autograph": False, "jit_compile": True},
    ),
}
