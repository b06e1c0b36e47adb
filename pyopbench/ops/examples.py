"""Examples of one shape that a batch is made of: drawn where an op draws its inputs, else varied from the only one.

A batch of one example many times over would not show whether a form keeps its examples apart: `x - x.mean()` over all
of them is right as long as they are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.op import Op
from pyopbench.ops.load import make_inputs
from pyopbench.ports.arrays import body_outputs, dtype_of

Example: TypeAlias = tuple[Any, ...]

DRAWS_PER_EXAMPLE = 4
"""Draws for each example that is wanted, where shapes may depend on the draw: those of the first one's shapes count."""

LEAST_SCALE = 0.75
"""Examples are varied by a factor from here to 1 each, so that they differ in their sums, means and largest values;
not above 1, because many bodies take shares, probabilities or colours."""


def examples_of(op: Op, size: int, dtype: str, count: int) -> list[Example]:
    """Return examples of one shape, different ones if the op takes others than the one that it brings."""
    first = make_inputs(op, size, dtype)
    drawn = [first]
    if op.own is None or not op.own.fixed_sizes:
        drawn = _drawn(op, size, dtype, count)
    if len(drawn) == count and are_distinct(drawn):
        return drawn
    return _varied(op, first, count)


def _drawn(op: Op, size: int, dtype: str, count: int) -> list[Example]:
    found: list[Example] = []
    for seed in range(count * DRAWS_PER_EXAMPLE):
        example = make_inputs(op, size, dtype, seed)
        if not found or _kind_of(example) == _kind_of(found[0]):
            found.append(example)
        if len(found) == count:
            break
    return found


def _kind_of(example: Example) -> list[tuple[Any, ...]]:
    return [(array.shape, dtype_of(array)) for array in example]


def are_distinct(examples: Sequence[Example]) -> bool:
    """Do no two examples hold the same?"""
    held = {tuple(array.tobytes() if array.dtype.kind != "O" else repr(array) for array in one) for one in examples}
    return len(held) == len(examples)


def _varied(op: Op, first: Example, count: int) -> list[Example]:
    """Return the example and variations of it that the body takes, of the kind that differs most of those that it does.

    Elements are drawn anew from the example's own, rows as a whole and in their order: so indices stay indices, boxes
    boxes and what is sorted sorted.
    """
    kinds: tuple[Callable[[Example, np.random.Generator], Example], ...] = (
        lambda example, rng: _scaled(_resampled(example, rng), rng),
        _resampled,
        _scaled,
    )
    for vary in kinds:
        rng = np.random.default_rng(count)
        found = [first, *(vary(first, rng) for _ in range(count - 1))]
        if are_distinct(found) and _takes(op, found):
            return found
    return [first] * count


def _resampled(example: Example, rng: np.random.Generator) -> Example:
    """Return an example whose rows are drawn from its own, with repetition; inputs of one length by the same draw."""
    places: dict[int, Any] = {}
    varied = []
    for array in example:
        axis = next((axis for axis, length in enumerate(array.shape) if length > 1), None)
        if axis is None:
            varied.append(array)
            continue
        length = array.shape[axis]
        if length not in places:
            places[length] = np.sort(rng.integers(0, length, length))
        varied.append(np.take(array, places[length], axis))
    return tuple(varied)


def _scaled(example: Example, rng: np.random.Generator) -> Example:
    factor = rng.uniform(LEAST_SCALE, 1.0)
    return tuple(np.asarray(array * factor, array.dtype) if array.dtype.kind == "f" else array for array in example)


def _takes(op: Op, examples: Sequence[Example]) -> bool:
    """Does the body take the examples as it takes the first: same kinds of outputs, and finite ones where those are?"""
    kinds = []
    for example in examples:
        try:
            outputs = body_outputs(op.numpy, example)
        except Exception:  # noqa: BLE001 - the body is the user's own
            return False
        kinds.append([(one.ndim, one.dtype.kind, _is_finite(one)) for one in outputs])
    return all(kind == kinds[0] for kind in kinds)


def _is_finite(array: Any) -> bool:
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())
