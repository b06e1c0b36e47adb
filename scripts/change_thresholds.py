"""Print the table of `pyopbench/stats/change_points.py`: how large the statistic gets without a change.

python scripts/change_thresholds.py [SERIES]     series for each length and kind of noise; 20,000 if not said
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from scipy import signal

from pyopbench.stats.change_points import ALARM_RATES, LENGTHS, largest_statistics
from pyopbench.stats.estimate import Floats
from pyopbench.stats.series_noise import FEWEST_POINTS, MANY_POINTS, Noise, clipped, excess, scale

SERIES = 20_000
AT_ONCE = 2_000_000
"""Numbers of statistics that are held at once."""
AUTOCORRELATION = 0.5
WARM_UP = 30
"""Points before the first one; half to that power is nothing."""


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw series of independent normal noise, standard deviation 1."""
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw series of Student's t with 3 degrees of freedom, scaled to a standard deviation of 1."""
    return rng.standard_t(3, shape) / np.sqrt(3)


def lasting(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Draw series of normal noise with an autocorrelation of 0.5 and a standard deviation of 1."""
    shocks = rng.standard_normal((shape[0], shape[1] + WARM_UP)) * np.sqrt(1 - AUTOCORRELATION**2)
    found: Floats = signal.lfilter([1.0], [1.0, -AUTOCORRELATION], shocks, axis=-1)[:, WARM_UP:]
    return found


DRAWN: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": normal,
    "t with 3 degrees of freedom": heavy,
    "autocorrelated by 0.5": lasting,
}
KINDS: dict[Noise, tuple[str, ...]] = {"independent": tuple(DRAWN)[:2], "autocorrelated": tuple(DRAWN)}
"""Of which kinds of noise a threshold is the highest."""


def largest(values: Floats, noise: Noise) -> Floats:
    """Return the largest statistic of each series, with errors as a history has them."""
    ones = np.ones(values.shape)
    estimated = noise == "autocorrelated" and values.shape[-1] >= MANY_POINTS
    factor = scale(values, ones, noise) if estimated else excess(values, ones, noise)
    errors = ones * factor[:, None]
    return largest_statistics(clipped(values, errors), errors)


def quantiles(n: int, noise: Noise, series: int) -> list[float]:
    """Return for each alarm rate what the statistic exceeds as often, of the kind of noise where that is most."""
    rates = 1 - np.array(ALARM_RATES)
    found = []
    for number, kind in enumerate(KINDS[noise]):
        rng = np.random.default_rng([n, number])
        batch = max(min(series, AT_ONCE // (30 * n)), 1)
        drawn = [largest(DRAWN[kind](rng, (batch, n)), noise) for _ in range(-(-series // batch))]
        found.append(np.quantile(np.concatenate(drawn), rates))
    return [round(float(value), 2) for value in np.max(found, axis=0)]


def main() -> None:
    """Print the table."""
    series = int(sys.argv[1]) if len(sys.argv) > 1 else SERIES
    assert LENGTHS[0] == FEWEST_POINTS
    for noise in KINDS:
        columns = zip(*(quantiles(n, noise, series) for n in LENGTHS), strict=True)
        sys.stdout.write(f'    "{noise}": {{\n')
        for rate, column in zip(ALARM_RATES, columns, strict=True):
            sys.stdout.write(f"        {rate}: {tuple(column)},\n")
        sys.stdout.write("    },\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
