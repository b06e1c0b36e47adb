"""Expressions of NumPy's and SciPy's functions, and the arrays that each is tried with, traced and written."""

from __future__ import annotations

from typing import Any

import numpy as np

_RNG = np.random.default_rng(5)


def _symmetric(size: int) -> Any:
    drawn = _RNG.normal(size=(size, size))
    return drawn @ drawn.T + np.eye(size)


ARRAYS: dict[str, Any] = {
    "o": np.float64(1.5),
    "v": np.array([2.0, -1, 0, 3.5, -1, 2, 0.25]),
    "u": np.array([1.0, 0.5, -2]),
    "m": np.array([[1, -2, 0.5, 3], [1, 1, -0.25, 2], [0, 4, -3, 1]], np.float32),
    "c": np.round(_RNG.normal(0, 2, (2, 3, 4))),
    "n": np.array([[1.0, np.nan, 3.0, np.inf], [2.0, 2.0, -np.inf, 0.0], [-0.0, 0.0, np.nan, np.nan]]),
    "k": np.array([np.nan, 1, 3, 2, np.nan], np.float32),
    "d": np.array([1.0, 2.0, np.inf, np.inf]),
    "i": np.array([[3, -1, 2, 0], [2, 2, -3, 1], [0, 1, 1, 5]], np.int32),
    "l": np.array([4, -2, 0, 4, 1, -2, 3], np.int64),
    "j": np.array([0, 2, 1], np.int64),
    "w": np.array([1, 3, 1, 0, 3], np.int64),
    "b": np.array([[True, False, True, True], [False, False, True, False], [True, True, True, False]]),
    "t": np.array([True, False, True]),
    "e": np.zeros((0, 3)),
    "E": np.zeros(0, np.float32),
    "s": _RNG.normal(size=(3, 3)) + 3 * np.eye(3),
    "y": _symmetric(3),
    "a": _RNG.normal(size=(4, 3)),
    "p": np.array([0.2, 1.0, 2.5, 0.75]),
    "q": np.array([0.2, 0.9, 0.5, 0.05], np.float32),
    "r": np.array([-2, 0, 0, 1.5, 3]),
    "R": np.array([-2.0, 0, 1, 3]),
    "z": _RNG.normal(size=(3, 4)) + 1j * _RNG.normal(size=(3, 4)),
    "h": _RNG.normal(size=(5, 6)),
    "f": _RNG.normal(size=9).astype(np.float32),
    "F": _RNG.normal(size=(2, 64)),
    "G": _RNG.normal(size=(2, 64)).astype(np.float32),
    "H": np.where(np.arange(64) == 20, np.nan, _RNG.normal(size=64)),
    "I": _RNG.integers(-50, 50, 64),
    "J": np.where(np.arange(64) == 20, 1e20, np.ones(64)),
    "K": _RNG.integers(0, 256, 64).astype(np.uint8),
}
"""Arrays by letter: numbers with ties and both signs, NaN and infinities (`n`, `k`, `d`), truth values, empty ones, and what
decompositions take."""

ROWS = """
o v m c n k i l: np.absolute(x)
v m n i: np.fabs(x); np.exp(x); np.expm1(x); np.sqrt(np.abs(x)); np.square(x); np.sin(x); np.cos(x); np.tan(x)
v m n: np.arctan(x); np.sinh(x); np.cosh(x); np.tanh(x); np.arcsinh(x); np.sign(x); np.floor(x); np.ceil(x); np.rint(x)
v m n i: np.negative(x); np.isnan(x); np.isinf(x); np.isfinite(x); np.logical_not(x); np.conjugate(x); np.trunc(x); np.fix(x)
p q: np.log(x); np.log1p(x); np.log2(x); np.log10(x); np.arccosh(x + 1); np.reciprocal(x); np.cbrt(x); np.exp2(x)
q: np.arcsin(x); np.arccos(x); np.arctanh(x); np.degrees(x); np.radians(x); np.deg2rad(x); np.rad2deg(x); np.sinc(x)
v n: np.sinc(x); np.positive(x); np.signbit(x); np.modf(x)[0]; np.modf(x)[1]
v m n i l: np.add(x, x); np.subtract(x, 2); np.multiply(x, x); np.divide(x, 2); np.maximum(x, 1); np.minimum(x, 0.5)
v m n i: np.floor_divide(x, 2); np.remainder(x, -2); np.fmod(x, 2); np.float_power(np.abs(x), 2); np.hypot(x, 2.0)
v i n: np.floor_divide(x, x); np.remainder(x, x); np.divmod(x, 3)[0]; np.divmod(x, 3)[1]; np.mod(x, 3)
v m n: x // 0.1; x % 0.7; x // 2; x % -2; x // x; x % x; 1.0 // (x + 0.1)
i l: x // 2; x % 3; x // 0.5
v m i: np.vstack([x, x], dtype=np.float64); np.hstack([x, x], dtype=np.float64)
v m n: np.fmax(x, 1); np.fmin(x, np.nan); np.arctan2(x, 2.0); np.copysign(x, -1.0); np.heaviside(x, 0.5); np.logaddexp(x, 1.0)
v m: np.power(x, 2); np.power(np.abs(x), 0.5); np.logaddexp2(x, 1.0); np.nextafter(x, x + 1); x ** 2; np.where(x > 0, x, -x)
v m n i b: np.equal(x, 1); np.not_equal(x, 1); np.logical_and(x, x); np.logical_or(x, x > 0); np.logical_xor(x, x)
v m n i: np.less(x, 1); np.less_equal(x, 1); np.greater(x, 1); np.greater_equal(x, 1)
i l: np.left_shift(x, 2); np.right_shift(x, 1); np.bitwise_xor(x, 3); np.invert(x); np.bitwise_and(x, 3); np.bitwise_or(x, 4)
b: np.bitwise_xor(x, ~x); np.invert(x); np.bitwise_and(x, x); np.bitwise_or(x, x)
p: np.divide(x, x - 1, out=np.zeros(4), where=x != 1)
v m n k c: np.max(x); x.max(); np.min(x, axis=0); x.min(axis=-1, keepdims=True); np.argmax(x); x.argmax(axis=0); np.argmin(x, axis=-1)
i l b: np.max(x); np.min(x, axis=0); np.amax(x, axis=-1, keepdims=True); np.argmax(x, axis=0); np.argmin(x); np.amin(x)
v m i: np.max(x, initial=2); np.min(x, initial=-9); np.ptp(x); np.ptp(x, axis=0)
v m c n i l b e: np.sum(x); x.sum(axis=0); np.sum(x, axis=-1, keepdims=True); np.prod(x, axis=0); np.mean(x); np.mean(x, axis=-1)
c m: np.sum(x, axis=(0, 1)); np.max(x, axis=(0, 1), keepdims=True); np.mean(x, axis=(0, -1)); np.any(x > 1, axis=(0, 1))
v m n i b: np.std(x); np.std(x, axis=0); np.var(x); x.var(axis=-1, ddof=1); np.std(x, ddof=1, keepdims=True)
v m i l: np.var(x, dtype=np.float32); np.std(x, dtype=np.float64)
v n i b e: np.all(x); np.any(x); x.any(axis=0); np.all(x, axis=-1, keepdims=True); np.count_nonzero(x); np.count_nonzero(x, axis=0)
v m i b c: np.cumsum(x); np.cumsum(x, axis=0); np.cumprod(x); x.cumsum(axis=-1)
v m: np.cumsum(x, axis=None); np.cumprod(x, None)
v m n k: np.maximum.accumulate(x); np.minimum.accumulate(x, axis=-1); np.nancumsum(x)
n k i: np.nansum(x, axis=0, initial=2); np.nansum(x, where=x > 0); np.nanprod(x, axis=-1, initial=2, where=x < 1); np.nancumprod(x); np.nancumprod(x, axis=0)
n k: np.nanmean(x, axis=0, where=x < 2); np.sinc(x.astype(np.float16))
n m i z: np.isposinf(x); np.isneginf(x); np.isreal(x); np.iscomplex(x)
v m i: np.resize(x, (3, 5)); np.resize(x, 4); np.trim_zeros(np.ravel(x)[:4] * [0, 1, 0, 0]); np.trim_zeros(np.ravel(x)[:2] * 0); np.trim_zeros(np.ravel(x)[:4] * [0, 1, 1, 0], "f"); np.isin(x, [1, 2], kind=None)
m i: np.tril_indices_from(x)[0]; np.triu_indices_from(x, 1)[1]; x[np.tril_indices_from(x)]
v m n k i: np.nansum(x); np.nansum(x, axis=0, keepdims=True); np.nanprod(x); np.nanmean(x); np.nanmean(x, axis=0)
n k i: np.nanmean(x, dtype=np.float32); np.nansum(x, axis=0, dtype=np.float32); np.nanvar(x, dtype=np.float64); np.nanstd(x, dtype=np.float32); np.nanprod(x, dtype=np.float64)
v m k i: np.nanvar(x); np.nanstd(x, axis=0, ddof=1); np.nanmax(x); np.nanmin(x, axis=0); np.nanargmax(x); np.nanargmin(x)
n k: np.nanstd(x, axis=-1); np.nanvar(x, axis=0); np.nanmax(x, axis=0); np.nanmin(x, axis=-1, keepdims=True)
v m n k i c: np.median(x); np.median(x, axis=0); np.median(x, axis=-1, keepdims=True); np.nanmedian(x); np.nanmedian(x, axis=0)
v m n i: np.percentile(x, 30); np.percentile(x, [25, 75], axis=0); np.quantile(x, 0.4, axis=-1); np.quantile(x, [0.1, 0.9])
v m: np.quantile(x, 0.3, method="lower"); np.percentile(x, 50, method="nearest", keepdims=True); np.quantile(x, 0.3, method="midpoint")
v m n k: np.nanpercentile(x, 30); np.nanquantile(x, 0.7, axis=0); np.nanpercentile(x, [25, 75], axis=-1)
d k l b: np.quantile(x, 1); np.quantile(x, [0, 1]); np.quantile(x, 0.9); np.nanquantile(x, 1); np.quantile(x, np.array([0.3]), method="higher")
e E: np.nanpercentile(x, 30); np.nanquantile(x, [0.1, 0.2]); np.nanquantile(x, 0.5, axis=-1); np.nanmedian(x)
v p: np.average(x, weights=np.arange(len(x)) + 1)
m i c: np.average(x, axis=0, weights=np.arange(x.shape[0]) + 1.0); np.average(x); np.average(x, axis=-1)
m n v k: np.average(x, weights=np.ones(x.shape)); np.average(x, axis=0, returned=True)[1]
v m n k i l: np.sort(x); x.argsort(kind="stable"); np.sort(x, axis=0); np.argsort(x, axis=0, kind="stable"); np.sort(x, axis=None)
v l: np.partition(x, 2)[2]; np.argpartition(-x, 0)[0]; np.lexsort((x, np.abs(x))); np.lexsort([np.round(x), -x])
v m n i l b k E: np.unique(x); np.unique(x, return_index=True)[1]; np.unique(x, return_inverse=True)[1]; np.unique(x, return_counts=True)[1]
i m b: np.unique(x, axis=0); np.unique(x > 0, axis=1)
v m n i: np.isin(x, [0, 2]); np.isin(x, [1, 3], invert=True); np.clip(x, 0, 2); np.clip(x, None, 1); np.clip(x, 1, None)
v m n: np.clip(x, np.nan, 2); np.clip(x, 0, np.nan); np.clip(x, 2, 0); np.clip(x, x - 1, x + 1); x.clip(min=0.5); x.clip(0, 1.5)
l i: np.clip(x, 2, 0); np.clip(x, 0.5, 2); x.clip(-1, 1)
v l: np.intersect1d(x, x[:3] + 1); np.setdiff1d(x, x[1:3]); np.union1d(x, x + 1); np.setxor1d(x, x + 1); np.setdiff1d(x, x[1:2], assume_unique=True)
r,v r,n R,m: np.searchsorted(x, y); np.searchsorted(x, y, side="right"); np.digitize(y, x); np.digitize(y, x, right=True); np.digitize(y, x[::-1])
v n m: np.digitize(x, [-1, 0, 2]); np.searchsorted([0.0, 1.0], x)
R,v R,n R,m R,i: np.interp(y, x, x * 2 + 1); np.interp(y, x, x, left=-9, right=9.5); np.interp(y, x, np.array([1, 2, 3, 5])); np.interp(y, x, x, period=4)
e E: np.unpackbits(x.astype(np.uint8))
w i: np.unpackbits(x.astype(np.uint8)); np.unpackbits(x.astype(np.uint8), count=11, bitorder="little"); np.unpackbits(x.astype(np.uint8), count=-3)
w: np.unpackbits(x.astype(np.uint8), count=99)
i b: np.unpackbits(x.astype(np.uint8), axis=1); np.unpackbits(x.astype(np.uint8), 0, 9); np.packbits(x > 0, axis=0); np.packbits(x > 0, -1)
w i b: np.packbits(x); np.packbits(x, bitorder="little"); np.packbits(x, axis=0)
w: np.bincount(x); np.bincount(x, minlength=7); np.bincount(x, weights=x * 0.5)
v m i l f: np.histogram(x)[0]; np.histogram(x, 4)[1]; np.histogram(x, bins=[-1, 0, 2])[0]; np.histogram(x, 3, range=(-2, 2), density=True)[0]
v f: np.histogram(x, 5, range=(-1, 2), weights=x)[0]; np.histogram(x, np.linspace(-2, 2, 5))[1]
v,v f,f: np.histogram2d(x, y * 2, bins=3)[0]; np.histogram2d(x, y, bins=[3, 4], range=[[-1, 1], [-2, 2]])[0]; np.histogram2d(x, y, 4)[1]
a: np.histogramdd(x, bins=3)[0]; np.histogramdd(x, bins=(2, 3, 2), density=True)[0]
m a v: np.cov(x); np.cov(x, rowvar=False); np.cov(x, bias=True)
m: np.cov(x[:1], rowvar=False); np.cov(x[:1], x[1:2], rowvar=False); np.cov(x[:, :1])
e E: np.cov(x); np.cov(x, rowvar=False, ddof=0)
v,v f,f: np.cov(x, y + 1); np.corrcoef(x, y ** 2)
m a: np.corrcoef(x); np.corrcoef(x, rowvar=False)
v m n k: np.isclose(x, x + 1e-9); np.allclose(x, x); np.isclose(x, x, equal_nan=True); np.allclose(x, 1); np.array_equal(x, x, equal_nan=True)
v m i: np.array_equal(x, x); np.array_equal(x, x[:1]); np.isclose(x, 2); np.allclose(x, x, rtol=0.1, atol=0)
v n k m: np.nan_to_num(x); np.nan_to_num(x, nan=-1.0, posinf=9.0); np.nan_to_num(x, neginf=0); np.nan_to_num(x, nan=np.inf, posinf=9)
v m n i: np.round(x); np.round(x * 1.37, 1); x.round(2); np.around(x)
v m n i b e: np.nonzero(x)[0]; np.flatnonzero(x); np.argwhere(x); np.where(x)[0]
v m n i: np.where(x > 0, x, 0); np.where(x > 0, 1.5, x); np.select([x > 1, x > 0], [x, x * 2], 7)
v: np.nonzero(x > 0); np.compress(x > 0, x); np.extract(x > 0, x); np.take(x, [0, -1]); np.take(x, 2); x.take([1, 1])
m i c: np.take(x, [1, 0], axis=1); np.take(x, [0, 1, 0], axis=0); np.compress([True, False], x, axis=0); np.take(x, [5, 7], mode="wrap"); np.take(x, [-9, 99], axis=-1, mode="clip")
m i n c: np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), axis=-1); np.take_along_axis(x, np.argmax(x, axis=0)[None], axis=0)
j: np.choose(x, [x * 10, x * 20, x * 30]); np.ravel_multi_index((x, x), (3, 4)); np.unravel_index(x, (2, 3))[1]
v m i c n z: np.reshape(x, -1); x.reshape(-1, 1); np.ravel(x); x.flatten(); np.transpose(x); x.T; np.squeeze(x[None]); x.squeeze()
m c i: np.reshape(x, (x.shape[-1], -1)); np.swapaxes(x, 0, -1); np.moveaxis(x, 0, -1); np.moveaxis(x, (0, 1), (-1, 0)); np.rollaxis(x, 1); x.swapaxes(0, 1)
m c i: np.transpose(x, (1, 0, *range(2, x.ndim))); np.expand_dims(x, 0); np.expand_dims(x, (0, -1)); np.matrix_transpose(x); np.linalg.matrix_transpose(x)
v m c i: np.flip(x); np.flip(x, 0); np.flip(x, axis=-1); np.flipud(x); np.tile(x, 2); np.tile(x, (2, 1, 3)); np.repeat(x, 2); np.repeat(x, 3, axis=0)
m c i: np.flip(x, (0, 1)); np.fliplr(x); np.rot90(x); np.rot90(x, 2); np.rot90(x, -1); np.rot90(x, 3, axes=(1, 0))
u,j: np.repeat(x, y); np.repeat(x, [2, 0, 1]); np.roll(x, y[1])
v m c i: np.roll(x, 2); np.roll(x, -1, axis=0); np.roll(x, (1, 2), axis=(0, -1)); np.roll(x, 1, axis=-1)
v: np.atleast_1d(x); np.atleast_2d(x); np.atleast_3d(x); np.broadcast_to(x, (2, 7)); np.vander(x, 3); np.vander(x, increasing=True)
o m c: np.atleast_1d(x); np.atleast_2d(x); np.atleast_3d(x); np.copy(x); np.ndim(x) * x; np.array(x); np.asarray(x)
m i: np.concatenate([x, x * 2]); np.concatenate([x, x], axis=1); np.concatenate([x, x], axis=None); np.stack([x, x + 1]); np.stack([x, x], axis=-1)
v m i c: np.vstack([x, x]); np.row_stack([x, x]); np.hstack([x, x]); np.dstack([x, x]); np.column_stack([x, x]); np.append(x, x); np.append(x, 1); np.append(x, x, axis=0)
m i v: np.concatenate([x, x], dtype=np.float32); np.concatenate([x, x * 0.5], axis=None, dtype=float)
m i: np.block([[x, x], [x * 2, x]]); np.block([x, x]); np.concatenate([x, np.ones((1, 4))])
v i l: np.insert(x, 1, 9); np.insert(x, [0, 2], [5, 6]); np.insert(x, 0, x[:2]); np.delete(x, 1); np.delete(x, [0, -1])
m i: np.insert(x, 1, 9, axis=0); np.insert(x, 1, x[:, 0], axis=1); np.insert(x, 1, x[:, :1], axis=1); np.insert(x, [1], x[:, :2], axis=1); np.delete(x, 0, axis=1); np.delete(x, [0, 2], axis=0); np.insert(x, -1, 0, axis=-1)
v: np.split(x, [2, 4])[1]; np.array_split(x, 3)[0]; np.hsplit(x, [3])[1]; sum(np.split(x[:6], 3))
m c i: np.split(x, 2, axis=-1)[1]; np.array_split(x, 3, axis=-1)[2]; np.vsplit(x, [1])[0]; np.hsplit(x, [1])[1]
c: np.dsplit(x, 2)[1]; np.unstack(x, axis=1)[2]; np.diagonal(x); np.diagonal(x, 1, -1, 0); np.trace(x); np.trace(x, 1, 1, 2)
v: np.lib.stride_tricks.sliding_window_view(x, 3); np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=-1)
m c: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1); np.lib.stride_tricks.sliding_window_view(x, (2, 2), (0, 1))
u,v: np.broadcast_arrays(x[:, None], y)[0]; np.meshgrid(x, y)[0]; np.meshgrid(x, y, indexing="ij")[1]; np.meshgrid(x, y, sparse=True)[0]
h,j: np.ix_(y, y)[0]; np.ix_(y > 0, [0, 1])[0]; np.diag_indices_from(x[:3, :3])[0] + y
m v i: np.zeros_like(x) + x; np.ones_like(x) * x; np.full_like(x, 2) * x; np.full_like(x, 1.5, dtype=float) + x; np.empty_like(x).shape[-1] * x; np.zeros(x.shape) + x
v m: np.full(3, x.max()); np.zeros(3) + x.sum(); np.ones((2, 1)) * x.min(); np.arange(4) * x.max(); np.full((2, 2), x.sum(), dtype=np.float32)
m c: np.apply_along_axis(lambda row: row.sum() * 2, 1, x); np.apply_along_axis(lambda row: row[::-1] + row.max(), 0, x); np.apply_along_axis(np.median, -1, x); np.apply_along_axis(len, 0, x)
u,p: np.add.outer(x, y); np.subtract.outer(x, y); np.multiply.outer(x, y); np.divide.outer(x, y); np.floor_divide.outer(x, y); np.remainder.outer(x, y); np.fmod.outer(x, y); np.power.outer(x * x, y); np.float_power.outer(x * x, y); np.maximum.outer(x, y); np.minimum.outer(x, y); np.arctan2.outer(x, y); np.equal.outer(x, y); np.not_equal.outer(x, y); np.less.outer(x, y); np.less_equal.outer(x, y); np.greater.outer(x, y); np.greater_equal.outer(x, y); np.logical_and.outer(x, y); np.logical_or.outer(x, y); np.logical_xor.outer(x, y); np.hypot.outer(x, y); np.fmax.outer(x, y); np.fmin.outer(x, y); np.logaddexp.outer(x, y); np.logaddexp2.outer(x, y); np.copysign.outer(x, y); np.heaviside.outer(x, y); np.nextafter.outer(x, y)
j,w: np.bitwise_xor.outer(x, y); np.left_shift.outer(x, y); np.right_shift.outer(x, y); np.add.outer(x, y); np.divmod.outer(x, y + 1)[0]
v m i: np.add.reduce(x); np.multiply.reduce(x); np.maximum.reduce(x, axis=-1); np.minimum.reduce([x, x * 2, 1 - x]); np.logical_and.reduce([x > 0, x < 3]); np.logical_or.reduce([x > 2, x < -1]); np.maximum.reduce([x, -x])
m z i: np.size(x) * x; x * np.iscomplexobj(x); x * np.isrealobj(x); x.size * x
o: np.linspace(x, x + 2, 5); np.linspace(0, x, 4, endpoint=False); np.logspace(0, x, 4); np.geomspace(1, x, 5); np.linspace(x, 3, num=1)
k: np.geomspace(x, 3.0, 4); np.geomspace(2.0, x, 4); np.geomspace(-x, -3.0, 3); np.logspace(x, 2.0, 3); np.linspace(x, 2.5, 3); np.linspace(1.5, x, 3)
v m i b: np.pad(x, 1); np.pad(x, (1, 2), constant_values=1); np.pad(x, 2, mode="edge"); np.pad(x, 1, mode="wrap")
m c i: np.pad(x, ((1, 1), *((0, 0),) * (x.ndim - 1)), mode="reflect"); np.pad(x, 1, mode="symmetric"); np.pad(x, 1, "reflect"); np.pad(x, (0, 1))
v: np.pad(x, (2, 1), constant_values=(5, 6))
v m i c: np.diff(x); np.diff(x, 2); np.diff(x, axis=0); np.diff(x, prepend=x[..., :1]); np.diff(x, append=0); np.ediff1d(x)
v: np.ediff1d(x, to_begin=0, to_end=[1, 2]); np.gradient(x); np.gradient(x, 0.5); np.gradient(x, np.array([0.0, 1, 3, 4, 6, 7, 8]))
h m: np.gradient(x, axis=0); np.gradient(x)[1]; np.gradient(x, 2.0, 0.5)[0]
v m h: np.trapezoid(x); np.trapezoid(x, dx=0.5); np.trapezoid(x, np.arange(x.shape[-1]) ** 2.0); np.unwrap(x * 3); np.unwrap(x * 3, axis=0)
v,u l,j d,k k,d k,u u,d: np.convolve(x, y); np.convolve(x, y, mode="same"); np.convolve(y, x, "valid"); np.correlate(x, y); np.correlate(x, y, mode="full"); np.correlate(y, x, "same")
v m f i z: np.fft.fft(x); np.fft.ifft(x); np.fft.fft(x, n=5); np.fft.fft(x, axis=0, norm="ortho"); np.fft.fftn(x); np.fft.ifftn(x)
v m f i: np.fft.rfft(x); np.fft.rfft(x, n=4, norm="forward"); np.fft.rfft(x, axis=0); np.fft.irfft(np.fft.rfft(x)); np.fft.irfft(np.fft.rfft(x), n=x.shape[-1])
m c i: np.fft.fft2(x); np.fft.ifft2(x); np.fft.rfft2(x); np.fft.irfft2(np.fft.rfft2(x)); np.fft.rfftn(x); np.fft.irfftn(np.fft.rfftn(x))
v m c: np.fft.fftshift(x); np.fft.ifftshift(x); np.fft.fftshift(x, axes=0)
z: np.real(x); np.imag(x); np.angle(x); x.real + x.imag; np.abs(x); np.conj(x); np.angle(x, deg=True)
v i: np.real(x); np.imag(x); np.angle(x)
s v,v m,m i,i l,l: x @ (x if x.ndim == 1 else x.T); np.dot(x, x if x.ndim == 1 else x.T); np.vdot(x, x); np.inner(x, x); np.outer(x, x); np.matmul(x, x.T)
c: np.dot(x, np.arange(4.0)); np.dot(x, x[0].T); np.tensordot(x, x, ([0, 1], [0, 1])); np.einsum("ijk,ijl->kl", x, x); np.einsum("ijk->jk", x)
s: np.tensordot(x, x, 1); np.tensordot(x, x); np.tensordot(x, x, axes=([0], [-1])); np.einsum("ij, jk -> ik", x, x, optimize=True); np.linalg.multi_dot([x, x.T, x])
u,v s,s l,j: np.kron(x, y); np.outer(x, y)
a: np.cross(x, x[::-1]); np.cross(x, np.array([1.0, 2, 3])); np.cross(x[:, :2], x[::-1, 1:] * 2); np.cross(x.T, x.T[:, ::-1], axis=0)
s m i: np.trace(x); np.linalg.trace(x); np.diagonal(x, 1); np.diag(x); np.diag(x, -1); np.tril(x); np.triu(x, 1); np.tril(x, -1); np.triu(x)
s m: np.diag(x, 9); np.diag(x, -3); np.diagonal(x, 4); np.trace(x, 7); np.trace(x, -7)
c: np.diagonal(x, 5); np.trace(x, -2); np.linalg.trace(x); np.linalg.trace(x, offset=1)
u: np.diag(x); np.diag(x, 1); np.diagflat(x, -1); np.diagflat(x)
s i[:3,:3]: np.linalg.inv(x + 5 * np.eye(3)); np.linalg.det(x); np.linalg.slogdet(x)[1]; np.linalg.matrix_rank(x); np.linalg.pinv(x); np.linalg.matrix_power(x, 3)
s: np.linalg.matrix_power(x, -2); np.linalg.solve(x, x[0]); np.linalg.solve(x, x.T); np.linalg.svd(x)[1]; np.linalg.svd(x, compute_uv=False); np.linalg.svdvals(x)
n s: np.linalg.matrix_power(x[:, :3], 0); np.linalg.matrix_power(x[:, :3], 1); np.linalg.matrix_power(x[:, :3], 2); np.linalg.matrix_power(x[:, :3], 3); np.linalg.matrix_power(x[:, :3], 6)
s a: np.abs(np.linalg.qr(x)[1]); np.abs(np.linalg.qr(x, mode="r")); np.abs(np.linalg.svd(x, full_matrices=False)[2]); np.linalg.pinv(x); np.linalg.pinv(x, 0.5)
y: np.linalg.cholesky(x); np.linalg.eigvalsh(x); np.linalg.eigh(x)[0]; np.abs(np.linalg.eigh(x)[1]); np.linalg.cholesky(x, upper=True); np.linalg.eigh(x, UPLO="U")[0]
a: np.linalg.lstsq(x, x[:, 0] + 1, rcond=None)[0]; np.linalg.lstsq(x, x ** 2, rcond=None)[1]; np.linalg.lstsq(x, x[:, 0] ** 2)[3]; np.linalg.lstsq(x, x[:, 0])[2]
a: np.linalg.lstsq(x, x[:, 0] ** 2, rcond=1)[0]; np.linalg.lstsq(x, x[:, 0] ** 2, rcond=1)[1]; np.linalg.lstsq(x, x[:, 0], rcond=-1)[2]; np.linalg.lstsq(x, x ** 2, rcond=0.5)[2]
v m i c: np.linalg.norm(x); np.linalg.norm(x, axis=-1); np.linalg.norm(x, 1, axis=0); np.linalg.norm(x, np.inf, axis=-1, keepdims=True); np.linalg.norm(x, 3, axis=0); np.linalg.norm(x, 0, axis=-1)
m a: np.linalg.norm(x, "fro"); np.linalg.norm(x, "nuc"); np.linalg.norm(x, 2); np.linalg.norm(x, -2, keepdims=True); np.linalg.norm(x, 1); np.linalg.norm(x, -np.inf)
v m i: np.polyval([1, 2, 3], x); np.polyval(np.array([0.5, -1]), x)
u p: np.sort(np.abs(np.roots(x))); np.polyval(x, 2.0)
v,v: np.polyfit(np.arange(7), y, 2); np.polyfit(np.arange(7.0), x, 1)
v: len(x) * x; max(x[0].sum(), 1.0); min(x[0].sum(), 0.0); abs(x); round(x[0].sum()); float(x[0].sum()); int(x[0].sum()); bool(x[0].sum())
v i: np.float32(x); np.float64(x); np.int64(x); np.int32(x); np.bool_(x); np.asanyarray(x); np.ascontiguousarray(x)
w: np.float16(x); np.int8(x); np.int16(x); np.uint8(x); np.uint16(x); np.uint32(x); np.uint64(x); np.complex64(x); np.complex128(x)
v m: np.reshape(x, shape=(-1,)); np.shape(x)[0] * x; np.empty(x.shape).shape[-1] * x; np.full(2, fill_value=x.max()); np.select(condlist=[x > 0], choicelist=[x])
o: math.exp(x); math.expm1(x); math.log(x); math.log1p(x); math.sqrt(x); math.sin(x); math.cos(x); math.tan(x); math.sinh(x); math.cosh(x); math.tanh(x)
v m n: special.expit(x); special.log_expit(x); special.erf(x); special.erfc(x); special.ndtr(x); special.entr(x); special.i0e(x)
p q: special.logit(x); special.gammaln(x); special.digamma(x); special.psi(x); special.xlogy(x, 2 * x); special.xlog1py(x, x); special.i0(x); special.i1(x); special.i1e(x)
p q: special.rel_entr(x, x ** 2); special.kl_div(x, 1 - x); special.gammainc(x, 1.5); special.gammaincc(x, 0.5); special.betainc(x, 2.0, 0.3)
q: special.erfinv(x)
v m n: special.logsumexp(x); special.logsumexp(x, axis=0); special.softmax(x); special.softmax(x, axis=-1); special.log_softmax(x, axis=-1); special.log_softmax(x)
v m: special.logsumexp(x, axis=-1, keepdims=True); special.logsumexp(x, b=np.arange(x.shape[-1]) + 1.0)
v m h: stats.zscore(x); stats.zscore(x, axis=-1, ddof=1)
p q a: stats.entropy(np.abs(x)); stats.entropy(np.abs(x), np.abs(x) + 1); stats.entropy(np.abs(x), base=2); stats.entropy(np.abs(x), axis=-1)
a m: distance.cdist(x, 2 * x[:2]); distance.cdist(x, x - 1, "sqeuclidean"); distance.cdist(x, x, "cityblock"); distance.cdist(x, x + 1, "chebyshev"); distance.cdist(x, x + 1, metric="cosine"); distance.pdist(x); distance.pdist(x, "cityblock")
h f n: ndimage.gaussian_filter(x, 1.5); ndimage.gaussian_filter(x, 1.0, mode="constant", cval=-1.0); ndimage.gaussian_filter1d(x, 2.0, axis=0); ndimage.uniform_filter(x, 3)
h f: ndimage.correlate1d(x, [1, 2, -3], mode="wrap"); ndimage.convolve1d(x, [1, 2, 3, 4.0], axis=0, mode="mirror"); ndimage.uniform_filter1d(x, 4, mode="nearest"); ndimage.gaussian_filter(x, 1, truncate=2.0)
h: ndimage.correlate(x, np.array([[1.0, 2], [3, 4]])); ndimage.convolve(x, np.arange(9.0).reshape(3, 3), mode="constant", cval=1.0); ndimage.convolve(x, np.ones((3, 3)) / 9)
h: ndimage.map_coordinates(x, np.indices((3, 3)) * 1.3 - 0.4, order=1); ndimage.map_coordinates(x, np.indices((3, 3)) * 0.7, order=0, mode="nearest"); ndimage.map_coordinates(x, [x + 2, x * 2], order=1, mode="reflect")
h: ndimage.shift(x, 0.7, order=1); ndimage.shift(x, (1, -2), order=0); ndimage.zoom(x, 1.6, order=1); ndimage.zoom(x, (2, 0.5), order=1, mode="nearest"); ndimage.rotate(x, 30, reshape=False, order=1)
f v: signal.resample(x, 5); signal.resample(x, 12); signal.resample(x, 14); signal.lfilter([1, 2], [1, -0.5, 0.25], x); signal.lfilter([0.5], [1.0], x); signal.hilbert(x)
k n: stats.rankdata(x); stats.rankdata(x, axis=-1)
v p f l E w: stats.rankdata(x); stats.rankdata(x, "ordinal"); stats.rankdata(x, method="min"); stats.rankdata(x, "max"); stats.rankdata(x, "dense")
m n i b e h: stats.rankdata(x); stats.rankdata(x, axis=1); stats.rankdata(x, axis=0)
m i h: stats.rankdata(x, "dense", axis=0); stats.rankdata(x, "max", axis=-1)
p,q p,p p,r p,R v,v v,l k,k q,q d,d f,f: stats.spearmanr(x, y)[0]; stats.spearmanr(x, y).pvalue; stats.spearmanr(x, 0 - y).statistic; stats.spearmanr(x, y * 0)[0]; stats.spearmanr(x[:, None], y[:, None])[0]; stats.spearmanr(x[:, None], y)[1]
p,q v,v v,l k,k f,f q,q w,w: stats.pearsonr(x, y)[0]; stats.pearsonr(x, y).statistic; stats.pearsonr(x, y + x * x)[1]; stats.pearsonr(x, y * 0)[0]; stats.pearsonr(x[:2], y[1:3])[0]; stats.pearsonr(x[:2], y[1:3])[1]
f v l k z: signal.resample_poly(x, 3, 2); signal.resample_poly(x, 1, 4); signal.resample_poly(x, 2, 4, axis=-1); signal.resample_poly(x, 5, 5); signal.resample_poly(x, 2, 3, window=np.array([0.2, 0.5, 0.3, 0.1]))
h m: signal.resample_poly(x, 7, 3, axis=1); signal.decimate(x, 2, ftype="fir"); signal.decimate(x, 3, n=12, ftype="fir", axis=0)
f v l k: signal.decimate(x, 2, ftype="fir")
r R p: interpolate.interp1d(x, x * x)(x - 0); interpolate.interp1d(np.arange(4), [1.0, 4, 2, 0], bounds_error=False)(x)
r R p f k v: interpolate.interp1d(np.array([0.0, 0.5, 1, 4]), np.array([1.0, 4, 2, 0]), fill_value="extrapolate")(x); interpolate.interp1d([2, 0, 1], [1, 4, 2], "nearest", bounds_error=False, fill_value=-1)(x)
r R p f k v i: interpolate.interp1d([0.0, 1, 2], [1.0, 4, 2], kind="previous", bounds_error=False, fill_value=(7.0, 8.0))(x); interpolate.interp1d([0.0, 1, 2], [1.0, 4, 2], kind="next", fill_value="extrapolate")(x); interpolate.interp1d([0.0, 1, 2], [1.0, 4, 2], kind="previous", fill_value="extrapolate")(x); interpolate.interp1d([0, 1, 2], [1.0, 4, 2], "nearest-up", fill_value="extrapolate")(x)
h m: interpolate.interp1d(np.arange(x.shape[0]), x, axis=0)([0.5, 1.25]); interpolate.interp1d(np.arange(x.shape[1]), x)(np.array([[0.5, 2.0], [1.0, 3]])); interpolate.interp1d(np.arange(x.shape[1]), x, kind="next")(1.5)
h f: ndimage.affine_transform(x, np.eye(x.ndim) * 0.8, order=1); ndimage.affine_transform(x, np.full(x.ndim, 1.25), 0.5, order=0)
h: ndimage.affine_transform(x, [[0.9, 0.1], [-0.2, 1.1]], (0.3, -0.4), order=1, mode="nearest"); ndimage.affine_transform(x, [[0.9, 0.1, 1.0], [-0.2, 1.1, 0.5]], order=1, output_shape=(4, 9)); ndimage.affine_transform(x, x[:2, :2], x[0, :2], order=1, cval=2.0)
F G H I K: signal.filtfilt([0, 0, 1.0], [1.0, 0.5], x); signal.filtfilt([0.2, 0.2], [1.0, -0.6], x); signal.filtfilt([1.0, 0.5, 0.25], [1.0], x, padtype=None); signal.filtfilt([0.5, 0.25], 1.0, x); signal.filtfilt([0.1, 0.2], [2.0, -0.7], x, padtype="constant", padlen=5)
F G H I J K: signal.sosfilt(signal.ellip(5, 1, 40, 0.3, output="sos"), x); signal.sosfiltfilt(signal.butter(4, 0.2, output="sos"), x); signal.sosfiltfilt(signal.butter(3, [0.1, 0.4], "band", output="sos"), x, padtype="even", padlen=20)
F G H I J K: signal.lfilter([0] * 9 + [1.0], [1.0], x); signal.lfilter([0.5, 0.25, 0.125], [1.0], x); signal.lfilter([0.5, 0.25], 1.0, x); signal.lfilter([1, 2], [1, -0.5, 0.25], x); signal.lfilter([0.5, 0.5], [1.0, -1.0], x); signal.lfilter(x[..., 0, None] + [0.5, 0.25, 0.1], [1.0, 0.3], x[..., 1:]) if x.ndim == 1 else x
F H I: signal.lfilter([1.0, 0.0], [1.0, -1.5], x[..., :40])
F G H I K: signal.decimate(x, 2); signal.decimate(x, 3, 4); signal.decimate(x, 2, n=2, zero_phase=False); signal.decimate(x.T, 2, axis=0)
h: signal.resample(x, 4, axis=1); signal.lfilter([1.0, 0.3, 0.1], [2.0, 0.1], x, axis=0); signal.hilbert(x, axis=0); signal.resample(x, 8)
"""
"""One kind of call in each line: the letters of arrays for `x`, or for `x` and `y`, and expressions."""


def rows() -> list[tuple[str, tuple[Any, ...], str]]:
    """Return each expression with the arrays of one try, and what names that."""
    found = []
    for line in ROWS.strip().splitlines():
        letters, _, expressions = line.partition(": ")
        for given in letters.split():
            if "[" in given:
                arrays: tuple[Any, ...] = (ARRAYS[given[0]][:3, :3].astype(np.int64),)
            else:
                arrays = tuple(ARRAYS[one] for one in given.split(","))
            found += [(expression.strip(), arrays, given) for expression in expressions.split("; ")]
    return found
