"""The NumPy body as it stands, compiled by Numba's `njit` together with its helpers, behind `tf.numpy_function`."""

from __future__ import annotations

from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS
from pyopbench.ops.compiled import build_compiled, why_not_compiled

VARIANT = Variant(
    name="njit",
    summary="the NumPy body compiled by Numba's njit, behind tf.numpy_function",
    body="numpy",
    kind="callback",
    effort=1,
    build=build_compiled,
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
    unsupported=why_not_compiled,
    role="own_attempt",
)
