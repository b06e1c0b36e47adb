"""Measures the bridges between tensors and arrays, and the copies to a GPU and back, in a worker of its own each."""

from __future__ import annotations

from typing import Any

from pyopbench.engine.planning import require_gpu
from pyopbench.engine.worker_process import CaseLost, ask_once
from pyopbench.model.errors import NothingMeasured
from pyopbench.store.copy_costs import SCHEMA

TIMEOUT_SECONDS = 120.0
"""Longest silence; each block is told, and lasts milliseconds."""


def measure() -> dict[str, Any]:
    """Measure the bridges of the TensorFlow that is installed; return the document that results/README.md describes.

    Raises:
        NothingMeasured: the worker hung or died.
    """
    return {"schema": SCHEMA, **_answer_of("host_copies")}


def measure_with_gpu() -> dict[str, Any]:
    """Measure what `measure` does, and under `transfers` the copies between host and GPU.

    Raises:
        BadInput: TensorFlow sees no GPU; with the devices that it sees, and before anything is measured.
        NothingMeasured: a worker hung or died.
    """
    require_gpu()
    return {**measure(), "transfers": _answer_of("gpu_copies")}


def _answer_of(request: str) -> dict[str, Any]:
    try:
        return ask_once({"do": request}, TIMEOUT_SECONDS)
    except CaseLost as lost:
        raise NothingMeasured(
            f"the {request.replace('_', ' ')} could not be measured",
            received=f"{lost.reason}, at {lost.case}",
            legal=f"a worker that answers within {TIMEOUT_SECONDS:g} s and runs to the end",
            hint="run it again; if it happens again, TensorFlow ends the process",
        ) from lost
