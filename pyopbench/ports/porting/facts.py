"""What a port says of itself: of what it is made, what it takes and returns, and how it is differentiated."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.model.op import Op
from pyopbench.ports.arrays import STRING, as_array, body_outputs, dtype_of

WIDTH = 88
SEEDS = 3
"""Draws of each size, by which it is seen what of a shape is always the same."""


@dataclass(frozen=True)
class Facts:
    """What is known of an op from its inputs and outputs on examples.

    Attributes:
        function: the name that the user's function has where it is defined.
        file: the name of the file that it is in, as a comment and a docstring may have it.
        inputs: name, dtype and rank of each input.
        outputs: dtype of each output, and its shape: a number, `input.shape[axis]`, or None for what varies.
        differentiable: positions of the inputs that have a gradient.
        floating: positions of the outputs that a gradient flows back through.
    """

    function: str
    file: str
    inputs: tuple[tuple[str, str, int], ...]
    outputs: tuple[tuple[str, tuple[str | None, ...]], ...]
    differentiable: tuple[int, ...]
    floating: tuple[int, ...]


def examples_of(op: Op, sizes: int = 2, seeds: int = SEEDS) -> list[tuple[Any, ...]]:
    """Return inputs of the smallest sizes, several draws of each."""
    is_fixed = op.own is not None and op.own.fixed_sizes
    return [
        tuple(as_array(one) for one in op.make_inputs(size, op.dtypes[0], np.random.default_rng(seed)))
        for size in op.quick_sizes[:sizes]
        for seed in range(1 if is_fixed else seeds)
    ]


def facts_of(op: Op, function: str, names: Sequence[str], file: str) -> Facts:
    """Return what is known of an op.

    Args:
        op: a user's.
        function: the name that its body has in the file, and not `__name__`, which may be anything.
        names: of its inputs.
        file: the name of the file that its body is in.
    """
    examples = examples_of(op)
    returned = [body_outputs(op.numpy, example) for example in examples]
    unequal = _unequal_examples(op, examples, returned[0])
    examples, returned = [*examples, *(one for one, _ in unequal)], [*returned, *(found for _, found in unequal)]
    inputs = tuple((name, dtype_of(one), one.ndim) for name, one in zip(names, examples[0], strict=True))
    outputs = tuple(
        (dtype_of(several[0]), _shape_of(several, examples, names)) for several in zip(*returned, strict=True)
    )
    return Facts(function, _plain(file), inputs, outputs, op.differentiable, op.floating_outputs)


def shorten_example(
    op: Op, example: Sequence[Any], outputs: Sequence[Any], axes: Collection[tuple[int, int]]
) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return an example in which inputs lack the last element along an axis, and what the body returns for it.

    Example inputs are often square, or have other sizes in common by chance. None if there is no such element, if the
    body takes no such inputs, or if its outputs have another number of axes.

    Args:
        op: whose body is called.
        example: inputs.
        outputs: of the body for the example.
        axes: positions of inputs, each with an axis.
    """
    shorter = list(example)
    for place, axis in axes:
        if np.shape(shorter[place])[axis] < 2:
            return None
        shorter[place] = np.delete(shorter[place], -1, axis)
    try:
        found = body_outputs(op.numpy, shorter)
    except Exception:  # noqa: BLE001 - whatever the body does with what it does not take
        return None
    return (tuple(shorter), found) if [one.ndim for one in found] == [one.ndim for one in outputs] else None


def axes_of(example: Sequence[Any]) -> list[tuple[int, int]]:
    """Return the positions of inputs, each with each of its axes."""
    return [(place, axis) for place, one in enumerate(example) for axis in range(np.ndim(one))]


def _unequal_examples(
    op: Op, examples: Sequence[Sequence[Any]], outputs: Sequence[Any]
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return more examples, with outputs, that distinguish axes which have the same size in every example.

    For each such axis, the input becomes shorter along it. If the body refuses that, all inputs become shorter along
    that axis, and then the axis together with one other.
    """
    axes, found = axes_of(examples[0]), []
    sizes = {at: tuple(np.shape(one[at[0]])[at[1]] for one in examples) for at in axes}
    for at in axes:
        equal = [other for other in axes if sizes[other] == sizes[at]]
        if len(equal) == 1 or len(set(sizes[at])) == 1:
            continue
        along = [other for other in equal if other[1] == at[1]]
        tried = ({at}, {*along}, *({at, other} for other in equal))
        shorter = (shorten_example(op, examples[0], outputs, each) for each in tried)
        found.append(next((one for one in shorter if one is not None), None))
    return [one for one in found if one is not None]


def _plain(name: str) -> str:
    """Return the name of a file on one line and without quotes, because it is written into comments and docstrings."""
    return "".join(one if one.isprintable() and one not in '"\\' else f"\\u{ord(one):04x}" for one in name)


def _shape_of(
    outputs: Sequence[Any], examples: Sequence[Sequence[Any]], names: Sequence[str]
) -> tuple[str | None, ...]:
    if len({one.ndim for one in outputs}) > 1:
        return ()
    return tuple(_size_of([one.shape[axis] for one in outputs], examples, names) for axis in range(outputs[0].ndim))


def _size_of(sizes: Sequence[int], examples: Sequence[Sequence[Any]], names: Sequence[str]) -> str | None:
    """Return what a size of an output always is, where examples of several sizes show it."""
    if len(set(sizes)) < 2:
        return None  # it may be that by chance
    for place, name in enumerate(names):
        for axis in range(np.ndim(examples[0][place])):
            if [np.shape(one[place])[axis] for one in examples] == list(sizes):
                return f"{name}.shape[{axis}]"
    return None


def docstring(summary: str, facts: Facts, how: str, notes: Sequence[str]) -> str:
    """Return what the docstring of a port says, with its quotes, indented by four.

    Args:
        summary: what the user's docstring says; empty if there is none.
        facts: what it takes and returns.
        how: the sentence that says what it is.
        notes: further paragraphs.
    """
    parts = [one for one in (summary.strip(), *(textwrap.fill(one, WIDTH - 4) for one in (how, *notes))) if one]
    arguments = [f"    {name}: {_described(dtype, rank)}" for name, dtype, rank in facts.inputs]
    returned = [f"    {_described(dtype, len(shape))}" for dtype, shape in facts.outputs]
    parts += ["\n".join(["Args:", *arguments]), "\n".join(["Returns:", *returned])]
    text = "\n\n".join(parts).replace("\\", "\\\\").replace('"""', "'''")
    return textwrap.indent(f'"""{text}\n"""', "    ", lambda line: bool(line.strip())).lstrip()


def _described(dtype: str, rank: int) -> str:
    axes = {0: "one text" if dtype == STRING else "a number", 1: "a vector", 2: "a matrix"}.get(
        rank, f"with {rank} axes"
    )
    return f"{dtype} tensor, {axes}."
