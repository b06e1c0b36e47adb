"""Batched forms of an op, each checked against a loop over examples: values, and gradients where there are some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import Unsupported, WrongResult
from pyopbench.model.op import Body, Op
from pyopbench.ops.batched.examples import are_distinct, examples_of
from pyopbench.ops.batched.forms import LOOP, Form, forms_of, ragged_loop
from pyopbench.ops.load import load_op
from pyopbench.ops.own.explain import explain
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import (
    Checked,
    Reference,
    check_gradients,
    check_unchanged,
    check_values,
    make_reference,
    require_equal,
)
from pyopbench.worker.prepare.gradient_check import difference_error
from pyopbench.worker.prepare.segments import constants, forward_and_backward

Outcome: TypeAlias = Literal["right", "wrong", "cannot"]

OTHER_BATCH = 3
"""A second, small length that every form is checked with, so that none is right because of a length that a dimension of
the example happens to have; where it is the length that was asked for, it is one less."""


ALIKE = "all examples are equal, so mixing them up would go unnoticed"

RAGGED = (
    f"the length of an output varies, which only {LOOP} supports, as a tf.RaggedTensor; a fixed length allows the "
    "others"
)


@dataclass(frozen=True)
class BatchedForm:
    """A batched form of an op, and whether it agrees with a loop over examples.

    Attributes:
        name: the key, such as `numpy_loop`, `numpy_whole`, `numba_op_loop` or `traced_map`.
        variant: what takes one example and is made batched: a port, or `numpy_function` for the body as it is.
        how: `loop` over examples inside one callback, `whole` batch at once, or `map` by `tf.vectorized_map`.
        kind: `callback` if Python runs inside the graph, else `port`.
        outcome: `right`; `wrong`, where values or gradients are not those of the loop; or `cannot`, where it does not
            exist for the op.
        reason: why it is not right; "" where it is.
        checked: the largest errors, relative to the largest magnitude of what was expected; None where not right.
        call: over tensors `(batch, *shape of an example)`, one for each input; returns one tensor or a tuple, each with
            the same leading axis; an output whose length differs from example to example is a `tf.RaggedTensor`. To be
            called in a graph, for example in `Dataset.map`. None where not right.
    """

    name: str
    variant: str
    how: str
    kind: str
    outcome: Outcome
    reason: str = ""
    checked: Checked | None = None
    call: Body | None = None


def batched_form(op: Op, name: str, batch: int, *, size: int | None = None, dtype: str | None = None) -> BatchedForm:
    """Return one of the batched forms of an op, checked against a loop over examples.

    Args:
        op: built in or a user's own, as from `ops.load.load_op`.
        name: of the form.
        batch: examples in a batch, from 1.
        size: of an example; the op's smallest by default.
        dtype: of the case; the op's first by default.
    """
    at = _at(op, size, dtype)
    return _check_drawn(op, {form.name: form for form in forms_of(op, *at)}[name], batch, *at)


def batched_form_on(op: Op, name: str, examples: Reference, *, size: int, dtype: str) -> BatchedForm:
    """Return one form without a gradient, checked on examples of which it is known what the body makes of them.

    So for input pipelines, through which no gradient flows, and whose elements have gone through the body already.

    Args:
        op: built in or a user's own.
        name: of the form.
        examples: two or more, along the first axis of inputs and outputs; its gradients do not count.
        size: of an example.
        dtype: of the case.
    """
    form = {one.name: one for one in forms_of(op, dtype, size, gradients=False)}.get(name)
    if form is None:
        raise Unsupported(f"the op has no batched form {name}")
    distinct = are_distinct(list(zip(*examples.inputs, strict=True)))
    known = _Batch(examples, distinct, (False,) * len(examples.outputs))
    count = len(examples.inputs[0])
    return _check(op, form, dtype, (count, _other(count)), lambda: known)


def _at(op: Op, size: int | None, dtype: str | None) -> tuple[str, int]:
    return dtype or op.dtypes[0], size or op.sizes[0]


@dataclass(frozen=True)
class _Batch:
    """Examples along a leading axis, and what a loop over them makes of them.

    Attributes:
        reference: of all; of an output that is ragged a tuple with an array for each example.
        are_distinct: do no two examples hold the same?
        ragged: for each output, whether its first dimension differs from example to example.
    """

    reference: Reference
    are_distinct: bool
    ragged: tuple[bool, ...]

    def first(self, count: int) -> Reference:
        """Return the reference for some of the examples, from the first on."""
        cut = {
            name: tuple(array[:count] for array in getattr(self.reference, name))
            for name in ("inputs", "outputs", "output_gradients")
        }
        gradients = self.reference.gradients
        return Reference(**cut, gradients=None if gradients is None else tuple(one[:count] for one in gradients))


@lru_cache(maxsize=1)
def _batch_of(op_name: str, count: int, dtype: str, size: int) -> _Batch:
    """Return examples of an op with what its bodies make of each."""
    op = load_op(op_name)
    examples = examples_of(op, size, dtype, count)
    rng = np.random.default_rng([count, size, *op.name.encode()])
    each = [make_reference(op, example, dtype, rng) for example in examples.each]
    ragged = tuple(_is_ragged(place, [one.outputs[place] for one in each]) for place in range(len(op.outputs)))
    gradients = [] if any(ragged) else [one.gradients for one in each if one.gradients is not None]
    reference = Reference(
        _stacked([one.inputs for one in each]),
        _stacked([one.outputs for one in each], ragged),
        () if any(ragged) else _stacked([one.output_gradients for one in each]),
        _stacked(gradients) if gradients else None,
    )
    return _Batch(reference, examples.are_distinct, ragged)


def _is_ragged(place: int, outputs: Sequence[Any]) -> bool:
    shapes = list(dict.fromkeys(output.shape for output in outputs))
    if len({(len(shape), shape[1:]) for shape in shapes}) > 1:
        raise Unsupported(
            f"output {place} has different shapes for different examples, such as {shapes[0]} and {shapes[1]}, so no "
            "tensor can hold a batch"
        )
    return len(shapes) > 1


def _stacked(each: Sequence[Sequence[Any]], ragged: Sequence[bool] = ()) -> tuple[Any, ...]:
    columns = list(zip(*each, strict=True))
    flags = ragged or [False] * len(columns)
    return tuple(arrays if flag else np.stack(arrays) for arrays, flag in zip(columns, flags, strict=True))


def _other(count: int) -> int:
    return OTHER_BATCH if count != OTHER_BATCH else OTHER_BATCH - 1


def _check_drawn(op: Op, form: Form, batch: int, dtype: str, size: int) -> BatchedForm:
    counts = (batch, _other(batch))
    return _check(op, form, dtype, counts, lambda: _batch_of(op.name, max(counts), dtype, size))


def _check(op: Op, form: Form, dtype: str, counts: Sequence[int], examples: Callable[[], _Batch]) -> BatchedForm:
    found = BatchedForm(form.name, form.variant, form.how, form.kind, "right")
    try:
        call, checked = _checked(op, form, dtype, counts, examples)
    except Exception as error:  # noqa: BLE001 - bodies are the user's own, and TensorFlow raises anything for the others
        outcome: Outcome = "wrong" if isinstance(error, WrongResult) else "cannot"
        return replace(found, outcome=outcome, reason=explain(error, op))
    return replace(found, checked=checked, call=call)


def _checked(
    op: Op, form: Form, dtype: str, counts: Sequence[int], examples: Callable[[], _Batch]
) -> tuple[Body, Checked]:
    """Build a form and look at it in batches of two lengths."""
    if form.unsupported:
        raise Unsupported(form.unsupported)
    whole = examples()
    if not (form.keeps_apart or whole.are_distinct):
        raise Unsupported(ALIKE)
    if any(whole.ragged):
        return _ragged(op, form, whole, counts, dtype)
    call = form.build()
    checked = [_agreement(op, form, call, whole.first(count), dtype) for count in counts]
    largest = {field.name: _largest([getattr(one, field.name) for one in checked]) for field in fields(Checked)}
    return call, Checked(**largest)


def _ragged(op: Op, form: Form, whole: _Batch, counts: Sequence[int], dtype: str) -> tuple[Body, Checked]:
    if form.name != LOOP:
        raise Unsupported(RAGGED)
    call = ragged_loop(op, dtype, whole.ragged)
    function = tf.function(call, autograph=False)
    errors = [0.0]
    for count in counts:
        reference = whole.first(count)
        found = as_tuple(function(*constants(reference.inputs)))
        for place, (got, expected) in enumerate(zip(found, reference.outputs, strict=True)):
            errors += [
                require_equal(f"output {place} of example {example}", got[example], one, op.tolerance[dtype])
                for example, one in enumerate(expected)
            ]
    return call, Checked(max(errors))


def _largest(errors: Sequence[float | None]) -> Any:
    return max((one for one in errors if one is not None), default=None)


def _agreement(op: Op, form: Form, call: Body, reference: Reference, dtype: str) -> Checked:
    # In a graph, as Dataset.map has it called, with the shapes that a batch of full length has there.
    function = tf.function(call, autograph=False)
    tensors = constants(reference.inputs)
    if not form.has_gradient:
        checked = Checked(check_values(op, function(*tensors), reference, dtype))
    else:
        forward, backward = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
        values = check_values(op, as_tuple(forward()), reference, dtype)
        gradient = check_gradients(op, backward(), reference, dtype)
        checked = Checked(values, gradient)
        if gradient is None:
            checked = replace(checked, finite_difference=difference_error(op, function, reference))
    check_unchanged("input", tensors, reference.inputs)
    return checked
