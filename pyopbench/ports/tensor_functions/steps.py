"""A step of a written port that stays in NumPy: a call on arrays inside the graph, with its shapes."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import tensorflow as tf


def np_step(
    function: Any, tensors: Any, dtypes: Any, shapes: Any, fields: Any = (), copied: bool = False, left_out: Any = ()
) -> Any:
    """Return what a function of arrays returns, run on the CPU while it holds the GIL.

    Of several results, those that no tensor holds are left out, and are None.

    A gradient that has to go through its floats raises an error; without that part it would be a wrong one.
    """

    def on_arrays(*arrays: Any) -> Any:
        found = function(*(np.array(one) if copied else one for one in arrays))
        if fields:
            return [np.asarray(getattr(found, name)) for name in fields]
        several = found if isinstance(found, (tuple, list)) else [found]
        return [np.asarray(one) for place, one in enumerate(several) if place not in left_out]

    def call(*given: Any) -> Any:
        found = tf.nest.flatten(tf.numpy_function(on_arrays, given, dtypes))
        return [tf.ensure_shape(one, shape) for one, shape in zip(found, shapes, strict=True)]

    def without_gradient(*given: Any) -> Any:
        def gradient(*incoming: Any) -> Any:
            refusal = tf.debugging.Assert(False, [f"no gradient goes through {function.__name__}"])
            with tf.control_dependencies([] if refusal is None else [refusal]):
                return [tf.zeros_like(one) for one in given]

        return call(*given), gradient

    given = [tf.convert_to_tensor(one) for one in tensors]
    kinds = [one.dtype for one in given], dtypes
    is_smooth = all(any(one.is_floating or one.is_complex for one in some) for some in kinds)
    found = tf.custom_gradient(without_gradient)(*given) if is_smooth else call(*given)
    if fields:
        return collections.namedtuple("Found", fields)(*found)
    if left_out:
        rest = iter(found)
        return tuple(None if place in left_out else next(rest) for place in range(len(found) + len(left_out)))
    return found[0] if len(found) == 1 else tuple(found)
