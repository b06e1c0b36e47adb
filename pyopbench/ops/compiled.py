"""Whether Numba is there, and takes a port that was written for it."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Op
from pyopbench.model.portable import BATCHED
from pyopbench.ops.own.explain import explain, place_of
from pyopbench.ops.port_file import port_call
from pyopbench.ports.arrays import as_array
from pyopbench.ports.porting.refusal import CannotPort


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
