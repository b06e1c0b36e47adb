"""A variant that is probed with one op, its own inputs and its reference, in place of the cube."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_array, as_tuple, dtype_of
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare import checks
from pyopbench.worker.prepare.finite_differences import small_size
from pyopbench.worker.prepare.reference import Reference, reference_of
from pyopbench.worker.prepare.segments import constants
from pyopbench.worker.subject import Differs, Inapplicable, Subject


@dataclass(frozen=True)
class OpSubject(Subject):
    """A variant of an op, at a small size of the op and in its first dtype.

    Attributes:
        op_name: the op.
        why_no_gradient: why it is built without a gradient; empty where it is not.
    """

    op_name: str
    why_no_gradient: str = ""

    @cached_property
    def op(self) -> Op:
        """The op as it stands."""
        return load_op(self.op_name)

    @property
    def dtype(self) -> str:
        """The dtype that it is tried in."""
        return self.op.dtypes[0]

    @cached_property
    def reference(self) -> Reference:
        """The inputs, and what NumPy makes of them."""
        return reference_of(self.op_name, small_size(self.op), self.dtype)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the op is given; text as objects of `bytes`."""
        return self.reference.inputs

    @property
    def tensors(self) -> tuple[Any, ...]:
        """What the op is given, as new tensors."""
        return constants(self.arrays)

    @property
    def given(self) -> tuple[tf.TensorSpec, ...]:
        """Shape and dtype of each input."""
        return tuple(tf.TensorSpec(array.shape, dtype_of(array)) for array in self.arrays)

    def require_values(self, what: str, found: Any) -> None:
        """Check what was computed against the op's reference, within the tolerance of the op.

        Raises:
            Differs: number, dtype, shape or values of the outputs are not the reference's.
        """
        outputs, expected = as_tuple(found), self.reference.outputs
        if len(outputs) != len(expected):
            raise Differs(f"{what}: {len(outputs)} outputs where the reference has {len(expected)}")
        for place, (output, right) in enumerate(zip(outputs, expected, strict=True)):
            name = what if len(expected) == 1 else f"{what}, output {place},"
            try:
                checks.require_equal(name, _array_of(output), right, self.op.tolerance[self.dtype])
            except WrongResult as wrong:
                raise Differs(f"{wrong}, without an error") from wrong

    def case(self, gradient: str, direction: str) -> Case:
        """Return the case that it is built for."""
        size = small_size(self.op)
        return Case(self.op_name, self.variant.name, gradient, direction, "call", self.dtype, size)


def load_op_subject(name: str, gradient: str, folder: Path, op_name: str) -> OpSubject:
    """Return a variant of an op, with its gradient where it can have that.

    Raises:
        Inapplicable: the op does not exist in this variant, with the reason.
        Exception: the op cannot be loaded; whatever its file raises.
    """
    subject = OpSubject(load_variant(name), gradient, folder, op_name)
    reason = why_not(subject.op, subject.variant, subject.case(NO_GRADIENT, "forward"))
    if reason:
        raise Inapplicable(reason)
    why = _why_no_gradient(subject)
    return OpSubject(subject.variant, NO_GRADIENT if why else gradient, folder, op_name, why)


def _why_no_gradient(subject: OpSubject) -> str:
    if subject.op.lacks_gradient and subject.variant.is_port:
        return ""  # TensorFlow finds one through a port, and no case holds it against a callback's
    return why_not(subject.op, subject.variant, subject.case(subject.gradient, "forward_backward")) or ""


def _array_of(output: Any) -> Any:
    """Return a tensor, an array or a single text as an array."""
    return None if output is None else as_array(output.numpy() if tf.is_tensor(output) else output)


def dense(gradients: Sequence[Any]) -> list[Any]:
    """Return gradients as arrays; None where there is none."""
    return [None if one is None else tf.convert_to_tensor(one).numpy() for one in gradients]
