"""Batched forms of an op, each checked against a loop over examples: values, and gradients where there are some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import Unsupported, WrongResult
from pyopbench.model.op import Body, Op
from pyopbench.ops.batched.examples import are_distinct, examples_of
from pyopbench.ops.batched.forms import Form, forms_of
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
)
from pyopbench.worker.prepare.gradient_check import difference_error
from pyopbench.worker.prepare.segments import constants, forward_and_backward

Outcome: TypeAlias = Literal["right", "wrong", "cannot"]

OTHER_BATCH = 3
"""A second, small length that every form is checked with, so that none is right because of a length that a dimension of
the example happens to have; where it is the length that was asked for, it is one less."""

ALIKE = "all examples are equal, so mixing them up would go unnoticed"


@dataclass(frozen=True)
class BatchedForm:
    """A batched form of an op, and whether it agrees with a loop over examples.

    Attributes:
        outcome: `right`; `wrong`, where values or gradients are not those of the loop; or `cannot`, where it does not
            exist for the op.
        reason: why it is not right; "" where it is.
        checked: the largest errors, relative to the largest magnitude of what was expected; None where not right.
        call: over tensors `(batch, *shape of an example)`, one for each input; returns one tensor or a tuple, each with
            the same leading axis. To be called in a graph, for example in `Dataset.map`. None where not right.
    """

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
    dtype, size = dtype or op.dtypes[0], size or op.sizes[0]
    form = {form.name: form for form in forms_of(op, dtype, size)}[name]
    counts = (batch, _other(batch))
    return _check(op, form, dtype, counts, lambda: _examples(op.name, max(counts), dtype, size))


def batched_form_on(op: Op, name: str, examples: Reference, *, size: int, dtype: str) -> BatchedForm:
    """Return one form without a gradient, checked on examples that have gone through the body already.

    Args:
        op: built in or a user's own.
        name: of the form.
        examples: two or more, along the first axis of inputs and outputs; its gradients do not count.
        size: of an example.
        dtype: of the case.
    """
    form = {form.name: form for form in forms_of(op, dtype, size, gradients=False)}[name]
    count = len(examples.inputs[0])
    distinct = are_distinct(list(zip(*examples.inputs, strict=True)))
    return _check(op, form, dtype, (count, _other(count)), lambda: (examples, distinct))


def _other(count: int) -> int:
    return OTHER_BATCH if count != OTHER_BATCH else OTHER_BATCH - 1


@lru_cache(maxsize=1)
def _examples(op_name: str, count: int, dtype: str, size: int) -> tuple[Reference, bool]:
    """Return examples of an op with what its bodies make of each, and whether all are different."""
    op = load_op(op_name)
    examples = examples_of(op, size, dtype, count)
    rng = np.random.default_rng([count, size, *op.name.encode()])
    each = [make_reference(op, example, dtype, rng) for example in examples.each]
    for place in range(len(op.outputs)):
        shapes = list(dict.fromkeys(reference.outputs[place].shape for reference in each))
        if len(shapes) > 1:
            raise Unsupported(
                f"output {place} has different shapes for different examples, such as {shapes[0]} and {shapes[1]}, so "
                "no tensor can hold a batch"
            )
    gradients = [reference.gradients for reference in each if reference.gradients is not None]
    whole = Reference(
        _stacked([reference.inputs for reference in each]),
        _stacked([reference.outputs for reference in each]),
        _stacked([reference.output_gradients for reference in each]),
        _stacked(gradients) if gradients else None,
    )
    return whole, examples.are_distinct


def _stacked(each: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    return tuple(map(np.stack, zip(*each, strict=True)))


def _check(
    op: Op, form: Form, dtype: str, counts: Sequence[int], examples: Callable[[], tuple[Reference, bool]]
) -> BatchedForm:
    """Build a form and check it in batches of two lengths."""
    try:
        if form.unsupported:
            raise Unsupported(form.unsupported)
        whole, distinct = examples()
        if not (form.keeps_apart or distinct):
            raise Unsupported(ALIKE)
        call = form.build()
        checked = [_agreement(op, form, call, _first(whole, count), dtype) for count in counts]
    except Exception as error:  # noqa: BLE001 - bodies are the user's own, and TensorFlow raises anything for the others
        return BatchedForm("wrong" if isinstance(error, WrongResult) else "cannot", explain(error, op))
    largest = {field.name: _largest([getattr(one, field.name) for one in checked]) for field in fields(Checked)}
    return BatchedForm("right", checked=Checked(**largest), call=call)


def _first(whole: Reference, count: int) -> Reference:
    """Return the reference for some of the examples, from the first on."""
    inputs, outputs, incoming, gradients = (
        tuple(array[:count] for array in part)
        for part in (whole.inputs, whole.outputs, whole.output_gradients, whole.gradients or ())
    )
    return Reference(inputs, outputs, incoming, None if whole.gradients is None else gradients)


def _largest(errors: Sequence[float | None]) -> Any:
    return max((error for error in errors if error is not None), default=None)


def _agreement(op: Op, form: Form, call: Body, reference: Reference, dtype: str) -> Checked:
    # In a graph, as Dataset.map has it called, with the shapes that a batch of full length has there.
    function = tf.function(call, autograph=False)
    tensors = constants(reference.inputs)
    if form.has_gradient:
        forward, backward = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
        values = check_values(op, as_tuple(forward()), reference, dtype)
        gradient = check_gradients(op, backward(), reference, dtype)
        error = difference_error(op, function, reference) if gradient is None else None
        checked = Checked(values, gradient, error)
    else:
        checked = Checked(check_values(op, function(*tensors), reference, dtype))
    check_unchanged("input", tensors, reference.inputs)
    return checked
