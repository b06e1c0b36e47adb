"""What each function of the table of traced functions is called with, to compare what comes out with NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Call = Callable[..., Any]
Case = tuple[Call, tuple[Any, ...]]


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


SHAPES = ((), (1,), (7,), (3, 4), (2, 3, 4))


def arrays(*dtypes: str) -> list[Any]:
    """Return arrays with ties, zeros and both signs: the first dtype in every shape, and the others in two of them."""
    found: list[Any] = []
    for dtype in dtypes:
        for shape in SHAPES if dtype == dtypes[0] else SHAPES[2:4]:
            whole = _rng().integers(-3, 4, shape)
            part = _rng().integers(0, 3, shape) / 4 if np.dtype(dtype).kind in "fc" else 0
            found.append(np.asarray(whole + part, dtype))
    return found


ALL = arrays("float32", "float64", "int32", "int64", "bool", "uint8")
RANKED = [x for x in ALL if x.ndim]
FLAT = [x for x in RANKED if x.ndim == 1]
PLANES = [x for x in RANKED if x.ndim >= 2]
NUMBERS = [x for x in ALL if x.dtype.kind != "b"]
FLOATS = [x for x in ALL if x.dtype.kind == "f"]
COMPLEX = arrays("complex64", "complex128")
WHOLE = arrays("int32", "int64", "uint8", "bool")
EMPTY = [np.zeros((0,), np.float32), np.zeros((0, 3), np.float64)]
NAN = [
    np.array([[1.0, np.nan, 3.0, np.inf], [2.0, 2.0, -np.inf, 0.0], [-0.0, 0.0, np.nan, np.nan]], kind)
    for kind in ("float32", "float64")
]
INFINITE = [np.array(x, "float64") for x in ([np.inf], [1, np.inf], [-np.inf, 1, 2, 3, np.inf], [np.nan, -np.inf])]
SQUARES = [(_rng().standard_normal(shape) + 3 * np.eye(3)).astype(kind)
           for kind in ("float32", "float64") for shape in ((3, 3), (2, 3, 3))]  # fmt: skip
SYMMETRIC = [x @ np.swapaxes(x, -1, -2) for x in SQUARES]
TALL = [_rng().standard_normal((4, 3)).astype(kind) for kind in ("float32", "float64")]
RISING = [np.array([-2, 0, 0, 1.5, 3], kind) for kind in ("float32", "float64")]


def each(given: Sequence[Any], *calls: Call) -> list[Case]:
    """Return every call with every array."""
    return [(call, (array,)) for call in calls for array in given]


def pairs(given: Sequence[Any], *calls: Call) -> list[Case]:
    """Return every call with every array and a row of it in reverse, and with a number of Python's."""
    found: list[Case] = []
    for call in calls:
        for array in given:
            row = np.asarray(array[(0,) * max(array.ndim - 1, 0)])
            found.append((call, (array, row[::-1].copy() if row.ndim else row)))
            if array.dtype.kind != "b":
                found.append((lambda x, call=call: call(x, 2), (array,)))
    return found


def with_axes(name: str, given: Sequence[Any], *options: dict[str, Any]) -> list[Case]:
    """Return calls of a reduction along each axis, all of them, and with options."""
    function = getattr(np, name)
    found: list[Case] = []
    for array in given:
        found += [(lambda x, axis=axis: function(x, axis=axis), (array,)) for axis in range(-1, array.ndim - 1)]
        found += [(lambda x, one=one: function(x, **one), (array,)) for one in ({}, *options)]
    return found


KEEP = {"keepdims": True}
BOTH = {"axis": (0, 1)}


def _several(names: str, make: Callable[[str], list[Case]]) -> dict[str, list[Case]]:
    return {name: make(name) for name in names.split()}


def _written(function: Call) -> Call:
    """Return a function that returns a copy of its first argument to which another one wrote."""

    def call(x: Any, *others: Any) -> Any:
        mine = x.copy()
        function(mine, *others)
        return mine

    return call


PLACES = np.array([[0, 2, 1], [2, 0, 0]])

CASES: dict[str, list[Case]] = {
    **_several("sum prod", lambda name: with_axes(name, [*ALL, *COMPLEX, *EMPTY], KEEP)),
    **_several("mean", lambda name: with_axes(name, [*ALL, *COMPLEX, *NAN], KEEP)),
    **_several("std var", lambda name: with_axes(name, [*ALL, *COMPLEX], KEEP, {"ddof": 1})),
    **_several("max min amax amin", lambda name: with_axes(name, [*ALL, *NAN], KEEP)),
    **_several("any all", lambda name: with_axes(name, [*ALL, *NAN, *EMPTY], KEEP)),
    **_several("count_nonzero", lambda name: with_axes(name, [*ALL, *NAN])),
    **_several("argmax argmin", lambda name: with_axes(name, [*ALL, *NAN], KEEP)),
    **_several("cumsum cumprod", lambda name: with_axes(name, ALL)),
    "maximum.accumulate": each([*(x for x in RANKED if x.dtype != bool), *NAN], lambda x: np.maximum.accumulate(x, axis=-1)),
    "minimum.accumulate": each([*(x for x in RANKED if x.dtype != bool), *NAN], lambda x: np.minimum.accumulate(x, axis=0)),
    **_several("ptp", lambda name: with_axes(name, NUMBERS)),
    "reshape": each(PLANES, lambda x: np.reshape(x, -1), lambda x: np.reshape(x, (4, -1))),
    **_several("ravel transpose squeeze atleast_1d atleast_2d atleast_3d copy real imag",
               lambda name: each([*ALL, *COMPLEX], getattr(np, name))),
    **_several("permute_dims", lambda name: each(PLANES, lambda x: np.transpose(x, (1, 0, *range(2, x.ndim))))),
    **_several("linalg.matrix_transpose matrix_transpose", lambda name: each(PLANES, lambda x: np.matrix_transpose(x))),
    "swapaxes": each(PLANES, lambda x: np.swapaxes(x, 0, -1)),
    "moveaxis": each(PLANES, lambda x: np.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    "rollaxis": each(PLANES, lambda x: np.rollaxis(x, 1), lambda x: np.rollaxis(x, 0, 2)),
    "expand_dims": each(ALL, lambda x: np.expand_dims(x, 0), lambda x: np.expand_dims(x, (0, -1))),
    "flip": each(RANKED, lambda x: np.flip(x), lambda x: np.flip(x, -1)),
    **_several("fliplr flipud", lambda name: each(PLANES, getattr(np, name))),
    "rot90": each(PLANES, *(lambda x, k=k: np.rot90(x, k) for k in range(-1, 4))),
    "broadcast_to": each(RANKED, lambda x: np.broadcast_to(x, (2, *x.shape))),
    "broadcast_arrays": pairs(RANKED, lambda x, y: np.broadcast_arrays(x, y)),
    "tile": each(ALL, lambda x: np.tile(x, 2), lambda x: np.tile(x, (2, 1, 3))),
    "repeat": each(RANKED, lambda x: np.repeat(x, 2), lambda x: np.repeat(x, 3, axis=0))
    + [(lambda x, n: np.repeat(x, n), (np.arange(3.0), np.array([2, 0, 1])))],
    "roll": each(RANKED, lambda x: np.roll(x, 2), lambda x: np.roll(x, -1, axis=0))
    + each(PLANES, lambda x: np.roll(x, (1, 2), axis=(0, 1))) + each(EMPTY, lambda x: np.roll(x, 1)),
    "split": each(PLANES, lambda x: np.split(x, [1, 2], axis=1), lambda x: np.split(x, x.shape[-1], axis=-1)),
    "array_split": each(RANKED, lambda x: np.array_split(x, 3)),
    "vsplit": each(PLANES, lambda x: np.vsplit(x, [1])),
    "hsplit": each(PLANES, lambda x: np.hsplit(x, [1, 2])),
    "dsplit": each([x for x in PLANES if x.ndim == 3], lambda x: np.dsplit(x, 2)),
    "unstack": each(PLANES, lambda x: tuple(np.moveaxis(x, 1, 0))),
    "lib.stride_tricks.sliding_window_view": each(
        FLAT, lambda x: np.lib.stride_tricks.sliding_window_view(x, min(3, x.size)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 1).mean(axis=-1))
    + each(PLANES, lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1),
           lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 0)),
           lambda x: np.lib.stride_tricks.sliding_window_view(x, x.shape),
           lambda x: np.lib.stride_tricks.sliding_window_view(x, (1, 2), (0, 0))),
    "diagonal": each(PLANES, lambda x: np.diagonal(x), lambda x: np.diagonal(x, 1, -1, 0)),
    **_several("concatenate concat", lambda name: pairs(FLAT, lambda x, y: np.concatenate([x, y, [1]]))
               + each(PLANES, lambda x: np.concatenate([x, x], axis=1), lambda x: np.concatenate([x, x], axis=None))),
    "stack": each(ALL, lambda x: np.stack([x, x]), lambda x: np.stack([x, x], axis=-1)),
    **_several("vstack row_stack", lambda name: each(ALL, lambda x: np.vstack([x, x]))),
    **_several("hstack dstack column_stack", lambda name: each(RANKED, lambda x: getattr(np, name)([x, x]))),
    "append": pairs(FLAT, lambda x, y: np.append(x, y)) + each(PLANES, lambda x: np.append(x, x, axis=0)),
    "meshgrid": pairs(FLAT, lambda x, y: np.meshgrid(x, y), lambda x, y: np.meshgrid(x, y, indexing="ij", sparse=True)),
    **_several("zeros_like ones_like", lambda name: each(ALL, getattr(np, name))),
    "empty_like": each(ALL, lambda x: np.zeros_like(np.empty_like(x))),
    "full_like": each(ALL, lambda x: np.full_like(x, 1), lambda x: np.full_like(x, 2, dtype=float)),
    "pad": each(PLANES, lambda x: np.pad(x, 1), *(lambda x, m=m: np.pad(x, ((1, 1),) * x.ndim, m)
                for m in ("reflect", "symmetric", "edge", "wrap")))
    + each(FLAT, lambda x: np.pad(x, (2, 0), constant_values=1)),
    "argsort": with_axes("argsort", [], KEEP) + each([*RANKED, *NAN], lambda x: np.argsort(x, kind="stable"),
                                                     lambda x: np.argsort(x, axis=0, kind="stable")),
    "sort": each([*RANKED, *NAN, *EMPTY[:1]], lambda x: np.sort(x), lambda x: np.sort(x, axis=0),
                 lambda x: np.sort(x, axis=None)),
    "partition": each(FLAT, lambda x: np.partition(x, 0)[0]),
    "argpartition": each(RISING, lambda x: np.argpartition(x, 4)[4]),
    "lexsort": pairs([x for x in FLAT if x.size > 1], lambda x, y: np.lexsort((x, y * np.ones(x.shape)))),
    "searchsorted": [(lambda a, v, s=s: np.searchsorted(a, v, s), (a, v)) for a in RISING
                     for v in (*NAN, *FLOATS) for s in ("left", "right")],
    "digitize": each([*FLOATS, *NAN], lambda x: np.digitize(x, [-1, 0, 2]), lambda x: np.digitize(x, [2.0, 0, -1]))
    + each(INFINITE, *(lambda x, e=e: np.digitize(x, np.array(e) + 0 * x[0]) for e in ([1.0], [1.0, 2], [2.0, 1]))),
    "unique": each([*RANKED, *NAN, EMPTY[0]], lambda x: np.unique(x), lambda x: np.unique(
        x, return_index=True, return_inverse=True, return_counts=True))
    + each([*(x for x in PLANES if x.ndim == 2), *NAN, PLACES, np.zeros((0, 3))], lambda x: np.unique(x % 2, axis=0),
           lambda x: np.unique(x, axis=0, return_index=True, return_inverse=True, return_counts=True)),
    **_several("isin in1d", lambda name: each(RANKED, lambda x: np.isin(x, [0, 2]), lambda x: np.isin(x, [1], invert=True))),
    **_several("intersect1d setdiff1d union1d setxor1d", lambda name: each(
        RANKED, lambda x: getattr(np, name)(x, np.array([0, 1, 9], x.dtype)))),
    "where": pairs(ALL, lambda x, y: np.where(x > 0, x, y)) + each(RANKED, lambda x: np.where(x)),
    **_several("nonzero flatnonzero argwhere", lambda name: each(RANKED, getattr(np, name))),
    "take": each(RANKED, lambda x: np.take(x, [0, -1, 0]), lambda x: np.take(x, 0, axis=-1),
                 lambda x: np.take(x, [[5, -7]], mode="clip", axis=0), lambda x: np.take(x, [5, -7], mode="wrap")),
    "take_along_axis": each(RANKED, lambda x: np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), axis=-1)),
    "put_along_axis": each(PLANES, _written(lambda x: np.put_along_axis(x, np.argmax(x, 0, keepdims=True), 1, 0))),
    "compress": each(PLANES, lambda x: np.compress([True, False, True][: x.shape[0]], x, axis=0)),
    "extract": each(RANKED, lambda x: np.extract(x > 0, x)),
    "choose": each([PLACES], lambda x: np.choose(x, [x * 10, x * 20, x * 30])),
    "select": each(RANKED, lambda x: np.select([x > 1, x > 0], [x, x * 2], 7)),
    "clip": each([*NUMBERS, *NAN], lambda x: np.clip(x, 0, 2), lambda x: np.clip(x, None, 1)),
    **_several("round around round_", lambda name: each([x for x in ALL if x.dtype.kind != "b"], lambda x: np.round(x))
               + each(FLOATS, lambda x: np.round(x, 1), lambda x: np.round(x, -1))),
    "fix": each(FLOATS, lambda x: np.fix(x)),
    "ravel_multi_index": each([PLACES], lambda x: np.ravel_multi_index((x, x), (3, 4))),
    "unravel_index": each([PLACES], lambda x: np.unravel_index(x, (2, 3))),
    "copyto": each(ALL, _written(lambda x: np.copyto(x, 1)), _written(lambda x: np.copyto(x, 1, where=x > 0))),
    "putmask": each(ALL, _written(lambda x: np.putmask(x, x > 0, 1))),
    "fill_diagonal": each([x for x in PLANES if x.ndim == 2], _written(lambda x: np.fill_diagonal(x, 1))),
    "put": each(PLANES, _written(lambda x: np.put(x, [0, 5], 1))),
    "bincount": each([np.array([1, 3, 1, 0])], lambda x: np.bincount(x), lambda x: np.bincount(x, x * 0.5, 6))
    + each([np.zeros(0, int)], lambda x: np.bincount(x)),
    "histogram": each([x for x in ALL if x.dtype.kind != "b"], lambda x: np.histogram(x, 4),
                      lambda x: np.histogram(x, [-1, 0, 2]), lambda x: np.histogram(x, 3, (-2, 2), density=True)),
    "dot": pairs(FLAT, lambda x, y: np.dot(x, y)) + each(SQUARES, lambda x: np.dot(x, x), lambda x: np.dot(x, [1, 2, 3])),
    "vdot": pairs([x for x in FLAT if x.size > 1], lambda x, y: np.vdot(x, y * np.ones(x.shape, x.dtype))),
    "inner": each(SQUARES, lambda x: np.inner(x, x)) + pairs(FLOATS, lambda x, y: np.inner(x, y)),
    "outer": pairs(FLAT, lambda x, y: np.outer(x, y)),
    "tensordot": each(SQUARES, lambda x: np.tensordot(x, x, 1), lambda x: np.tensordot(x, x, ([0], [-1]))),
    "einsum": each(SQUARES, lambda x: np.einsum("...ij,...jk->...ik", x, x), lambda x: np.einsum("...ii->...", x)),
    "linalg.multi_dot": each(TALL, lambda x: np.linalg.multi_dot([x, x.T, x])),
    **_several("trace linalg.trace", lambda name: each(PLANES, lambda x: np.trace(x), lambda x: np.trace(x, 1))),
    "diag": each([x for x in RANKED if x.ndim < 3], lambda x: np.diag(x), lambda x: np.diag(x, 1)),
    "diagflat": each(RANKED, lambda x: np.diagflat(x, -1)),
    **_several("tril triu", lambda name: each(PLANES, lambda x: getattr(np, name)(x, 1))),
    **{f"linalg.{name}": each(SQUARES, getattr(np.linalg, name)) for name in ("inv", "det", "slogdet")},
    "linalg.cholesky": each(SYMMETRIC, np.linalg.cholesky),
    "linalg.solve": each(SQUARES, lambda x: np.linalg.solve(x, x + 1))
    + each([x for x in SQUARES if x.ndim == 2], lambda x: np.linalg.solve(x, x[0])),
    "linalg.eigvalsh": each(SYMMETRIC, np.linalg.eigvalsh),
    "linalg.eigh": each(SYMMETRIC, lambda x: np.abs(np.linalg.eigh(x)[1]), lambda x: np.linalg.eigh(x).eigenvalues),
    "linalg.svd": each([*SQUARES, *TALL], lambda x: np.abs(np.linalg.svd(x, full_matrices=False)[2]),
                       lambda x: np.linalg.svd(x).S, lambda x: np.linalg.svd(x, compute_uv=False)),
    "linalg.svdvals": each(TALL, lambda x: np.linalg.svd(x, compute_uv=False)),
    "linalg.qr": each(TALL, lambda x: np.abs(np.linalg.qr(x)[1]), lambda x: np.abs(np.linalg.qr(x).Q)),
    "linalg.pinv": each([*SQUARES, *TALL], lambda x: np.linalg.pinv(x)),
    "linalg.matrix_power": each(SQUARES, *(lambda x, n=n: np.linalg.matrix_power(x, n) for n in (-1, 0, 3))),
    "linalg.matrix_rank": each([*SQUARES, np.ones((3, 3))], lambda x: np.linalg.matrix_rank(x)),
    "linalg.norm": each([*RANKED], lambda x: np.linalg.norm(x), *(lambda x, o=o: np.linalg.norm(x, o, axis=-1)
                        for o in (None, 0, 1, 2, 3, np.inf, -np.inf)))
    + each(TALL, *(lambda x, o=o: np.linalg.norm(x, o, keepdims=True) for o in ("fro", "nuc", 1, -1, 2, -2, np.inf))),
    **{f"fft.{name}": each([x for x in PLANES if x.dtype != bool], getattr(np.fft, name),
                           lambda x, name=name: getattr(np.fft, name)(x, norm="ortho"))
       for name in ("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "fftn", "ifftn", "rfft2", "irfft2", "rfftn", "irfftn")},
    **{f"fft.{name}": each(RANKED, getattr(np.fft, name), lambda x, name=name: getattr(np.fft, name)(x, axes=-1))
       for name in ("fftshift", "ifftshift")},
    **_several("convolve correlate", lambda name: [
        (lambda x, y, m=m: getattr(np, name)(x, y, m), (np.arange(n, dtype=kind) - 2, np.array([1, 2, -1, 0.5][:k], kind)))
        for m in ("full", "same", "valid") for n, k in ((6, 3), (6, 4), (2, 4), (3, 4), (4, 4)) for kind in ("f4", "f8")]),
    "diff": each(RANKED, lambda x: np.diff(x), lambda x: np.diff(x, axis=0), lambda x: np.diff(x, prepend=x[..., :1]))
    + each(FLOATS[1:], lambda x: np.diff(x, 2)),
    "ediff1d": each([x for x in RANKED if x.dtype.kind != "b"], lambda x: np.ediff1d(x)),
    "interp": [(lambda x, p, f: np.interp(x, p, f), (x, np.array([-2.0, 0, 1, 2]), np.array([3.0, 1, 5, 2])))
               for x in (*FLOATS, *NAN)]
    + each(FLOATS, lambda x: np.interp(x, [-1, 1], [0, 1], left=-9, right=9)),
    "median": each([*ALL, *NAN], lambda x: np.median(x)) + each([*PLANES, *NAN], lambda x: np.median(x, axis=0),
                   lambda x: np.median(x, axis=(0, 1), keepdims=True)),
    **_several("quantile percentile", lambda name: each(
        [*FLOATS, *NAN, *arrays("int32", "int64")], lambda x: getattr(np, name)(x, 0.3), lambda x: getattr(np, name)(
            x, [0.25, 1]), *(lambda x, m=m: getattr(np, name)(x, 0.4, method=m) for m in (
                "lower", "higher", "midpoint", "nearest")))
        + each(PLANES[:2], lambda x: getattr(np, name)(x, [0.1, 0.6, 0.9], axis=0, keepdims=True))
        + each(INFINITE, *(lambda x, m=m: getattr(np, name)(x, [0.0, 0.25, 0.5, 1.0], method=m) for m in (
            "linear", "lower", "higher", "midpoint", "nearest")), lambda x: getattr(np, name)(x, np.array([0, 1])))),
    "average": each(ALL, lambda x: np.average(x)) + each(PLANES, lambda x: np.average(x, 0, np.arange(x.shape[0]) + 1)),
    "cov": each([x for x in RANKED if x.ndim < 3 and x.size > 1], lambda x: np.cov(x), lambda x: np.cov(x, rowvar=False)),
    "corrcoef": each(TALL, lambda x: np.corrcoef(x), lambda x: np.corrcoef(x[0], x[1])),
    **_several("isclose allclose", lambda name: pairs([*NUMBERS, *NAN], getattr(np, name)) + each(
        NAN, lambda x: getattr(np, name)(x, x, equal_nan=True))),
    "array_equal": pairs(ALL, lambda x, y: np.array_equal(x, y)) + each(ALL, lambda x: np.array_equal(x, x)),
    "nan_to_num": each([*FLOATS, *NAN], lambda x: np.nan_to_num(x), lambda x: np.nan_to_num(x, nan=1, posinf=9)),
    "nanmedian": with_axes("nanmedian", [*FLOATS, *arrays("int32"), *NAN], KEEP),
    **_several("nanquantile nanpercentile", lambda name: each([*FLOATS[1:], *NAN, *INFINITE], lambda x: getattr(np, name)(x, 0.3),
        lambda x: getattr(np, name)(x, [0.25, 1], axis=-1), lambda x: getattr(np, name)(x, 0.7, axis=0, keepdims=True))),
    **_several("nansum nanprod nanmean nanstd nanvar", lambda name: with_axes(name, [*NUMBERS, *NAN])),
    **_several("nanmax nanmin", lambda name: with_axes(name, [*NUMBERS, NAN[0][:, [0, 3]]])),
    **_several("nanargmax nanargmin", lambda name: with_axes(name, [*FLOATS[1:], NAN[0][:2, :1]])),
    "shape": each(ALL, lambda x: np.shape(x)),
    "ndim": each(ALL, lambda x: np.ndim(x)),
    "size": each(RANKED, lambda x: np.size(x), lambda x: np.size(x, 0)),
    **_several("iscomplexobj isrealobj", lambda name: each([*ALL, *COMPLEX], getattr(np, name))),
    "result_type": each(ALL, lambda x: np.zeros(1, np.result_type(x, np.float32))),
    "angle": each(COMPLEX, lambda x: np.angle(x)),
    "cross": each([x for x in SQUARES if x.ndim == 2], lambda x: np.cross(x, x[::-1])),
    "diag_indices_from": each(SQUARES[:1], lambda x: np.diag_indices_from(x)),
    "gradient": each([x for x in FLOATS if x.size > 4], lambda x: np.gradient(x, axis=-1), lambda x: np.gradient(x, 0.5)),
    "kron": pairs(FLAT, lambda x, y: np.kron(x, y)) + each(SQUARES[:1], lambda x: np.kron(x, x)),
    "polyval": pairs(FLAT, lambda x, y: np.polyval([1, 2, 3], x)),
    "sinc": each(FLOATS, lambda x: np.sinc(x)),
    **_several("trapezoid trapz", lambda name: each([x for x in RANKED if x.dtype.kind == "f"], getattr(
        np, "trapezoid", getattr(np, "trapz", None)))),
    "unwrap": each([x for x in RANKED if x.dtype.kind == "f"], lambda x: np.unwrap(x * 3)),
    "vander": each([x for x in FLAT if x.dtype.kind == "f"], lambda x: np.vander(x, 3)),
    "apply_along_axis": each(TALL, lambda x: np.apply_along_axis(lambda row: row.sum(), 1, x)),
    **_several("linspace", lambda name: each(FLOATS[:1], lambda x: np.linspace(x, x + 2, 5))),
    **_several("logspace geomspace", lambda name: each(FLOATS[:1], lambda x: np.logspace(x, 2, 4))),
}  # fmt: skip
"""By the name in the table."""
