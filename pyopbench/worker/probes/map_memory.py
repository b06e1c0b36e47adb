"""Does a process keep growing whose pipeline calls it again and again?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from pyopbench.model import formatting
from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.probes.memory_growth import MOST_BYTES, resident_bytes
from pyopbench.worker.subject import Fails, Inapplicable, Probe, Seen, Subject, load_subject

WARM_CALLS = 1_000
CALLS, TURNS = 2_500, 4
PIPELINE_CALLS = 250
"""Elements after which a new pipeline is made, where many are: as with a data set for each epoch."""


def run(subject: Subject) -> Seen:
    """Compare the memory of a process before and after 10,000 calls: of one pipeline, and of many."""
    if sys.platform != "linux":
        raise Inapplicable("the memory of the process is read from /proc, which only Linux has")
    grown = subject.elsewhere(grow, subject.variant.name, peer="map_memory")
    figures = {f"bytes_per_1000_calls_{name.replace(' ', '_')}": value for name, value in grown.items()}
    growing = [f"{formatting.byte_count(round(value))} {name}" for name, value in grown.items() if value > MOST_BYTES]
    if growing:
        raise Fails(f"per 1,000 calls the process grows by {formatting.listing(growing)}")
    return Seen(f"less than {formatting.byte_count(MOST_BYTES)} per 1,000 calls", figures)


def grow(variant: str) -> dict[str, float]:
    """Return by how many bytes 1,000 calls let this process grow, for each way of reading pipelines."""
    subject = load_subject(variant, NO_GRADIENT, Path())
    function = subject.function()

    def pipeline() -> tf.data.Dataset:
        return tf.data.Dataset.from_tensors(subject.x).repeat().map(function, num_parallel_calls=2)

    one = iter(pipeline())

    def of_many(calls: int) -> None:
        for _ in range(-(-calls // PIPELINE_CALLS)):
            for _ in pipeline().take(PIPELINE_CALLS):
                pass

    def of_one(calls: int) -> None:
        for _ in range(calls):
            next(one)

    return {"in one pipeline": growth(of_one), "in many pipelines": growth(of_many)}


def growth(read: Callable[[int], None]) -> float:
    """Return by how many bytes 1,000 calls let the process grow, in the long run.

    That is the least of some turns: what a process needs once, it takes in one of them.
    """
    read(WARM_CALLS)
    sizes = [resident_bytes()]
    for _ in range(TURNS):
        read(CALLS)
        sizes.append(resident_bytes())
    return float(min(np.diff(sizes))) * 1000 / CALLS


PROBE = Probe("map_memory", "memory after 10,000 calls in tf.data maps", run)
