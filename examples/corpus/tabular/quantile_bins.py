"""Values as the number of the quantile bin that they fall into."""

import numpy as np

from pyopbench import OwnOp

BINS = 10


def quantile_bins(x):
    qs = np.nanpercentile(x, np.linspace(0, 100, BINS + 1)[1:-1])
    edges = np.unique(qs)
    binned = np.digitize(x, edges, right=False)
    binned[np.isnan(x)] = -1
    return binned.astype(np.int64)


def inputs(size, rng):
    x = rng.lognormal(0, 1, size)
    x[::17] = np.nan
    return (x,)


OP = OwnOp(
    inputs=inputs,
    sizes=(32, 1000, 100_000),
    size_unit="rows",
    numpy=quantile_bins,
    differentiable=(),
    source="tabular models whose features were made with pandas.qcut",
)
EDGES = {
    "one": (np.ones(1),),
    "ties": (np.array([1.0, 1, 1, 2, 2]),),
    "nan": (np.array([np.nan, 1, 2]),),
}
