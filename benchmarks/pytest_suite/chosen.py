"""The cases that options choose, as parameters of tests; what is not supported is skipped with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyopbench.worker.suite_api import (
    Axes,
    Case,
    Op,
    Prepared,
    Unsupported,
    __version__,
    describe_error,
    load_ops,
    load_variants,
    machine,
    make_plan,
    prepare,
    software,
)


def cases(option: Any, *, mode: str, directions: tuple[str, ...], placements: tuple[str, ...]) -> Iterator[Any]:
    """Yield a parameter for each case of a mode, and one that is skipped for each combination that cannot be."""
    variants = load_variants()
    for op in load_ops().values():
        axes = Axes((op.name,), (), (), directions, (mode,), placements=placements, sizes=_sizes(op, option.sizes))
        plan = make_plan(axes, {op.name: op}, variants)
        yield from (pytest.param(case, id=_name(case)) for case in plan.cases)
        for skip in plan.skips:
            case = Case.from_id(skip.case)
            yield pytest.param(case, id=_name(case), marks=pytest.mark.skip(reason=skip.reason))


def _sizes(op: Op, chosen: str | tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(chosen, str):
        return op.sizes
    return chosen or (op.quick_sizes[len(op.quick_sizes) // 2],)


def _name(case: Case) -> str:
    parts = (case.op, case.variant, case.direction, str(case.size))
    return "-".join(parts if case.placement == "cpu" else (*parts, case.placement))


def describe(benchmark: Any, case: Case, title: str, *, is_latency: bool = False) -> None:
    """Give a benchmark its group, and what pytest-benchmark stores next to its times.

    pyopbench reads times as those of the case that `case` names. Where the time is not of one call, but of a graph or
    of several threads, the key is `of_case`, which it ignores.
    """
    benchmark.group = f"{case.op}, size {case.size}, {title}"
    named = {"case" if is_latency else "of_case": case.id}
    benchmark.extra_info.update(**named, environment={**machine(), **software()}, pyopbench=__version__)


def prepared_or_skipped(case: Case) -> Prepared:
    """Return the case, built, checked and warmed; where that is not supported the test is skipped with the reason."""
    try:
        return prepare(case)
    except Unsupported as error:
        pytest.skip(describe_error(error))
