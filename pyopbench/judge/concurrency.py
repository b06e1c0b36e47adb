"""Results of calls from several threads: calls a second and latencies by number of threads, against the callback's.

The launch is the unit: of the blocks of a launch the median counts, and intervals are over launches. A case that has
failed in any launch has no number: what it did before was luck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pyopbench.judge.latencies import baseline_of, label_of, measured_cases, usual_gradients
from pyopbench.model.case import THREADS, Case, Failure
from pyopbench.stats.estimate import Launches, exp, moderated

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run

QUANTILES = ("p50", "p95", "p99")


@dataclass(frozen=True)
class Measured:
    """A number with its interval of 95% over launches; nan for the ends where there is one launch."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ThreadedCalls:
    """Calls of one case by so many threads."""

    case: Case
    label: str  # its variant, with its gradient
    threads: int  # that called at once
    rate: Measured  # calls a second of all of them together
    # Its rate over that of the baseline with as many threads; None without one, and for itself
    times_baseline: Measured | None
    # Median, 95% and 99% of the seconds that a call took; None where there were too few calls
    latencies: tuple[float | None, ...]


def thread_numbers(run: Run) -> tuple[int, ...]:
    """Return by how many threads cases of a run were to be called, ascending; none in a run without such cases."""
    return tuple(sorted({many for many in (Case.from_id(key).threads for key in run.cases) if many is not None}))


def thread_failures(run: Run) -> tuple[Failure, ...]:
    """Return why cases that several threads were to call have no number; without those that cannot be."""
    tried = [one for one in run.failures if one.launch is not None]
    return tuple(one for one in tried if Case.from_id(one.case).threads is not None)


def threaded_calls(run: Run, baseline: str) -> tuple[ThreadedCalls, ...]:
    """Return what came of each case, in the order of `measured_cases`, and of one variant by number of threads."""
    failed = [one.case for one in thread_failures(run)]
    frame = run.frame[run.frame["mode"].str.startswith(f"{THREADS}:") & ~run.frame["case"].isin(failed)]
    if frame.empty:
        return ()
    of_blocks = frame.assign(case=frame["case"].astype(str), log=np.log(frame["calls"] / frame["seconds"]))
    logs = of_blocks.groupby(["case", "run", "launch"], observed=True)["log"].median()
    cases = measured_cases(frame, run.catalogue)
    baselines = baseline_of(cases, baseline, usual_gradients(run.catalogue, baseline))
    rates = _measured({case: logs[case] for case in sorted(cases["case"], key=_sort_key)})
    ratios = _measured({case: (logs[case] - logs[other]).dropna() for case, other in baselines.items()})
    # The median over launches of each quantile; None where a launch does not know it.
    waits = {
        str(case): tuple(
            None if values.isna().any() else float(values.median()) for values in (rows[name] for name in QUANTILES)
        )
        for case, rows in run.waits.groupby("case", observed=True)
    }
    found = []
    for key, rate in rates.items():
        case = Case.from_id(key)
        label = label_of(run.catalogue, case.variant, case.gradient)
        latencies = waits.get(key, (None,) * len(QUANTILES))
        found.append(ThreadedCalls(case, label, case.threads or 1, rate, ratios.get(key), latencies))
    return tuple(found)


def _sort_key(key: str) -> tuple[str | int, ...]:
    case = Case.from_id(key)
    return case.op, case.direction, case.dtype, case.size, case.variant, case.gradient, case.threads or 0


def _measured(logs: Mapping[str, pd.Series[float]]) -> dict[str, Measured]:
    found = {}
    estimates = moderated([Launches(np.asarray(one, dtype=np.float64)) for one in logs.values()])
    for case, estimate in zip(logs, estimates, strict=True):
        found[case] = Measured(*map(exp, (estimate.mean, *estimate.interval())))
    return found
