"""The inputs of an own op: examples as they are, or drawn for a size by the user's function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyopbench.model.errors import BadInput
from pyopbench.model.own_op import OwnOp
from pyopbench.ops.own.arguments import Arguments, arguments_of
from pyopbench.ports.arrays import as_tuple


@dataclass(frozen=True)
class Examples:
    """Inputs by size, as `Op.make_inputs` gives them: the same arrays whatever the dtype and the generator."""

    by_size: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)

    def __call__(self, size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return the example of a size."""
        return self.by_size[size]


@dataclass(frozen=True)
class Drawn:
    """Inputs from the user's `(size, rng) -> tuple`, as `Op.make_inputs` gives them."""

    draw: Callable[[int, np.random.Generator], Any]
    arguments: Arguments

    def __call__(self, size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        """Return inputs of a size."""
        return self.arguments.spread(as_tuple(self.draw(size, rng)))


def _examples_of(own: OwnOp) -> list[Any]:
    return own.inputs if isinstance(own.inputs, list) else [own.inputs]


def are_scalars(own: OwnOp) -> bool:
    """Are there several examples of one element each, which only their number tells apart?"""
    examples = [] if callable(own.inputs) else _examples_of(own)
    return len(examples) > 1 and all(np.size(value) == 1 for example in examples for value in example)


def inputs_of(own: OwnOp) -> tuple[Examples | Drawn, tuple[int, ...], Arguments]:
    """Return what makes the inputs of a size, the sizes, and how the body takes them.

    Raises:
        BadInput: the inputs are no examples that can be told apart.
    """
    if callable(own.inputs):
        first = as_tuple(own.inputs(own.sizes[0], np.random.default_rng(0)))
        arguments = arguments_of(first, own.keywords, as_python=own.as_python)
        return Drawn(own.inputs, arguments), tuple(own.sizes), arguments
    examples = _examples_of(own)
    if not examples or not all(isinstance(one, tuple) and one for one in examples):
        raise wrong(
            "inputs are not a tuple of arrays", type(own.inputs).__name__, "(array, ...) or a list of such tuples"
        )
    arguments = arguments_of(examples[0], own.keywords, as_python=own.as_python)
    arrays = [arguments.spread(example) for example in examples]
    by_size = {_size_of(example): example for example in arrays}
    if are_scalars(own):
        by_size = dict(enumerate(arrays, 1))
    if len(by_size) < len(arrays):
        raise wrong(
            "two examples have the same number of elements",
            [_size_of(example) for example in arrays],
            "examples of different sizes",
        )
    return Examples(by_size), tuple(sorted(by_size)), arguments


def _size_of(example: Sequence[Any]) -> int:
    """Return the elements of the largest input: what a recording of a program counts too."""
    return max(1, *(int(array.size) for array in example))


def wrong(what: str, received: object, legal: str) -> BadInput:
    """Return the error about what a user says of an op."""
    return BadInput(what, received=received, legal=legal, hint="`pyopbench new op` writes a file that shows how")
