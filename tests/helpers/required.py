"""Runs that are judged by what is required."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from frames import Bench
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.store.types import RequirementLine

TODAY = "py_function_numpy"
OP = "sinh"
"""The op of these runs."""

CURVES = {TODAY: 1e-4, "native": 2e-5, "xla": 1e-5, "numpy_function": 5e-5}
"""Both ports are far faster; native takes the least work."""


def line(requirement: str, label: str, status: Any = "works", reason: str = "", op: str = OP) -> RequirementLine:
    return RequirementLine(launch=0, requirement=requirement, op=op, label=label, status=status, reason=reason)


def run_with(*lines: RequirementLine, curves: dict[str, float] = CURVES, **changes: Any) -> Any:
    made = vars(Bench(curves, within=0.01, between=0.001).run())
    return SimpleNamespace(**{**made, "requirements": lines, **changes})


def judged(*lines: RequirementLine, requires: tuple[str, ...], curves: dict[str, float] = CURVES) -> Judgement:
    return judge_run(run_with(*lines, curves=curves), requires=requires)
