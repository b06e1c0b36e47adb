"""Runs of cases of mode `threads:N` with known truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

from frames import Bench, run_of
from pyopbench.model.case import NO_GRADIENT, Case, Failure
from pyopbench.store.measured_run import WAIT_COLUMNS

LAUNCHES, ROUNDS, SIZE = 3, 5, 1000


def case_of(variant: str, threads: int = 1) -> str:
    """Return the id of a forward case."""
    return Case("double", variant, NO_GRADIENT, "forward", f"threads:{threads}", "float32", SIZE).id


def run(
    rates: Mapping[str, Mapping[int, float]],
    noise: float = 0.01,
    *,
    dtype: str = "float32",
    launches: int = LAUNCHES,
    failures: Sequence[Failure] = (),
) -> SimpleNamespace:
    """Return a run in which each variant comes to so many calls a second with each number of threads.

    Args:
        rates: variant -> threads -> calls a second.
        noise: standard deviation of the log of a block; what a launch has in common is five times that.
        dtype: of all cases.
        launches: how many.
        failures: of launches.
    """
    numbers = sorted({threads for one in rates.values() for threads in one})
    benches = [
        Bench(
            {variant: 1 / by_threads[threads] for variant, by_threads in rates.items() if threads in by_threads},
            op="double",
            sizes=(SIZE,),
            mode=f"threads:{threads}",
            dtype=dtype,
            launches=launches,
            rounds=ROUNDS,
            within=noise,
            between=0.0,
            seed=threads,
        )
        for threads in numbers
    ]
    made = run_of(*benches, failures=failures)
    shifts = np.exp(5 * noise * np.random.default_rng(0).standard_normal(launches))
    frame = made.frame.assign(seconds=made.frame["seconds"] * shifts[made.frame["launch"]])
    found = {key: Case.from_id(key) for key in made.cases}
    seconds = {key: (one.threads or 1) / rates[one.variant][one.threads or 1] for key, one in found.items()}
    rows = [
        (made.name, launch, key, each, 2 * each, None) for key, each in seconds.items() for launch in range(launches)
    ]
    waits = pd.DataFrame(rows, columns=list(WAIT_COLUMNS)).astype(dict.fromkeys(WAIT_COLUMNS[3:], "float64"))
    return SimpleNamespace(**{**vars(made), "frame": frame, "waits": waits})
