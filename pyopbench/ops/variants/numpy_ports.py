"""Ports that are written from the NumPy body: each is measured as the file that `pyopbench port` writes."""

from __future__ import annotations

from functools import partial

from pyopbench.model.case import MODES
from pyopbench.model.variant import Variant
from pyopbench.ops.compiled import why_no_numba
from pyopbench.ops.port_file import build_port

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
