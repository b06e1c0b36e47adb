"""As `njit`, its array expressions and `prange` loops spread over the cores of the machine."""

from __future__ import annotations

from functools import partial

from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS
from pyopbench.ops.compiled import build_compiled, why_not_compiled

VARIANT = Variant(
    name="njit_parallel",
    summary="the NumPy body compiled by Numba's njit(parallel=True), behind tf.numpy_function",
    body="numpy",
    kind="callback",
    effort=2,
    build=partial(build_compiled, parallel=True),
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
    unsupported=why_not_compiled,
    role="named_attempt",
)
