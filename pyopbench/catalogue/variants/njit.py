"""The NumPy body as it stands, compiled by Numba's `njit` together with its helpers, behind `tf.numpy_function`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.catalogue.arrays import as_array
from pyopbench.catalogue.build_callback import CALLBACK_GRADIENTS, build_callback
from pyopbench.catalogue.gradients import as_tuple, one_or_tuple
from pyopbench.catalogue.numba_bodies import why_no_numba
from pyopbench.catalogue.rebinding import rebind_helpers, why_not_rebound
from pyopbench.core.model import Case
from pyopbench.core.op import Body, Op
from pyopbench.core.variant import Variant


def _build(op: Op, case: Case) -> Body:
    import numba

    compiled, dtypes = rebind_helpers(op.numpy, numba.njit), op.output_dtypes(case.dtype)

    def body(*inputs: Any) -> Any:
        # What is a number of NumPy's in the body comes out of Numba as one of Python's.
        pairs = zip(as_tuple(compiled(*inputs)), dtypes, strict=True)
        return one_or_tuple([one if isinstance(one, np.ndarray) else as_array(one, dtype) for one, dtype in pairs])

    return build_callback(op, case, tf.numpy_function, body, op.numpy_gradient)


def _why_not(op: Op, case: Case) -> str | None:
    return why_no_numba() or why_not_rebound(op.numpy)


VARIANT = Variant(
    name="njit",
    summary="the NumPy body compiled by Numba's njit, behind tf.numpy_function",
    body="numpy",
    kind="callback",
    effort=1,
    build=_build,
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
    unsupported=_why_not,
    role="own_attempt",
)
