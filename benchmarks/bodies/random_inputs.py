"""Inputs of a body that nobody chose: of sizes down to none, with NaN, ties, zeros and infinities among the values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bodies.left_open import Compared, are_open
from bodies.random_gradients import gradient_outcome
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.model.variant import Variant
from pyopbench.ops.load import make_inputs
from pyopbench.ports.arrays import as_array, as_given, as_tuple
from pyopbench.worker.prepare.checks import Reference, check_values, make_reference
from pyopbench.worker.prepare.segments import constants, wrap

SMALL = (0, 1, 2, 3)
"""Sizes that are drawn beside the least one of the body's own; each shape is traced once, which takes seconds."""


def _everywhere(array: Any, rng: np.random.Generator, value: float) -> Any:
    where = rng.random(array.shape) < 0.3
    return np.where(where, np.asarray(value, array.dtype), array)


def _tied(array: Any, rng: np.random.Generator) -> Any:
    return rng.choice(array.ravel()[:2], array.shape) if array.size else array


CHANGES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "as drawn": lambda array, rng: array,
    "ties": _tied,
    "all equal": lambda array, rng: np.full_like(array, array.ravel()[0]) if array.size else array,
    "zeros": lambda array, rng: _everywhere(array, rng, 0),
    "NaN": lambda array, rng: _everywhere(array, rng, np.nan),
    "infinite": lambda array, rng: _everywhere(array, rng, rng.choice([np.inf, -np.inf])),
    "negative": lambda array, rng: -array,
    "large": lambda array, rng: array * np.asarray(1e3, array.dtype),
}
"""What becomes of an input of floats. One of integers is often an index: it stays as drawn, or has ties."""

OF_INTEGERS = ("as drawn", "ties", "all equal")

MOST_DIFFERENCES = 25
"""On how many inputs a gradient is held against differences, which take two calls for each element."""


@dataclass
class Tally:
    """What became of the inputs of a body.

    Attributes:
        equal: how often the port gave what the body did.
        refused: how often the body raised, so that there was nothing to compare.
        gradients: how often the gradient of the port was the body's too.
        raised: how often only the port raised: on which inputs, and what.
        left_open: where it gave something else, and so does the body when its inputs move by a few roundings.
        wrong: where it gave something else.
    """

    equal: int = 0
    refused: int = 0
    gradients: int = 0
    raised: list[str] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def draw_and_compare(op: Op, variant: Variant, case: Any, *, examples: int, first: int = 0) -> Tally:
    """Hold a port against its body on inputs that Hypothesis draws.

    Args:
        op: an op of its user's own.
        variant: the port.
        case: of it.
        examples: how many inputs.
        first: the seed that they are drawn from.

    Raises:
        Exception: there is no port: it fails at the inputs of the body's own.
    """
    function = wrap(variant.build(op, case), variant, case.mode)
    (dtype,) = op.dtypes
    tally = Tally()
    function(*constants(make_inputs(op, op.sizes[0], dtype, first)))

    @seed(first)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        size=st.sampled_from((*SMALL, op.sizes[0])),
        number=st.integers(0, 2**16),
        changes=st.lists(st.sampled_from(list(CHANGES)), min_size=1, max_size=6),
    )
    def compare(size: int, number: int, changes: list[str]) -> None:
        described = f"size {size}, seed {number}, {', '.join(changes)}"
        try:
            inputs = changed(make_inputs(op, size, dtype, number), changes, np.random.default_rng(number))
            reference = _reference(op, inputs, dtype)
        except Exception:  # noqa: BLE001 - no inputs of that size, or none that the body takes
            tally.refused += 1
            return
        _compare(op, function, reference, described, tally)

    compare()
    return tally


def changed(inputs: tuple[Any, ...], changes: list[str], rng: np.random.Generator) -> tuple[Any, ...]:
    """Return inputs of which each is changed by one of some changes, in turn."""
    found = []
    for place, array in enumerate(inputs):
        name = changes[place % len(changes)]
        is_float = array.dtype.kind == "f"
        takes = is_float or (array.dtype.kind in "iub" and array.ndim and name in OF_INTEGERS)
        found.append(np.asarray(CHANGES[name](array, rng)).astype(array.dtype) if takes else array)
    return tuple(found)


def _reference(op: Op, inputs: tuple[Any, ...], dtype: str) -> Reference:
    assert op.numpy is not None
    with np.errstate(all="ignore"):
        as_tuple(op.numpy(*as_given(tuple(np.array(one) for one in inputs))))
        return make_reference(op, inputs, dtype, np.random.default_rng(0))


def _compare(op: Op, function: Any, reference: Reference, described: str, tally: Tally) -> None:
    try:
        found = as_tuple(function(*constants(reference.inputs)))
    except (tf.errors.OpError, Exception) as error:  # noqa: BLE001 - a port may fail as it likes, but not in silence
        tally.raised.append(f"{described}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
        return
    try:
        check_values(op, found, reference, op.dtypes[0])
    except WrongResult as error:
        where = tally.left_open if _is_left_open(op, found, reference) else tally.wrong
        where.append(f"{described}: {error.message}")
    else:
        tally.equal += 1
        _compare_gradients(op, function, reference, described, tally)


def _is_left_open(op: Op, found: tuple[Any, ...], reference: Reference) -> bool:
    dtype = op.dtypes[0]

    def body(inputs: Any) -> list[Any]:
        outputs = as_tuple(op.numpy(*as_given(tuple(np.array(one) for one in inputs))))
        return [as_array(one, kind) for one, kind in zip(outputs, op.output_dtypes(dtype), strict=True)]

    if len(found) != len(reference.outputs):
        return False
    arrays = [np.asarray(one) for one in found]
    return are_open(body, reference.inputs, Compared(arrays, reference.outputs, op.tolerance[dtype]))


def _compare_gradients(op: Op, function: Any, reference: Reference, described: str, tally: Tally) -> None:
    by_differences = op.numpy_gradient is None
    if not op.differentiable or (by_differences and tally.gradients >= MOST_DIFFERENCES):
        return
    outcome, what = gradient_outcome(op, function, reference, op.dtypes[0])
    tally.gradients += outcome == "equal"
    if outcome in ("open", "wrong"):
        (tally.left_open if outcome == "open" else tally.wrong).append(f"{described}: {what}")
