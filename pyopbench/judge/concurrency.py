"""What calls from several threads come to: calls a second and latencies by number of threads, against the callback's.

The launch is the unit: of the blocks of a launch the median counts, and intervals are over launches.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyopbench.model.case import Case
from pyopbench.model.label import Label
from pyopbench.stats.estimate import Estimate, exp, moderated
from pyopbench.store.threads_file import QUANTILES


@dataclass(frozen=True)
class Measured:
    """A number with its interval of 95% over launches; nan for the ends where there is one launch."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ThreadedCalls:
    """Calls of one case by so many threads.

    Attributes:
        case: which.
        label: its variant, with its gradient.
        threads: that called at once.
        rate: calls a second of all of them together.
        times_baseline: its rate over that of the baseline with as many threads; None without one, and for itself.
        latencies: median, 95% and 99% of the seconds that a call took; None where there were too few calls.
    """

    case: Case
    label: str
    threads: int
    rate: Measured
    times_baseline: Measured | None
    latencies: tuple[float | None, ...]


def threaded_calls(document: Mapping[str, Any], baseline: str) -> tuple[ThreadedCalls, ...]:
    """Return what came of each case and number of threads, in the order of the cases.

    Args:
        document: of `results.threads_file`.
        baseline: the current callback, a variant; of a gradient it is that with the usual one.
    """
    rates = _launch_rates(document)
    labels = {one["case"]: one["label"] for one in document["cases"]}
    keys = [(case, threads) for case in labels for threads in document["threads"] if (case, threads) in rates]
    found = dict(zip(keys, _measured([list(rates[key].values()) for key in keys]), strict=True))
    pairs = {key: _baseline_of(key, keys, labels, baseline) for key in keys}
    others = {key: other for key, other in pairs.items() if other is not None and other != key}
    logs = [
        [rates[key][one] - rates[other][one] for one in rates[key] if one in rates[other]]
        for key, other in others.items()
    ]
    ratios = dict(zip(others, _measured(logs), strict=True))
    return tuple(
        ThreadedCalls(
            Case.from_id(case),
            labels[case],
            threads,
            found[case, threads],
            ratios.get((case, threads)),
            _latencies(document, case, threads),
        )
        for case, threads in keys
    )


Key = tuple[str, int]


def _launch_rates(document: Mapping[str, Any]) -> dict[Key, dict[int, float]]:
    """Return the logarithm of the median rate of each launch."""
    blocks: dict[tuple[Key, int], list[float]] = {}
    for one in document["blocks"]:
        blocks.setdefault(((one["case"], one["threads"]), one["launch"]), []).append(one["rate"])
    rates: dict[Key, dict[int, float]] = {}
    for (key, launch), values in blocks.items():
        rates.setdefault(key, {})[launch] = math.log(statistics.median(values))
    return rates


def _baseline_of(key: Key, keys: Sequence[Key], labels: Mapping[str, str], baseline: str) -> Key | None:
    """Return the key of the current callback in the place of another case: with its usual gradient, else any."""
    case, threads = key
    wanted = _place(Case.from_id(case))
    there = [one for one in keys if one[1] == threads and _place(Case.from_id(one[0])) == wanted]
    there = [one for one in there if Label.parse(labels[one[0]]).variant == baseline]
    return min(there, key=lambda one: (labels[one[0]] != baseline, labels[one[0]]), default=None)


def _place(case: Case) -> tuple[str, int, str, str]:
    return case.op, case.size, case.dtype, case.direction


def _measured(logs: Sequence[Sequence[float]]) -> Iterator[Measured]:
    for estimate in moderated([Estimate.of(one) for one in logs]):
        low, high = (end if math.isnan(end) else exp(end) for end in estimate.interval())
        yield Measured(exp(estimate.mean), low, high)


def _latencies(document: Mapping[str, Any], case: str, threads: int) -> tuple[float | None, ...]:
    rows = [one for one in document["latencies"] if (one["case"], one["threads"]) == (case, threads)]
    columns = ([row[name] for row in rows] for name in QUANTILES)
    return tuple(None if not one or None in one else statistics.median(one) for one in columns)
