"""Functions of SciPy's that are put together of NumPy's give what SciPy's do; NaN reaches no further than there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traced_compare import difference_in_graph

special = pytest.importorskip("scipy.special")
ndimage = pytest.importorskip("scipy.ndimage")
stats = pytest.importorskip("scipy.stats")
distance = pytest.importorskip("scipy.spatial.distance")

RNG = np.random.default_rng(3)
IMAGE = RNG.normal(0, 1, (5, 4))
HOLED = np.where(RNG.random((5, 4)) < 0.1, np.nan, IMAGE)
LINE = RNG.normal(0, 1, 7).astype(np.float32)
FLOATS = (IMAGE, HOLED, LINE, np.array([[0.0, np.inf], [-np.inf, 1.0]]))
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
PLACES = RNG.uniform(-6, 10, (2, 3, 5))
WEIGHTS = np.array([1.0, 2, -3, 0.5])


def over_axes(function: Any) -> list[Any]:
    return [function, lambda x: function(x, axis=0), lambda x: function(x, axis=-1)]


def over_modes(function: Any) -> list[Any]:
    return [lambda x, mode=mode: function(x, mode) for mode in MODES]


CALLS: dict[str, list[Any]] = {
    "scipy.special.logsumexp": over_axes(lambda x, axis=None: special.logsumexp(x, axis=axis)),
    "scipy.special.softmax": over_axes(lambda x, axis=None: special.softmax(x, axis=axis)),
    "scipy.special.log_softmax": over_axes(lambda x, axis=None: special.log_softmax(x, axis=axis)),
    "scipy.stats.zscore": [
        *over_axes(lambda x, axis=None: stats.zscore(x, axis=axis)),
        lambda x: stats.zscore(x, ddof=1),
        lambda x: stats.zscore(x * 0 + 0.1),
    ],
    "scipy.spatial.distance.cdist": [
        *(
            lambda x, metric=metric: distance.cdist(np.atleast_2d(x), 2 * np.atleast_2d(x)[:3] - 1, metric)
            for metric in ("euclidean", "sqeuclidean", "cityblock")
        ),
        lambda x: distance.cdist(np.atleast_2d(x), np.atleast_2d(x)),
    ],
    "scipy.ndimage.correlate1d": [
        *over_modes(lambda x, mode: ndimage.correlate1d(x, [1, 2, -3], mode=mode, cval=2.0)),
        lambda x: ndimage.correlate1d(x, WEIGHTS, axis=0, origin=-1),
    ],
    "scipy.ndimage.gaussian_filter": [
        *over_modes(lambda x, mode: ndimage.gaussian_filter(x, 2.0, mode=mode, cval=-1.0)),
        lambda x: ndimage.gaussian_filter(x, [0.7] * x.ndim, truncate=2.0),
        lambda x: ndimage.gaussian_filter(x, 0),
    ],
    "scipy.ndimage.gaussian_filter1d": over_modes(lambda x, mode: ndimage.gaussian_filter1d(x, 1.0, 0, mode=mode)),
    "scipy.ndimage.map_coordinates": [
        *(
            lambda x, mode=mode, order=order: ndimage.map_coordinates(
                x, PLACES[: x.ndim] + 0.01, order=order, mode=mode, cval=3.0
            )
            for order, mode in ((1, "reflect"), (1, "mirror"), (1, "nearest"), (1, "constant"), (0, "nearest"))
        ),
        lambda x: ndimage.map_coordinates(x, np.indices((3, 3))[: x.ndim] - 0.5, order=0, cval=1.0),
        lambda x: ndimage.map_coordinates(PLACES[0], (x * 0 + 1.5, x * 0 + 2), order=1),
        *(
            lambda x, mode=mode: ndimage.map_coordinates(PLACES[0], (x + 1.5, x * 0 + 2), order=1, mode=mode, cval=7.0)
            for mode in ("reflect", "mirror")
        ),
        *(
            lambda x, mode=mode: ndimage.map_coordinates(IMAGE[:2, :1], (x * 0 + 0.5, x), order=1, mode=mode, cval=7.0)
            for mode in ("reflect", "mirror")
        ),
        lambda x: ndimage.map_coordinates(IMAGE, (x * 1e300, x * 0), order=1, mode="reflect", cval=7.0),
    ],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_function_gives_what_scipys_does(name: str) -> None:
    differing = {}
    for place, call in enumerate(CALLS[name]):
        for given in FLOATS:
            found = difference_in_graph(call, given)
            if found:
                differing[place, given.shape] = found
    assert differing == {}
