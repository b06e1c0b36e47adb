"""Functions of `scipy.ndimage`, put together of NumPy's: filters along axes, and interpolation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.creation import is_dynamic
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np

PADDING = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
"""SciPy's names of what is beyond the edges, and NumPy's
(https://docs.scipy.org/doc/scipy/reference/generated/scipy.ndimage.correlate1d.html)."""

FARTHEST = 2.0**63
"""Places from here on overflow where SciPy folds them back into an image (`ni_interpolation.c`)."""


def _only_floats(name: str, x: Any) -> None:
    if x.dtype.kind != "f":
        raise refuse(f"scipy.ndimage.{name} of {x.dtype}", why="rounds in its own way", fix=".astype(float)")


def _windows(size: int, weights: Any, origin: int, mode: str) -> Any:
    """Return the `(size, n)` indices of what each element of an axis is made of; `size` is what is beyond the edges."""
    before = len(weights) // 2 + origin
    width = (before, len(weights) - before - 1)
    if mode == "constant":
        places = np.pad(np.arange(size), width, constant_values=size)
    else:
        places = np.pad(np.arange(size), width, PADDING[mode])
    return places[np.arange(size)[:, None] + np.arange(len(weights))]


def _along(name: str, x: Any, weights: Any, axis: int, mode: str, cval: float, origin: int = 0) -> Any:
    """Return a correlation of floats with known weights along an axis, computed in float64 as SciPy does."""
    size = x.static_shape[axis]
    if size is None or is_dynamic([weights, cval]):
        raise refuse(f"scipy.ndimage.{name}", why="needs sizes and weights that are known before the graph runs")
    if mode not in PADDING:
        raise refuse(f"scipy.ndimage.{name}(..., mode={mode!r})")
    if size == 0:
        return x
    weights = np.asarray(weights, float)
    moved = np.moveaxis(x.astype(np.float64), axis, -1)
    if mode == "constant":
        moved = np.concatenate([moved, np.full_like(moved[..., :1], cval)], axis=-1)
    found = np.matmul(moved[..., _windows(size, weights, origin, mode)], weights)  # no matrix: 0 * NaN is not 0
    return np.moveaxis(found, -1, axis).astype(x.dtype)


def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """Return a correlation along an axis."""
    x = as_traced(input)
    _only_floats("correlate1d", x)
    if output is not None:
        raise refuse("scipy.ndimage.correlate1d(..., output=)")
    (place,) = axes_of(axis, x.ndim)
    return _along("correlate1d", x, weights, place, mode, cval, origin)


def gaussian_filter1d(
    input: Any,
    sigma: float,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """Return a Gaussian filter along an axis."""
    x = as_traced(input)
    _only_floats("gaussian_filter1d", x)
    if order or output is not None:
        raise refuse("scipy.ndimage.gaussian_filter1d(..., order=, output=)")
    (place,) = axes_of(axis, x.ndim)
    return _along("gaussian_filter1d", x, _gaussian(sigma, truncate, radius), place, mode, cval)


def _gaussian(sigma: Any, truncate: float, radius: Any) -> Any:
    if is_dynamic([sigma, truncate, radius]):
        raise refuse("scipy.ndimage.gaussian_filter", why="needs a sigma that is known before the graph runs")
    reach = int(truncate * float(sigma) + 0.5) if radius is None else int(radius)
    power = np.exp(-0.5 / float(sigma) ** 2 * np.arange(-reach, reach + 1) ** 2)
    return power / power.sum()


def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Return a Gaussian filter along all axes."""
    x = as_traced(input)
    _only_floats("gaussian_filter", x)
    if np.any(order) or output is not None or axes is not None or not isinstance(mode, str):
        raise refuse("scipy.ndimage.gaussian_filter(..., order=, output=, axes=, mode=[...])")
    sigmas = [sigma] * x.ndim if np.ndim(sigma) == 0 else list(sigma)
    reaches = [radius] * x.ndim if np.ndim(radius) == 0 else list(radius)
    for axis, (one, reach) in enumerate(zip(sigmas, reaches, strict=True)):
        if is_dynamic(one) or one > 1e-15:  # as SciPy does
            x = as_traced(_along("gaussian_filter", x, _gaussian(one, truncate, reach), axis, mode, cval))
    return x


def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """Return elements between those of an array, of order 0 or 1."""
    x, places = as_traced(input), as_traced(coordinates)
    _only_floats("map_coordinates", x)
    # Between two elements that are as near as each other, SciPy takes another one beyond an edge.
    modes = ("nearest", "constant", "reflect", "mirror") if order == 1 else ("nearest", "constant")
    if output is not None or order not in (0, 1) or mode not in modes:
        raise refuse(f"scipy.ndimage.map_coordinates(..., order={order}, mode={mode!r})")
    sizes = [size for size in x.static_shape if size]
    if len(sizes) < x.ndim:
        raise refuse("scipy.ndimage.map_coordinates", why="needs sizes that are known before the graph runs")
    floats = [places[axis].astype(np.float64) for axis in range(x.ndim)]
    for axis, size in enumerate(sizes):
        if size == 1 and mode in ("reflect", "mirror"):  # folded to its one element, from however far
            floats[axis] = np.where(np.isnan(floats[axis]), floats[axis], 0.0)
    found: Any = 0.0
    for corner in np.ndindex(*[order + 1] * x.ndim):
        weight: Any = 1.0
        index = []
        for axis, upper in enumerate(corner):
            begin = np.floor(floats[axis] + (0.5 if order == 0 else 0.0))
            if order:
                share = floats[axis] - begin
                weight = weight * (share if upper else 1 - share)
            index.append(_mapped(begin.astype(np.int64) + upper, sizes[axis], mode))
        found = found + x[tuple(index)].astype(np.float64) * weight
    for place, size in zip(floats, sizes, strict=True):
        if mode == "constant":
            found = np.where((place >= 0) & (place <= size - 1), found, cval)  # cval for NaN
        elif mode != "nearest":  # NaN is folded to no place in the image, and nothing that 64 bits cannot count
            found = np.where(np.abs(place) < FARTHEST, found, cval)
    return found.astype(x.dtype)


def _mapped(index: Any, size: int, mode: str) -> Any:
    """Return indices into an axis of those into what it goes on with beyond its edges."""
    if mode in ("nearest", "constant") or size == 1:
        return np.clip(index, 0, size - 1)
    period = 2 * size if mode == "reflect" else 2 * size - 2
    inside = np.remainder(index, period)
    return np.minimum(inside, (period - 1 if mode == "reflect" else period) - inside)


IMAGES: dict[str, Callable[..., Any]] = {
    f"scipy.ndimage.{one.__name__}": one for one in (correlate1d, gaussian_filter, gaussian_filter1d, map_coordinates)
}
"""By the name under which SciPy documents it."""
