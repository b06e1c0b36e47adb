"""A case that several threads call at once, as a server does: one function, and inputs of its own for each thread.

With the same inputs everywhere a thread that is handed what belongs to another would not be noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.failures import describe_error
from pyopbench.model.op import Body, Op
from pyopbench.model.threads import call_together
from pyopbench.ops.batched.examples import examples_of
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.prepare import preparing
from pyopbench.worker.prepare.reference import Reference, check_gradients, check_values, dense, make_reference
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap

CHECKED_CALLS = 8
"""Of each thread, while all others call too."""


@dataclass(frozen=True)
class ConcurrentCall:
    """A call of one thread: of a function that all share, on inputs of its own.

    Attributes:
        op: what is called.
        dtype: of the case.
        segments: forward, or forward under a tape and backward, to be called in turn.
        reference: what should come of it.
    """

    op: Op
    dtype: str
    segments: tuple[Callable[[], Any], ...]
    reference: Reference

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()

    def check(self) -> ConcurrentCall:
        """Call once, look at what came of it, and return this call with gradients to be held against from now on.

        Raises:
            WrongResult: values or gradients are not the reference's.
        """
        check_values(self.op, as_tuple(self.segments[0]()), self.reference, self.dtype)
        if len(self.segments) == 1:
            return self
        gradients = self.segments[1]()
        if check_gradients(self.op, gradients, self.reference, self.dtype) is not None:
            return self
        # The op has no gradient in NumPy: those of the first call, which was alone, are the ones that stay.
        known = tuple(np.asarray(one) for one in dense(gradients))
        return replace(self, reference=replace(self.reference, gradients=known))


def prepare_concurrent(case: Case, threads: int) -> tuple[ConcurrentCall, ...]:
    """Build and check a call for each of several threads.

    Args:
        case: of mode call or eager; forward, or forward_backward.
        threads: how many.

    Raises:
        WrongResult: a call alone is wrong, or calls from all threads at once are; the reason says which.
        Unsupported: what nobody wrote for this op does not work for it.
        Exception: whatever the body raises.
    """
    op, variant = load_op(case.op), load_variant(case.variant)
    with preparing(op, variant, case):
        function = wrap(variant.build(op, case), variant, case.mode)
        rng = np.random.default_rng([2, case.size, *case.op.encode()])
        examples = examples_of(op, case.size, case.dtype, threads).each
        references = [make_reference(op, example, case.dtype, rng) for example in examples]
        calls = tuple(_call(op, case, function, reference).check() for reference in references)
    _check_together(calls)
    return calls


def _call(op: Op, case: Case, function: Body, reference: Reference) -> ConcurrentCall:
    tensors = constants(reference.inputs)
    segments: Sequence[Callable[[], Any]] = (partial(function, *tensors),)
    if case.direction != "forward":
        segments = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
    return ConcurrentCall(op, case.dtype, tuple(segments), reference)


def _check_together(calls: Sequence[ConcurrentCall]) -> None:
    def check(call: ConcurrentCall) -> None:
        for _ in range(CHECKED_CALLS):
            call.check()

    try:
        call_together([partial(check, call) for call in calls])
    except Exception as error:
        raise WrongResult(f"from {len(calls)} threads at once: {describe_error(error)}") from error
