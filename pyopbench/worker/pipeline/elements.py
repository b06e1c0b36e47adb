"""The elements that go through a pipeline, what the body makes of them, and the check that a form makes the same."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import Unsupported, WrongResult
from pyopbench.model.op import Op
from pyopbench.model.own_target import Target
from pyopbench.ops.examples import are_distinct, examples_of
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_op, make_inputs
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.ports.arrays import as_array, as_given, as_tuple, byte_count
from pyopbench.worker.prepare.checks import Reference, check_unchanged, check_values, require_equal
from pyopbench.worker.prepare.segments import constants

MOST_ELEMENTS, FEWEST_ELEMENTS = 64, 4
MOST_BYTES = 64 << 20
"""Of all elements: more would be read from memory, and never from a cache, which a body may or may not notice."""
CHECKED, OTHER_BATCH = 8, 3
"""Elements of the two batches that a body over a batch is tried with, before it is put into a pipeline."""
MAKING_SECONDS = 1.0
"""How long the body may take over all elements; slow bodies get fewer."""
TRIED = 3
"""Calls that say how long the body takes, without the first, which may import or compile something."""
DELIVERED_SECONDS, MOST_DELIVERED = 0.05, 32
"""A delivery is what a step takes. Of slow bodies fewer elements, so that a block of a tenth of a second holds some."""


@dataclass(frozen=True, eq=False)
class Elements:
    """Inputs of an op, one set for each element, with what the body returns for them."""

    case: Case  # its variant is the current callback
    inputs: tuple[tuple[Any, ...], ...]  # arrays for each element, all elements of the same shapes
    outputs: tuple[tuple[Any, ...], ...]
    body_seconds: float  # for an element, called alone from Python: the median

    @property
    def op(self) -> Op:
        """The op."""
        return load_op(self.case.op)

    @property
    def target(self) -> Target | None:
        """The own op as other processes load it; None for a built-in one."""
        return OWN_OPS.get(self.case.op)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The dtype of each output."""
        return self.op.output_dtypes(self.case.dtype)

    @cached_property
    def shapes(self) -> tuple[tuple[int | None, ...], ...]:
        """The shape of each output; None for a dimension in which elements differ."""
        found = []
        for place in range(len(self.dtypes)):
            shapes = {output[place].shape for output in self.outputs}
            if len({len(shape) for shape in shapes}) > 1:
                raise Unsupported(f"output {place} of elements differs in rank")
            sizes = [set(column) for column in zip(*shapes, strict=True)]
            found.append(tuple(next(iter(size)) if len(size) == 1 else None for size in sizes))
        return tuple(found)

    @property
    def stacks(self) -> bool:
        """Can outputs be put into a batch, because all have the same shapes?"""
        return all(None not in shape for shape in self.shapes)

    @property
    def delivered(self) -> int:
        """How many elements every form delivers at a time: a power of two from 1 to 32."""
        if not self.stacks:
            return 1
        fitting = min(DELIVERED_SECONDS / max(self.body_seconds, 1e-9), MOST_DELIVERED)
        return 1 << int(np.log2(max(fitting, 1)))

    def why_not_whole(self) -> str:
        """Return why the body, called once with a batch, is not right for the first elements; "" if it is.

        It is tried with two lengths, so that it is not right because of one that a dimension of an element happens to
        have; pipelines check all elements later.
        """
        op, rows = self.op, self.inputs[:CHECKED]
        if op.own is not None and op.own.is_random:
            return "the body draws random numbers, and other ones for a batch"
        if not are_distinct(rows):
            return "all elements are equal, so mixing them up would go unnoticed"
        case = Case(op.name, "numpy_function", NO_GRADIENT, "forward", "call", self.case.dtype, self.case.size)
        call = tf.function(build_callback(op, case, tf.numpy_function, op.numpy, None), autograph=False)
        try:
            for count in (len(rows), OTHER_BATCH):
                columns = (zip(*several[:count], strict=True) for several in (rows, self.outputs))
                inputs, outputs = (tuple(np.stack(column) for column in one) for one in columns)
                tensors = constants(inputs)
                check_values(op, call(*tensors), Reference(inputs, outputs, (), None), case.dtype)
                check_unchanged("input", tensors, inputs)
        except Exception as error:  # noqa: BLE001 - the body is the user's own
            return explain(error, op)
        return ""

    def source(self) -> tf.data.Dataset:
        """Return the elements repeated endlessly: the inputs and the number, int64, of each."""
        stacked = (np.stack(column) for column in zip(*self.inputs, strict=True))
        numbers = np.arange(len(self.inputs), dtype=np.int64)
        return tf.data.Dataset.from_tensor_slices((*stacked, numbers)).repeat()

    def shaped(self, outputs: Any, *leading: int | None) -> tuple[Any, ...]:
        """Return output tensors with the shapes that the body has shown, which a callback does not know."""
        pairs = zip(as_tuple(outputs), self.shapes, strict=True)
        return tuple(tf.ensure_shape(tensor, (*leading, *shape)) for tensor, shape in pairs)

    def check(self, numbers: Any, outputs: Iterable[Any]) -> float:
        """Check outputs against those of the body.

        Args:
            numbers: of elements, `(n,)` int64.
            outputs: an array or tensor of each output, with the elements along the first axis.

        Returns:
            The largest error, relative to the largest magnitude that was expected.
        """
        tolerance, largest = self.op.tolerance[self.case.dtype], 0.0
        is_random = self.op.own is not None and self.op.own.is_random  # a file draws without seeding again
        for place, column in enumerate(outputs):
            values = column.numpy() if tf.is_tensor(column) else column
            if len(values) != len(numbers):
                raise WrongResult(f"output {place} has {len(values)} elements instead of {len(numbers)}")
            for number, value in zip(numbers, values, strict=True):
                expected = self.outputs[int(number)][place]
                what = f"output {place} of element {number}"
                if is_random:
                    _require_alike(what, as_array(value), expected)
                    continue
                largest = max(largest, require_equal(what, as_array(value), expected, tolerance))
        return largest


def _require_alike(what: str, found: Any, expected: Any) -> None:
    """Check the dtype and shape of a random result."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        raise WrongResult(f"{what} is {found.dtype} {found.shape} instead of {expected.dtype} {expected.shape}")


def make_elements(op_name: str, variant: str, size: int, dtype: str, most: int | None = None) -> Elements:
    """Return elements of an op for its current callback, a `variant`; with the same `most` the same in every process.

    There are `most` of them, or as many as time and memory allow.
    """
    op = load_op(op_name)
    case = Case(op_name, variant, NO_GRADIENT, "forward", "call", dtype, size)
    count = most or _affordable_count(op, size, dtype)
    inputs = tuple(examples_of(op, size, dtype, count))
    outputs: list[tuple[Any, ...]] = []
    seconds: list[float] = []
    for given in map(as_given, inputs):
        start = time.perf_counter()
        returned = op.numpy(*given)
        seconds.append(time.perf_counter() - start)
        pairs = zip(as_tuple(returned), op.output_dtypes(dtype), strict=True)
        outputs.append(tuple(as_array(one, name) for one, name in pairs))
    return Elements(case, inputs, tuple(outputs), float(np.median(seconds)))


def _affordable_count(op: Op, size: int, dtype: str) -> int:
    """Return how many elements there is time and memory for."""
    arrays = make_inputs(op, size, dtype)
    seconds = []
    for _ in range(TRIED):
        given = as_given(arrays)
        start = time.perf_counter()
        op.numpy(*given)
        seconds.append(time.perf_counter() - start)
    by_time = MAKING_SECONDS / max(*seconds[1:], 1e-9)
    by_memory = MOST_BYTES / max(sum(map(byte_count, arrays)), 1)
    return int(min(max(min(by_time, by_memory), FEWEST_ELEMENTS), MOST_ELEMENTS))
