"""What a port documents: its body, its inputs and outputs, and its gradient."""

from __future__ import annotations

import contextlib
import io
import itertools
import signal
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.op import Op
from pyopbench.ports.arrays import as_array, body_outputs, dtype_of

WIDTH = 88
SEEDS = 3
"""Draws of each size, to see which sizes of a shape are always the same."""

PROBE_SECONDS, PROBES_SECONDS = 2.0, 5.0
"""How long one call of a body with inputs of other sizes may take, and all of them together, so that a slow body does
not hold up its port."""

DRAWN_SEEDS = 30
"""Seeds with which it is seen whether a size depends on what a body draws."""

Axis: TypeAlias = tuple[int, int]
"""The position of an input, and an axis of it."""


@dataclass(frozen=True)
class Facts:
    """What is known of an op from its inputs and outputs on examples."""

    function: str
    """The name that the user's function has where it is defined."""
    file: str
    """The name of the file that it is in, as a comment and a docstring may have it."""
    inputs: tuple[tuple[str, str, int], ...]
    """Name, dtype and rank of each."""
    outputs: tuple[tuple[str, tuple[Axis | None, ...]], ...]
    """The dtype of each, and for each of its axes the one of an input that always has the same size, or None."""
    differentiable: tuple[int, ...]
    """Positions of the inputs that have a gradient."""
    floating: tuple[int, ...]
    """Positions of the outputs that a gradient flows back through."""
    needs_sizes: bool = False
    """Do the sizes of its inputs have to be known where it is traced?"""


def examples_of(op: Op, sizes: int = 2, seeds: int = SEEDS) -> list[tuple[Any, ...]]:
    """Return inputs of the smallest sizes, several draws of each."""
    is_fixed = op.own is not None and op.own.fixed_sizes
    return [
        tuple(as_array(one) for one in op.make_inputs(size, op.dtypes[0], np.random.default_rng(seed)))
        for size in op.quick_sizes[:sizes]
        for seed in range(1 if is_fixed else seeds)
    ]


def facts_of(op: Op, function: str, names: Sequence[str], file: str) -> Facts:
    """Return what is known of an op whose body has the name `function` in a file; its `__name__` may be anything."""
    examples = examples_of(op)
    returned = [body_outputs(op.numpy, example) for example in examples]
    probed = probed_examples(op, examples, returned[0])
    known = len(examples)
    examples, returned = [*examples, *(one for one, _ in probed)], [*returned, *(found for _, found in probed)]
    inputs = tuple((name, dtype_of(one), one.ndim) for name, one in zip(names, examples[0], strict=True))
    outputs = tuple(
        (dtype_of(several[0]), _shape_of(several, examples, known)) for several in zip(*returned, strict=True)
    )
    return Facts(function, _plain(file), inputs, outputs, op.differentiable, op.floating_outputs)


def probed_examples(
    op: Op, examples: Sequence[Sequence[Any]], outputs: Sequence[Any]
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return further examples, with outputs, in which inputs have one element fewer or more along an axis.

    Example inputs are often square, or have other sizes in common by chance. If the body rejects an input that differs
    along one axis, the same axis of every input with that size is changed, or one other axis of that size too. Probing
    ends after `PROBES_SECONDS`.
    """
    sizes = _sizes(examples)
    found: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
    end = time.monotonic() + PROBES_SECONDS
    for at, change in itertools.product(sizes, (-1, 1)):
        equal = [other for other in sizes if sizes[other] == sizes[at]]
        tried = [{at}, {other for other in equal if other[1] == at[1]}, *({at, other} for other in equal)]
        for each in dict.fromkeys(map(frozenset, tried)):
            inputs = _resized(examples[0], dict.fromkeys(each, sizes[at][0] + change))
            returned = _outputs_before(op, inputs, end)
            if returned is not None:
                if [one.ndim for one in returned] == [one.ndim for one in outputs]:
                    found.append((inputs, returned))
                break
    return found


def smaller_examples(op: Op, examples: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return further inputs that the body takes: a half, a quarter and a sixteenth of the elements of an example.

    They are fewer along all axes of one size.
    """
    sizes = {at: several[0] for at, several in _sizes(examples).items()}
    end = time.monotonic() + PROBES_SECONDS
    resized = [
        _resized(examples[0], {at: smaller for at in sizes if sizes[at] == size})
        for size in dict.fromkeys(sizes.values())
        for smaller in sorted({-(-size // divisor) for divisor in (2, 4, 16)} - {size}, reverse=True)
    ]
    return [inputs for inputs in resized if _outputs_before(op, inputs, end) is not None]


def without_drawn_sizes(facts: Facts, body: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> Facts:
    """Return facts without the sizes of outputs that are others after another seed of NumPy's generator."""
    outputs = list(facts.outputs)
    for seed, example in itertools.product(range(DRAWN_SEEDS), examples):
        np.random.seed(seed)  # noqa: NPY002 - what the body draws from
        sizes = {at: several[0] for at, several in _sizes([example]).items()}
        for place, found in enumerate(body_outputs(body, example)):
            dtype, shape = outputs[place]
            pairs = zip(shape, found.shape, strict=True)
            outputs[place] = dtype, tuple(one if one and sizes[one] == size else None for one, size in pairs)
    return replace(facts, outputs=tuple(outputs))


def _sizes(examples: Sequence[Sequence[Any]]) -> dict[Axis, tuple[int, ...]]:
    """Return the sizes in all examples of each axis of the inputs."""
    axes = [(place, axis) for place, one in enumerate(examples[0]) for axis in range(np.ndim(one))]
    return {(place, axis): tuple(np.shape(one[place])[axis] for one in examples) for place, axis in axes}


def _resized(example: Sequence[Any], sizes: Mapping[Axis, int]) -> tuple[Any, ...]:
    """Return inputs of other sizes: without the last elements, or with the last one repeated.

    Empty if an axis is or would be empty.
    """
    inputs = list(example)
    for (place, axis), size in sizes.items():
        array = np.asarray(inputs[place])
        if not array.shape[axis] or size < 1:
            return ()
        inputs[place] = np.take(array, np.minimum(range(size), array.shape[axis] - 1), axis)
    return tuple(inputs)


class _TooLong(BaseException):
    """A call took too long. Not an `Exception`: the body might catch it."""


def _outputs_before(op: Op, inputs: Sequence[Any], end: float) -> tuple[Any, ...] | None:
    """Return what a body returns for inputs; None if there are none, or if it raises, exits, or takes too long.

    Only the main thread can be interrupted; in any other one, the body is not called.
    """
    seconds = min(PROBE_SECONDS, end - time.monotonic())
    if not inputs or seconds <= 0 or threading.current_thread() is not threading.main_thread():
        return None

    def interrupt(*_: Any) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                return body_outputs(op.numpy, inputs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # which the alarm may come before
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever the body does with what it does not take: it may also exit
        return None
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)


def _plain(name: str) -> str:
    """Return the name of a file on one line and without quotes, because it is written into comments and docstrings."""
    return "".join(one if one.isprintable() and one not in '"\\' else f"\\u{ord(one):04x}" for one in name)


def _shape_of(outputs: Sequence[Any], examples: Sequence[Sequence[Any]], known: int) -> tuple[Axis | None, ...]:
    if len({one.ndim for one in outputs}) > 1:
        return ()
    return tuple(_axis_of([one.shape[axis] for one in outputs], examples, known) for axis in range(outputs[0].ndim))


def _axis_of(sizes: Sequence[int], examples: Sequence[Sequence[Any]], known: int) -> Axis | None:
    """Return the axis that always has the size of an output, where examples of several sizes, `known` many, show it."""
    if len(set(sizes[:known])) < 2:
        return None  # it may be that by chance
    return next((at for at, others in _sizes(examples).items() if others == tuple(sizes)), None)


def filled(paragraph: str) -> str:
    """Return a paragraph of a docstring in lines."""
    return textwrap.fill(paragraph, WIDTH - 4)


def docstring(summary: str, facts: Facts, how: str, notes: Sequence[str]) -> str:
    """Return what the docstring of a port says, with its quotes, indented by four.

    Args:
        summary: what the user's docstring says; empty if there is none.
        facts: what it takes and returns.
        how: the sentence that says what it is.
        notes: further paragraphs.
    """
    parts = [one for one in (summary.strip(), *map(filled, (how, *notes))) if one]
    arguments = [f"    {name}: {_described(dtype, rank)}" for name, dtype, rank in facts.inputs]
    returned = [f"    {_described(dtype, len(shape))}" for dtype, shape in facts.outputs]
    parts += ["\n".join(["Args:", *arguments]), "\n".join(["Returns:", *returned])]
    text = "\n\n".join(parts).replace("\\", "\\\\").replace('"""', "'''")
    return textwrap.indent(f'"""{text}\n"""', "    ", lambda line: bool(line.strip())).lstrip()


def _described(dtype: str, rank: int) -> str:
    axes = {0: "a number", 1: "a vector", 2: "a matrix"}.get(rank, f"with {rank} axes")
    return f"{dtype} tensor, {axes}."
