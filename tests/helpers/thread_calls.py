"""Documents of `pyopbench run --threads` with known truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pyopbench.model.case import BASELINE, NO_GRADIENT, Case

LAUNCHES, ROUNDS = 3, 5


def case_of(variant: str) -> str:
    """Return the id of a forward case."""
    return Case("double", variant, NO_GRADIENT, "forward", "call", "float32", 1000).id


def document(rates: Mapping[str, Mapping[int, float]], noise: float = 0.01) -> dict[str, Any]:
    """Return a document in which each variant comes to so many calls a second with each number of threads.

    Args:
        rates: variant -> threads -> calls a second.
        noise: standard deviation of the log of a block; what a launch has in common is five times that.
    """
    rng = np.random.default_rng(0)
    blocks, latencies = [], []
    for launch in range(LAUNCHES):
        shift = rng.normal(0, 5 * noise)
        for variant, by_threads in rates.items():
            for threads, rate in by_threads.items():
                where = {"case": case_of(variant), "threads": threads, "launch": launch}
                for turn in range(ROUNDS):
                    seen = rate * float(np.exp(shift + rng.normal(0, noise)))
                    blocks.append({**where, "round": turn, "order": 0, "calls": 1000, "rate": seen})
                seconds = threads / rate
                latencies.append({**where, "calls": 5000, "p50": seconds, "p95": 2 * seconds, "p99": None})
    kinds = {variant: "callback" if variant == BASELINE else "port" for variant in rates}
    return {
        "schema": 1,
        "environment": {"tensorflow": "2.21.0"},
        "threads": sorted({threads for one in rates.values() for threads in one}),
        "cases": [{"case": case_of(one), "label": one, "kind": kinds[one]} for one in rates],
        "blocks": blocks,
        "latencies": latencies,
        "failures": [],
    }
