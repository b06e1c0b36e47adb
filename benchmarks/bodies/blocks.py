"""Quick timing: medians of short blocks by turns. It tells twice as fast from as fast."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from bodies.find import BLOCKS

BLOCK_SECONDS = 3e-3
"""How long a timed block lasts: enough to tell twice as fast, not to decide a port."""


def gain_of(current: Callable[[], Any], form: Callable[[], Any], *, seed: int) -> float:
    """Return how many times as fast one call is as another; both are warm.

    Args:
        current: what is compared with.
        form: what may be faster.
        seed: of the order of blocks.
    """
    pair = (current, form)
    calls = [max(1, int(BLOCK_SECONDS / max(_block(one, 1), 1e-6))) for one in pair]
    seconds: list[list[float]] = [[], []]
    rng = random.Random(seed)
    for _ in range(BLOCKS):
        for place in rng.sample((0, 1), 2):
            seconds[place].append(_block(pair[place], calls[place]) / calls[place])
    of_current, of_form = map(statistics.median, seconds)
    return round(of_current / of_form, 3)


def _block(call: Callable[[], Any], calls: int) -> float:
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - began
