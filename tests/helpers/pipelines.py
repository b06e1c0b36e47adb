"""Documents of `pyopbench pipeline` with known truth, and a worker in this process that measures what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.arrangement import AUTOTUNE, Arrangement

CURRENT = Arrangement("map", "keep", "ds.map(f)")
PARALLEL = Arrangement("map", "parallel", "ds.map(f, num_parallel_calls=tf.data.AUTOTUNE)", AUTOTUNE)
BATCH = Arrangement("batch_body", "batch", "ds.batch(32).map(f)", batch=32)
POOL = Arrangement("processes", "processes", "ds.map(call_pool, num_parallel_calls=2)", 2)
PORT = Arrangement("port", "port", "ds.map(native, num_parallel_calls=tf.data.AUTOTUNE)", AUTOTUNE, 0, "native", 4.0)
TRIED = Arrangement("port", "port", "ds.map(traced)", AUTOTUNE, 0, "traced", 2.0, is_attempt=True)
ALL = (CURRENT, PARALLEL, BATCH, POOL, PORT)
LAUNCHES, ROUNDS = 3, 6
CALLS = {"many": 2, "one_thread": 1000.0, "threads": 1000.0, "one_process": 1000.0, "processes": 2000.0}
"""Calls a second of a body that holds the lock from end to end."""
FACTS = {
    "size": 1000,
    "dtype": "float32",
    "elements": 64,
    "delivered": 32,
    "told_apart": True,
    "body_seconds": 1e-4,
    "output_shapes": [[1000]],
    "environment": {"tensorflow": "2.21.0", "cpu": "a processor"},
}


def document(
    seconds: Mapping[str, float],
    calls: Mapping[str, Any] = CALLS,
    seed: int = 0,
    noise: float = 0.01,
    arrangements: Sequence[Arrangement] = ALL,
) -> dict[str, Any]:
    """Return a document in which elements of each arrangement take so many seconds, but for lognormal noise.

    Args:
        seconds: of an element, by key.
        calls: a second, of threads and processes.
        seed: of the noise.
        noise: standard deviation of its log: between rounds, and half as much between launches.
        arrangements: all that there are.
    """
    rng = np.random.default_rng(seed)
    blocks = []
    for launch in range(LAUNCHES):
        shift = {key: rng.normal(0, noise / 2) for key in seconds}
        for turn in range(ROUNDS):
            drift = rng.normal(0, 5 * noise)  # what all of a round have in common
            for order, key in enumerate(seconds):
                taken = 320 * seconds[key] * float(np.exp(shift[key] + drift + rng.normal(0, noise)))
                blocks.append(
                    {"key": key, "launch": launch, "round": turn, "order": order, "elements": 320, "seconds": taken}
                )
    warm_up = {"is_steady": True, "elements": 64, "seconds": 0.1, "seconds_per_element": 1e-4}
    return {
        "schema": 1,
        "pyopbench": "0",
        "op": {"name": "double", "summary": "2 x", "size_unit": "elements"},
        **FACTS,
        "baseline": CURRENT.key,
        "settings": {},
        "seconds": 60.0,
        "arrangements": [{"key": one.key, "effort": one.effort, **asdict(one)} for one in arrangements],
        "prepared": [
            {
                "key": key,
                "launch": launch,
                "checked": {"values": 0.0, "is_ordered": True},
                "warm_up": warm_up,
                "pool_start_seconds": 4.0 if "processes" in key else None,
                "seconds": 0.5,
            }
            for launch in range(LAUNCHES)
            for key in seconds
        ],
        "blocks": blocks,
        "rates": [{"launch": one, "round": turn, **calls} for one in range(LAUNCHES) for turn in range(3)],
        "holes": [{"key": "port autograph", "reason": "the op has no python body"}],
        "failures": [],
    }


class Clock:
    """Seconds that pass only where something says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakePipelineWorker:
    """Answers as the measuring process does, for arrangements whose elements take a known time.

    Attributes:
        requests: all that was asked, of all such workers of a test.
    """

    def __init__(
        self,
        clock: Clock,
        seconds: Mapping[str, float],
        bad: Mapping[str, str],
        requests: list[dict[str, Any]],
        started: float = 5.0,
    ) -> None:
        """Start.

        Args:
            clock: passes with what is asked.
            seconds: of an element, by key.
            bad: key -> how it is bad: `raised` or `raised_in_blocks`, `lost` or `lost_in_blocks`.
            requests: list to which requests are appended.
            started: how long starting takes.
        """
        self._clock, self._seconds, self._bad, self.requests = clock, seconds, bad, requests
        clock.now += started

    def __enter__(self) -> FakePipelineWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.requests.append({"do": "closed"})

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.requests.append(dict(request))
        key = request.get("key", request["do"])
        bad = self._bad.get(key, "")
        in_blocks = bad.endswith("in_blocks")
        if bad and (request["do"] == "pipeline_block" or not in_blocks):
            if bad.startswith("lost"):
                self._clock.now += 10.0
                raise CaseLost(key, "timeout", "no sign of life")
            return {"failure": {"status": "raised", "reason": "ValueError: no"}}
        if request["do"] == "pipeline":
            found = [asdict(one) for one in (*ALL, TRIED) if one.key in self._seconds]
            op = {"summary": "2 x", "size_unit": "elements"}
            return {"arrangements": found, "holes": [], "op": op, **FACTS}
        if request["do"] == "pipeline_prepare":
            self._clock.now += 0.5
            warm_up = {"is_steady": True, "elements": 64, "seconds": 0.1, "seconds_per_element": self._seconds[key]}
            checked = {"values": 0.0, "is_ordered": True}
            return {"checked": checked, "warm_up": warm_up, "pool_start_seconds": None, "seconds": 0.5}
        if request["do"] == "pipeline_block":
            self._clock.now += 0.15
            return {"elements": 320, "seconds": 320 * self._seconds[key]}
        self._clock.now += 0.2
        return {name: value for name, value in CALLS.items() if name != "many"}
