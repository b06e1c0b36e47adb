"""From the arguments that a body is called with to the tensors that stand for them in a graph, and back.

A tensor holds an array; a body as it is may want `str`, lists, or arguments by name. What it is handed is made anew
of the arrays in each call, as a callback that takes tensors has to do. Examples of the arguments come as they are, or
are drawn for a size by the user's function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from pyopbench.model.errors import BadInput
from pyopbench.model.op import Body, OwnOp
from pyopbench.ports.arrays import as_array, as_tuple
from pyopbench.ports.rebinding import ARRANGE, BODY

Form: TypeAlias = Literal["array", "text", "list", "list of text"]
"""What a body gets for an array: the array as it is; text as `str`; a list; or a list of text, which is decoded."""


@dataclass(frozen=True)
class Arguments:
    """How all arguments of a body cross; the last ones by name."""

    each: tuple[Form, ...]
    keywords: tuple[str, ...] = ()

    @property
    def are_plain(self) -> bool:
        """Does the body take arrays as tensors hold them, by position?"""
        return not self.keywords and all(form == "array" for form in self.each)

    def spread(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arrays that stand for the arguments of an example."""
        return tuple(map(_as_array, values))

    def gather(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arguments that arrays stand for."""
        return [_value_of(form, array) for form, array in zip(self.each, arrays, strict=True)]

    def call(self, body: Body, values: Sequence[Any]) -> Any:
        """Call a body with its arguments, the last ones by name."""
        first = len(values) - len(self.keywords)
        return body(*values[:first], **dict(zip(self.keywords, values[first:], strict=True)))


def arguments_of(values: Sequence[Any], keywords: Sequence[str] = (), *, as_python: bool = False) -> Arguments:
    """Return how the arguments of an example cross, the last ones by name.

    With `as_python` the body takes text as `str` and lists as lists, where the example has them.
    """
    return Arguments(tuple(_form_of(value) if as_python else "array" for value in values), tuple(keywords))


def take_arrays(body: Body, arguments: Arguments) -> Body:
    """Return a body that takes arrays by position, whatever the body itself takes."""
    if arguments.are_plain:
        return body

    def on_arrays(*arrays: Any) -> Any:
        return arguments.call(body, arguments.gather(arrays))

    setattr(on_arrays, BODY, body)
    setattr(on_arrays, ARRANGE, _arrange_port(arguments))
    return on_arrays


def _arrange_port(arguments: Arguments) -> Callable[[Body], Body]:
    """Return what gives a port its arguments by name; a tensor stays a tensor where the body took a list of it."""

    def arrange(port: Body) -> Body:
        keywords, first = arguments.keywords, len(arguments.each) - len(arguments.keywords)
        if not keywords:
            return port
        return lambda *tensors: port(*tensors[:first], **dict(zip(keywords, tensors[first:])))  # noqa: B905 - AutoGraph

    return arrange


def _form_of(value: Any) -> Form:
    if isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype.kind == "U"):
        return "text"
    if not isinstance(value, (list, tuple)):
        return "array"
    leaves = list(_leaves(value))
    return "list of text" if leaves and all(isinstance(leaf, str) for leaf in leaves) else "list"


def _leaves(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _as_array(value: Any) -> Any:
    with suppress(ValueError):  # rows of unequal length
        if not (isinstance(value, dict) or value is None or callable(value)):
            return as_array(value)
    raise BadInput(
        "an input cannot be turned into a tensor",
        received=f"{type(value).__name__} {repr(value)[:80]}",
        legal="arrays, numbers, text, and lists of them in which all rows are of one length",
        hint="write a function that creates it inside, and measure that",
    )


def _value_of(form: Form, array: Any) -> Any:
    if form == "array":
        return array
    values = array if isinstance(array, bytes) else np.asarray(array).tolist()
    if form == "list":
        return values
    decoded = _decoded(values)
    return np.array(decoded) if form == "text" and isinstance(decoded, list) else decoded


def _decoded(value: Any) -> Any:
    return [_decoded(one) for one in value] if isinstance(value, list) else value.decode()


@dataclass(frozen=True)
class Examples:
    """Inputs by size, as `Op.make_inputs` gives them: the same arrays whatever the dtype and the generator."""

    by_size: Mapping[int, tuple[Any, ...]]
    are_numbered: bool = False  # is the size the number of an example, because two have as many elements?

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


def inputs_of(own: OwnOp) -> tuple[Examples | Drawn, tuple[int, ...], Arguments]:
    """Return what makes the inputs of a size, the sizes, and how the body takes them."""
    if callable(own.inputs):
        first = as_tuple(own.inputs(own.sizes[0], np.random.default_rng(0)))
        arguments = arguments_of(first, own.keywords, as_python=own.as_python)
        return Drawn(own.inputs, arguments), tuple(own.sizes), arguments
    examples = own.inputs if isinstance(own.inputs, list) else [own.inputs]
    if not examples or not all(isinstance(one, tuple) and one for one in examples):
        raise wrong(
            "inputs are not a tuple of arrays", type(own.inputs).__name__, "(array, ...) or a list of such tuples"
        )
    arguments = arguments_of(examples[0], own.keywords, as_python=own.as_python)
    arrays = [arguments.spread(example) for example in examples]
    by_size = {_size_of(example): example for example in arrays}
    are_numbered = len(by_size) < len(arrays)
    if are_numbered:
        by_size = dict(enumerate(arrays, 1))
    return Examples(by_size, are_numbered), tuple(sorted(by_size)), arguments


def _size_of(example: Sequence[Any]) -> int:
    """Return the elements of the largest input: what a recording of a program counts too."""
    return max(1, *(int(array.size) for array in example))


def wrong(what: str, received: object, legal: str) -> BadInput:
    """Return the error about what a user says of an op."""
    return BadInput(what, received=received, legal=legal, hint="docs/your-own-op.md shows how")
