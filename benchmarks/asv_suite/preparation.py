"""From the parameters of asv to a prepared case: the same callables that pyopbench times itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asv_suite import selection

if TYPE_CHECKING:
    from pyopbench.worker.suite_api import Case, Prepared


def case_of(op_name: str, variant_name: str, size: int, direction: str) -> Case:
    """Return the case that a benchmark and its parameters name.

    It is a call of a `tf.function`, float32, on the CPU, with the gradient that the variant usually has.

    Raises:
        NotImplementedError: there is no such case, and why; asv takes that for a combination to be skipped.
    """
    from pyopbench.worker.suite_api import Axes, load_op, load_variant, make_plan

    op, variant = load_op(op_name), load_variant(variant_name)
    if size not in op.sizes:
        raise NotImplementedError(f"{op_name} has the sizes {', '.join(map(str, op.sizes))}")
    axes = Axes((op_name,), (variant_name,), directions=(direction,), modes=("call",), sizes=(size,))
    plan = make_plan(axes, {op_name: op}, {variant_name: variant})
    if plan.skips:
        raise NotImplementedError(plan.skips[0].reason)
    return plan.cases[0]


def prepare_case(case: Case) -> Prepared:
    """Prepare a case: build, check and warm it.

    Raises:
        NotImplementedError: it turns out only here that it cannot be, and why.
        WrongResult: values or gradients are not the reference's; asv counts the benchmark as failed.
    """
    from pyopbench.worker.suite_api import Unsupported, prepare

    try:
        return prepare(case)
    except Unsupported as error:
        raise NotImplementedError(str(error)) from error


class OfOneCase:
    """A benchmark of prepared cases of one direction: parameters, and a case that is prepared once in a process."""

    params = selection.ops()
    param_names = selection.PARAM_NAMES
    version = "1"
    """asv keeps results only as long as this stays: to be raised when what is measured changes."""
    direction = "forward"
    prepared: Prepared | None = None

    def setup(self, op: str, variant: str, size: int) -> None:
        """Prepare the case; asv calls this again before every sample, and once is enough."""
        if self.prepared is None:
            self.prepared = prepare_case(case_of(op, variant, size, self.direction))
