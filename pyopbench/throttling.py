"""What held GPUs back while groups were measured on them, in sentences; from readings that are stored with groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pyopbench import text

SLOWING = (
    "power cap",
    "hardware slowdown",
    "thermal slowdown by software",
    "thermal slowdown by hardware",
    "power brake",
)
"""Of what a reading may say, what makes the same work slower than it was; the rest is set by somebody, or idleness."""


def warnings(groups: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a warning if a GPU was held back in some group, and one if its clocks were not told.

    Args:
        groups: lines of kind `group`, those without readings of a GPU too.
    """
    readings = [gpus for line in groups if (gpus := line.get("noise", {}).get("gpus")) is not None]
    slowed = [words for gpus in readings if (words := _slowing(gpus))]
    told = []
    if slowed:
        reasons = Counter(word for words in slowed for word in words)
        named = text.listing([f"{word} ({count:,})" for word, count in reasons.most_common()])
        share = f"{len(slowed):,} of {text.count(len(readings), 'group')}"
        told.append(f"the GPU was held back in {share}: {named}; its times there are those of a slower one")
    silent = sum(not gpus for gpus in readings)
    if silent:
        told.append(f"clocks of the GPU are not known for {silent:,} of {text.count(len(readings), 'group')}")
    return told


def _slowing(gpus: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the words of each reason that holds a GPU back, once."""
    words = [word for gpu in gpus for word in gpu["held_back_by"] or ()]
    return [word for word in dict.fromkeys(words) if word in SLOWING]
