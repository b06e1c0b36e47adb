"""From the parameters of asv to a prepared case: the same callables that pyopbench times itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asv_suite import selection

if TYPE_CHECKING:
    from pyopbench.worker.suite_api import Case, Prepared

PROMISED = "pyopbench.worker.suite_api"


@contextmanager
def skipped_if_not_supported() -> Iterator[None]:
    """Have asv skip what is not supported here, or by the pyopbench of the commit that is measured.

    Raises:
        NotImplementedError: it is not, and why; asv takes that for a combination to be skipped.
    """
    try:
        from pyopbench.worker.suite_api import Unsupported, describe_error

        try:
            yield
        except Unsupported as error:
            raise NotImplementedError(describe_error(error)) from error
    except ImportError as error:
        if error.name != PROMISED:
            raise
        raise NotImplementedError(f"this commit of pyopbench does not have it: {error}") from error


@dataclass(frozen=True)
class Setting:
    """How a case is called, and where it runs."""

    mode: str = "call"
    placement: str = "cpu"


CALL_ON_CPU = Setting()


def case_of(op_name: str, variant_name: str, size: int, direction: str, setting: Setting = CALL_ON_CPU) -> Case:
    """Return the case that a benchmark and its parameters name: of float32, with the variant's usual gradient.

    Raises:
        NotImplementedError: there is no such case, and why; asv takes that for a combination to be skipped.
    """
    from pyopbench.worker.suite_api import Axes, load_op, load_variant, make_plan

    op, variant = load_op(op_name), load_variant(variant_name)
    if size not in op.sizes:
        raise NotImplementedError(f"{op_name} has the sizes {', '.join(map(str, op.sizes))}")
    axes = Axes(
        (op_name,),
        (variant_name,),
        directions=(direction,),
        modes=(setting.mode,),
        placements=(setting.placement,),
        sizes=(size,),
    )
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
    from pyopbench.worker.suite_api import prepare

    with skipped_if_not_supported():
        return prepare(case)


class OfOneCase:
    """A benchmark of prepared cases of one direction: parameters, and a case that is prepared once in a process."""

    params: Any = selection.ops()
    param_names: tuple[str, ...] = selection.PARAM_NAMES
    version = "2"
    """asv keeps results only as long as this stays: to be raised when what is measured changes."""
    direction = "forward"
    prepared: Prepared | None = None

    def setup(self, op: str, variant: str, size: int, placement: str = "cpu") -> None:
        """Prepare the case; asv calls this again before every sample, and once is enough."""
        if self.prepared is None:
            self.prepared = prepare_case(case_of(op, variant, size, self.direction, Setting(placement=placement)))
