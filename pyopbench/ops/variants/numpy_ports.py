"""Ports that are written from the NumPy body: each is measured as the file that `pyopbench port` writes."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec

import numpy as np
import tensorflow as tf

from pyopbench.model.case import MODES
from pyopbench.model.op import Op
from pyopbench.model.variant import BATCHED, Variant
from pyopbench.ops.own.explain import explain, place_of
from pyopbench.ops.port_file import build_port, port_call
from pyopbench.ports.arrays import as_array
from pyopbench.ports.extract.definitions import CannotPort


def check_compiled(op: Op, variant: str) -> None:
    """Have Numba compile a port on an example: its test would fail with no line of the user's.

    Args:
        op: the op of the body.
        variant: one that Numba compiles.

    Raises:
        CannotPort: it cannot be compiled, or the example fails in it; with the user's line.
    """
    why = why_no_numba()
    if why:
        raise CannotPort(why)
    (dtype,) = op.dtypes[:1]
    arrays = [as_array(one) for one in op.make_inputs(op.sizes[0], dtype, np.random.default_rng(0))]
    given = [np.stack([one, one]) for one in arrays] if variant in BATCHED else arrays
    try:
        port_call(op, variant, dtype)(*map(tf.constant, given))
    except CannotPort:
        raise
    except Exception as error:
        raise CannotPort(explain(error, op), place=place_of(error, op)) from error


def why_no_numba() -> str | None:
    """Return how to get Numba where it is not installed, or None."""
    return None if find_spec("numba") else "Numba is not installed: pip install 'pyopbench[numba]'"


_port = partial(
    Variant,
    body="numpy",
    kind="port",
    build=build_port,
    gradients=("autodiff",),
    modes=("call", "node"),
    role="attempt",
)

VARIANTS = {
    "numba_op": _port(
        name="numba_op",
        summary="the NumPy body compiled by Numba and registered as a TensorFlow op",
        effort=2,
        gradients=("custom_gradient",),
        modes=MODES,
        function_options={"autograph": False},
        unsupported=lambda op, case: why_no_numba(),
    ),
    "traced": _port(
        name="traced",
        summary="the NumPy body written in TensorFlow ops",
        effort=2,
        function_options={"autograph": True},
    ),
    "traced_xla": _port(
        name="traced_xla",
        summary="the NumPy body written in TensorFlow ops and compiled by XLA",
        effort=5,
        function_options={"autograph": True, "jit_compile": True},
    ),
}
