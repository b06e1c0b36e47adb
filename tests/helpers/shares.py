"""Made-up shares of the current time, launch by launch, for the tests of what chooses by them.

Nothing is usual among them and no label is a port, so that every interval is that of a plain t.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pyopbench.judge.candidates import Candidate, Setting, SettingComparison
from pyopbench.judge.contrasts import Contrasts
from pyopbench.stats.estimate import OWN

TODAY = "today"

BySize: TypeAlias = Mapping[int, Sequence[float]]
"""Size -> the share of a label in each launch."""


def contrasts_by_hand(shares: Mapping[str, BySize], ports: Sequence[str] = (), **changes: Any) -> Contrasts:
    """Return the contrasts of labels whose shares are given; that of the current callback is 1.

    A label without a size, or with fewer launches than others, has no number there.

    Args:
        shares: label -> size -> share by launch.
        ports: labels that are ports; callbacks are all others.
        changes: fields of `Contrasts` to change.
    """
    sizes = tuple(sorted({size for one in shares.values() for size in one}))
    launches = max((len(values) for one in shares.values() for values in one.values()), default=0)
    table = np.full((launches, 1, len(sizes), 1 + len(shares)), np.nan)
    table[..., 0] = 1.0
    for place, by_size in enumerate(shares.values(), start=1):
        for size, values in by_size.items():
            table[: len(values), 0, sizes.index(size), place] = values
    made: dict[str, Any] = {
        "baseline": TODAY,
        "ports": frozenset(ports),
        "sizes": sizes,
        "labels": (TODAY, *shares),
        "ratios": table,
        "spread": OWN,
    }
    return Contrasts(**{**made, **changes})


def candidate(_: Contrasts, label: str, effort: float = 1.0, kind: str = "port") -> Candidate:
    """Return a candidate of the contrasts."""
    return Candidate(label, kind, effort)


def comparison_by_hand(contrasts: Contrasts, candidates: Sequence[Candidate], **changes: Any) -> SettingComparison:
    """Return the comparison of these candidates; the current callback takes a second at every size."""
    sizes = contrasts.sizes or (10,)
    places = [contrasts.labels.index(one.label) for one in candidates]
    means = {
        one.label: pd.DataFrame(contrasts.ratios[:, 0, :, place], columns=contrasts.sizes).mean()
        for one, place in zip(candidates, places, strict=True)
    }
    made: dict[str, Any] = {
        "setting": Setting("sinh", "forward", "call", "float32", "cpu"),
        "baseline": TODAY,
        "seconds": dict.fromkeys(sizes, 1.0),
        "candidates": tuple(candidates),
        "curves": pd.DataFrame({TODAY: pd.Series(1.0, index=list(sizes)), **means}),
        "contrasts": contrasts,
        "planned": sizes,
        "failures": {},
    }
    return SettingComparison(**{**made, **changes})


def spread(mean: float, error: float, launches: int = 4) -> list[float]:
    """Return shares with this mean, whose plain standard error is `error`; an even number of launches."""
    off = error * math.sqrt(launches - 1)
    return [mean + off * (-1) ** launch for launch in range(launches)]
