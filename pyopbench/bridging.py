"""Measures the bridges between tensors and arrays in a worker of its own."""

from __future__ import annotations

from typing import Any

from pyopbench.copies import SCHEMA
from pyopbench.errors import NothingMeasured
from pyopbench.launch import CaseLost, Worker

TIMEOUT_SECONDS = 120.0
"""Longest silence; each block is told, and lasts milliseconds."""


def measure() -> dict[str, Any]:
    """Measure the bridges of the TensorFlow that is installed; return the document that results/README.md describes.

    Raises:
        NothingMeasured: the worker hung or died.
    """
    with Worker(TIMEOUT_SECONDS) as worker:
        try:
            return {"schema": SCHEMA, **worker.ask({"do": "bridges"})}
        except CaseLost as lost:
            raise NothingMeasured(
                "the bridges could not be measured",
                received=f"{lost.reason}, at {lost.case}",
                next_step="run it again; if it comes back, it is TensorFlow that ends the process",
            ) from lost
