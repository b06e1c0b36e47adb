"""Latencies for a dashboard over commits: the Bencher Metric Format, a value with both ends of its interval.

Source: bencher.dev/docs/reference/bencher-metric-format, where latency is in nanoseconds.
"""

from __future__ import annotations

import json
import math

from pyopbench.judge.judge import Judgement
from pyopbench.model.errors import NothingMeasured

NANOSECONDS = 1e9


def as_text(judgement: Judgement) -> tuple[str, int]:
    """Return the latency of each case as JSON, and how many cases are left out as too noisy.

    An interval of two launches may reach below zero; its end is zero then, because no latency is below it.

    Raises:
        NothingMeasured: no case has a value.
    """
    rows = judgement.latencies.to_dict("records")
    shown = [row for row in rows if not row["too_noisy"] and row["seconds"] > 0]
    if not shown:
        raise NothingMeasured(
            "no case has a time that a dashboard could show",
            received=f"{len(rows):,} cases, all too noisy or not above zero" if rows else "no case with a time",
            hint="measure with more launches, or on a machine that does nothing else",
        )
    document = {}
    for row in shown:
        ends = {"lower_value": row["low"], "upper_value": row["high"]}
        known = {name: max(seconds, 0.0) * NANOSECONDS for name, seconds in ends.items() if math.isfinite(seconds)}
        document[row["case"]] = {"latency": {"value": row["seconds"] * NANOSECONDS, **known}}
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n", len(rows) - len(shown)
