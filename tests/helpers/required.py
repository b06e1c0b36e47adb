"""Runs that are judged by what is required."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from frames import Bench
from probe_files import document
from pyopbench.judge.judge import Judgement, judge_run

TODAY = "py_function_numpy"


CURVES = {TODAY: 1e-4, "native": 2e-5, "xla": 1e-5, "numpy_function": 5e-5}
"""Both ports are far faster; native takes the least work."""


def run_with(*rows: dict[str, Any], curves: dict[str, float] = CURVES, **changes: Any) -> Any:
    made = vars(Bench(curves, within=0.01, between=0.001).run())
    return SimpleNamespace(**{**made, "probes": document(*rows), **changes})


def judged(*rows: dict[str, Any], requires: tuple[str, ...], curves: dict[str, float] = CURVES) -> Judgement:
    return judge_run(run_with(*rows, curves=curves), requires=requires)
