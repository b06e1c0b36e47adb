"""Counts the arrays that are copied between a callback's tensors and its body, by where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pyopbench.worker.suite_api import Body, Case, Op


class _Watched:
    """A body that remembers where the arrays of its last call lay, and puts new ones where NumPy's usually lie.

    TensorFlow takes over without a copy what begins at a multiple of 64 bytes. Where NumPy puts
    a result is chance, and its share differed between 3% and 100% from process to process: a figure that would raise an
    alarm over every other commit.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.taken: list[int] = []
        self.given: list[int] = []

    def __call__(self, *inputs: Any) -> Any:
        from pyopbench.worker.suite_api import as_tuple, one_or_tuple

        self.taken = addresses(inputs)
        results = tuple(self._usual(result) for result in as_tuple(self.body(*inputs)))
        self.given = addresses(results)
        return one_or_tuple(results)

    def _usual(self, result: Any) -> Any:
        from pyopbench.worker.suite_api import unaligned

        new = isinstance(result, np.ndarray | np.generic) and addresses([result])[0] not in self.taken
        return unaligned(np.asarray(result)) if new else result


def require_callback(variant_name: str) -> None:
    """Check that Python runs inside the graph.

    Raises:
        NotImplementedError: it does not, so that nothing crosses; asv takes that for a combination to be skipped.
    """
    from pyopbench.worker.suite_api import load_variant

    if not load_variant(variant_name).is_callback:
        raise NotImplementedError(f"{variant_name} has no Python in the graph: nothing crosses")


def count_copies(case: Case) -> int:
    """Return how many inputs and outputs of a callback's forward pass arrive elsewhere in memory than they left.

    Args:
        case: a forward call of a `tf.function` on the CPU, of a callback.

    Returns:
        Copied arrays per call. One that is copied twice on its way counts once.
    """
    from pyopbench.worker.suite_api import as_tuple, constants, load_op, load_variant, make_inputs, wrap

    op, variant = load_op(case.op), load_variant(case.variant)
    watched, op = _watch(op, variant.body)
    function = wrap(variant.build(op, case), variant, case.mode)
    tensors = constants(make_inputs(op, case.size, case.dtype))
    outputs = as_tuple(function(*tensors))
    return _differ(addresses(tensors), watched.taken) + _differ(watched.given, addresses(outputs))


def addresses(arrays: Sequence[Any]) -> list[int]:
    """Return where the elements of arrays or of eager tensors on the CPU begin; both lend their memory as buffers."""
    return [np.asarray(memoryview(array)).ctypes.data for array in arrays]


def _watch(op: Op, body: str) -> tuple[_Watched, Op]:
    """Return what remembers, and the op with it in place of the body of that name."""
    watched = _Watched(getattr(op, body))
    return watched, replace(op, **{body: watched})


def _differ(left: Sequence[int], arrived: Sequence[int]) -> int:
    return sum(one != other for one, other in zip(left, arrived, strict=True))
