"""Does a process that calls it again and again keep growing?"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tensorflow as tf

from pyopbench.model import formatting
from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Fails, Inapplicable, Probe, Seen, Subject, load_subject

WARM_CALLS = 200
CALLS, TURNS = 400, 3
MOST_BYTES = 100_000
"""Per 1,000 calls: what allocators keep for themselves is less, an object kept by each call is more."""


def run(subject: Subject) -> Seen:
    """Compare the memory of a process before and after calls: traced, eager, and under tapes nobody asks."""
    if sys.platform != "linux":
        raise Inapplicable("the memory of the process is read from /proc, which only Linux has")
    grown = subject.elsewhere(grow, subject.variant.name, subject.gradient, peer="memory")
    figures = {f"bytes_per_1000_calls_{name.replace(' ', '_')}": value for name, value in grown.items()}
    growing = [f"{formatting.byte_count(round(value))} {name}" for name, value in grown.items() if value > MOST_BYTES]
    if growing:
        raise Fails(f"per 1,000 calls the process grows by {formatting.listing(growing)}")
    return Seen(f"less than {formatting.byte_count(MOST_BYTES)} per 1,000 calls", figures)


def grow(variant: str, gradient: str) -> dict[str, float]:
    """Return by how many bytes 1,000 calls let this process grow, for each way of calling the variant."""
    subject = load_subject(variant, gradient, Path())
    function, with_gradient, x = subject.function(gradient=NO_GRADIENT), subject.function(), subject.x

    def taped() -> None:
        with tf.GradientTape() as tape:
            tape.watch(x)
            with_gradient(x)

    ways: dict[str, Callable[[], object]] = {"in a tf.function": lambda: function(x), "under a tape": taped}
    if "eager" in subject.variant.modes:
        built = subject.build(gradient=NO_GRADIENT)
        ways["eager"] = lambda: built(x)
    return {name: growth(call) for name, call in ways.items()}


def growth(call: Callable[[], object]) -> float:
    """Return by how many bytes 1,000 calls let the process grow, in the long run.

    That is the least of some turns: what a process needs once, it takes in one of them.
    """
    for _ in range(WARM_CALLS):
        call()
    sizes = [resident_bytes()]
    for _ in range(TURNS):
        for _ in range(CALLS):
            call()
        sizes.append(resident_bytes())
    return float(min(np.diff(sizes))) * 1000 / CALLS


def resident_bytes() -> int:
    """Return the memory that this process has in use, without what is only garbage of Python's."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


PROBE = Probe("memory_growth", "memory after thousands of calls", run)
