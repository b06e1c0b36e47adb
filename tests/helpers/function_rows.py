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
    "A": _RNG.random((3, 3)) + 1j * _RNG.random((3, 3)),
    "B": np.array([True, False, True, True]),
    "C": np.arange(5, dtype=np.uint8),
    "D": np.arange(5, dtype=np.int8),
}
"""Arrays by letter: numbers with ties and both signs, NaN and infinities (`n`, `k`, `d`), truth values, empty ones, and what
decompositions take."""

ROWS = """
o v m c n k i l: np.absolute(x)
v m n i: np.fabs(x); np.exp(x); np.expm1(x); np.sqrt(np.abs(x)); np.square(x); np.sin(x); np.cos(x); np.tan(x)
v m n: np.arctan(x); np.sinh(x); np.cosh(x); np.tanh(x); np.arcsinh(x); np.sign(x); np.floor(x); np.ceil(x); np.rint(x)
v m n i: np.negative(x); np.isnan(x); np.isinf(x); np.isfinite(x); np.logical_not(x); np.conjugate(x)
p q: np.log(x); np.log1p(x); np.log2(x); np.log10(x); np.arccosh(x + 1); np.reciprocal(x)
q: np.arcsin(x); np.arccos(x); np.arctanh(x); np.degrees(x); np.radians(x); np.deg2rad(x); np.rad2deg(x)
v n: np.positive(x)
v m n i l: np.add(x, x); np.subtract(x, 2); np.multiply(x, x); np.divide(x, 2); np.maximum(x, 1); np.minimum(x, 0.5)
v m n i: np.floor_divide(x, 2); np.remainder(x, -2)
v i n: np.floor_divide(x, x); np.remainder(x, x); np.mod(x, 3)
v m n: x // 0.1; x % 0.7; x // 2; x % -2; x // x; x % x; 1.0 // (x + 0.1)
i l: x // 2; x % 3; x // 0.5
v m i: np.vstack([x, x], dtype=np.float64); np.hstack([x, x], dtype=np.float64)
v m n: np.arctan2(x, 2.0)
v m: np.power(x, 2); np.power(np.abs(x), 0.5); x ** 2; np.where(x > 0, x, -x)
v m n i b: np.equal(x, 1); np.not_equal(x, 1); np.logical_and(x, x); np.logical_or(x, x > 0); np.logical_xor(x, x)
v m n i: np.less(x, 1); np.less_equal(x, 1); np.greater(x, 1); np.greater_equal(x, 1)
i l: np.left_shift(x, 2); np.right_shift(x, 1); np.bitwise_xor(x, 3); np.invert(x); np.bitwise_and(x, 3); np.bitwise_or(x, 4)
b: np.bitwise_xor(x, ~x); np.invert(x); np.bitwise_and(x, x); np.bitwise_or(x, x)
p: np.divide(x, x - 1, out=np.zeros(4), where=x != 1); np.divide(x - 2, x - 1, out=np.zeros(4), where=x != 1)
v m n k c: np.max(x); x.max(); np.min(x, axis=0); x.min(axis=-1, keepdims=True); np.argmax(x); x.argmax(axis=0); np.argmin(x, axis=-1)
i l b: np.max(x); np.min(x, axis=0); np.amax(x, axis=-1, keepdims=True); np.argmax(x, axis=0); np.argmin(x); np.amin(x)
v m i: np.max(x, initial=2); np.min(x, initial=-9)
v m c n i l b e: np.sum(x); x.sum(axis=0); np.sum(x, axis=-1, keepdims=True); np.prod(x, axis=0); np.mean(x); np.mean(x, axis=-1)
c m: np.sum(x, axis=(0, 1)); np.max(x, axis=(0, 1), keepdims=True); np.mean(x, axis=(0, -1)); np.any(x > 1, axis=(0, 1))
v m n i b: np.std(x); np.std(x, axis=0); np.var(x); x.var(axis=-1, ddof=1); np.std(x, ddof=1, keepdims=True)
v n i b e: np.all(x); np.any(x); x.any(axis=0); np.all(x, axis=-1, keepdims=True); np.count_nonzero(x); np.count_nonzero(x, axis=0)
v m i b c: np.cumsum(x); np.cumsum(x, axis=0); np.cumprod(x); x.cumsum(axis=-1)
v m: np.cumsum(x, axis=None); np.cumprod(x, None)
v m n k i: np.nanmean(x); np.nanmean(x, axis=0)
v m n k i c: np.median(x); np.median(x, axis=0); np.median(x, axis=-1, keepdims=True); np.nanmedian(x); np.nanmedian(x, axis=0)
v m n i: np.percentile(x, 30); np.percentile(x, [25, 75], axis=0)
d k l: np.percentile(x, 100); np.percentile(x, [0, 100]); np.percentile(x, 90)
v m n k: np.nanpercentile(x, 30); np.nanpercentile(x, [25, 75], axis=-1)
v m n k i l: np.sort(x); x.argsort(kind="stable"); np.sort(x, axis=0); np.argsort(x, axis=0, kind="stable"); np.sort(x, axis=None)
v m n i l b k E: np.unique(x); np.unique(x, return_index=True)[1]; np.unique(x, return_inverse=True)[1]; np.unique(x, return_counts=True)[1]
i m b: np.unique(x, axis=0)
v m n i: np.clip(x, 0, 2); np.clip(x, None, 1); np.clip(x, 1, None)
v m n: np.clip(x, np.nan, 2); np.clip(x, 0, np.nan); np.clip(x, 2, 0); np.clip(x, x - 1, x + 1); x.clip(min=0.5); x.clip(0, 1.5)
l i: np.clip(x, 2, 0); np.clip(x, 0.5, 2); x.clip(-1, 1)
r,v r,n R,m: np.searchsorted(x, y); np.searchsorted(x, y, side="right"); np.digitize(y, x); np.digitize(y, x, right=True)
v n m: np.digitize(x, [-1, 0, 2]); np.searchsorted([0.0, 1.0], x)
w: np.bincount(x); np.bincount(x, minlength=7); np.bincount(x, weights=x * 0.5)
v m i l f: np.histogram(x)[0]; np.histogram(x, 4)[1]; np.histogram(x, bins=[-1, 0, 2])[0]
v f: np.histogram(x, 5, range=(-1, 2), weights=x)[0]; np.histogram(x, np.linspace(-2, 2, 5))[1]
m a v: np.cov(x); np.cov(x, rowvar=False)
m: np.cov(x[:1], rowvar=False); np.cov(x[:, :1])
e E: np.cov(x)
v n k m: np.nan_to_num(x); np.nan_to_num(x, nan=-1.0); np.nan_to_num(x, nan=np.inf)
v m n i: np.round(x); np.round(x * 1.37, 1); x.round(2); np.around(x)
v m n i b e: np.nonzero(x)[0]; np.flatnonzero(x); np.argwhere(x); np.where(x)[0]
v m n i: np.where(x > 0, x, 0); np.where(x > 0, 1.5, x); np.select([x > 1, x > 0], [x, x * 2], 7)
v: np.nonzero(x > 0); np.take(x, [0, -1]); np.take(x, 2); x.take([1, 1])
m i c: np.take(x, [1, 0], axis=1); np.take(x, [0, 1, 0], axis=0)
m i n c: np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), axis=-1); np.take_along_axis(x, np.argmax(x, axis=0)[None], axis=0)
j: np.unravel_index(x, (2, 3))[1]
v m i c n z: np.reshape(x, -1); x.reshape(-1, 1); np.ravel(x); x.flatten(); np.transpose(x); x.T; np.squeeze(x[None]); x.squeeze()
m c i: np.reshape(x, (x.shape[-1], -1)); np.swapaxes(x, 0, -1); np.moveaxis(x, 0, -1); np.moveaxis(x, (0, 1), (-1, 0)); x.swapaxes(0, 1)
m c i: np.transpose(x, (1, 0, *range(2, x.ndim))); np.expand_dims(x, 0)
v m c i: np.flip(x); np.flip(x, 0); np.flip(x, axis=-1); np.flipud(x); np.tile(x, 2); np.tile(x, (2, 1, 3)); np.repeat(x, 2); np.repeat(x, 3, axis=0)
m c i: np.flip(x, (0, 1)); np.fliplr(x)
u,j: np.repeat(x, y); np.repeat(x, [2, 0, 1]); np.roll(x, y[1])
v m c i: np.roll(x, 2); np.roll(x, -1, axis=0); np.roll(x, (1, 2), axis=(0, -1)); np.roll(x, 1, axis=-1)
v: np.broadcast_to(x, (2, 7))
o m c: np.copy(x); np.ndim(x) * x; np.array(x); np.asarray(x)
m i: np.concatenate([x, x * 2]); np.concatenate([x, x], axis=1); np.concatenate([x, x], axis=None); np.stack([x, x + 1]); np.stack([x, x], axis=-1)
m i c: np.dstack([x, x])
v m i c: np.vstack([x, x]); np.hstack([x, x]); np.column_stack([x, x]); np.append(x, x); np.append(x, 1); np.append(x, x, axis=0)
m i v: np.concatenate([x, x], dtype=np.float32); np.concatenate([x, x * 0.5], axis=None, dtype=float)
m i: np.concatenate([x, np.ones((1, 4))])
v i l m: np.insert(x, 1, 9); np.insert(x, -1, x[:2])
v m i c: np.diff(x); np.diff(x, 2); np.diff(x, axis=0); np.diff(x > 1)
v: np.split(x, [2, 4])[1]; sum(np.split(x[:6], 3))
m c i: np.split(x, 2, axis=-1)[1]
u,v l,v: np.meshgrid(x, y)[0]; np.meshgrid(x, y, indexing="ij")[1]
m v i: np.zeros_like(x) + x; np.ones_like(x) * x; np.full_like(x, 2) * x; np.full_like(x, 1.5, dtype=float) + x; np.empty_like(x).shape[-1] * x; np.zeros(x.shape) + x
v m: np.full(3, x.max()); np.zeros(3) + x.sum(); np.ones((2, 1)) * x.min(); np.arange(4) * x.max(); np.full((2, 2), x.sum(), dtype=np.float32)
m z i: np.size(x) * x; x.size * x
o: np.linspace(x, x + 2, 5); np.linspace(0, x, 4); np.linspace(x, 3, num=2); np.linspace(x, 3, 4, dtype=np.float64)
k: np.linspace(x, 2.5, 3); np.linspace(1.5, x, 3)
v m i b: np.pad(x, 1); np.pad(x, (1, 2), constant_values=1); np.pad(x, 2, mode="edge")
m c i: np.pad(x, ((1, 1), *((0, 0),) * (x.ndim - 1)), mode="reflect"); np.pad(x, 1, mode="symmetric"); np.pad(x, 1, "reflect"); np.pad(x, (0, 1))
v,u l,j k,d k,u: np.correlate(x, y); np.correlate(x, y, mode="full"); np.correlate(x, y, "same")
v m f i: np.fft.rfft(x); np.fft.rfft(x, axis=0); np.fft.rfft(x, n=5); np.fft.rfft(x, 12)
z: np.real(x); np.imag(x); x.real + x.imag; np.abs(x); np.conj(x)
v i: np.real(x); np.imag(x)
s v,v m,m i,i l,l: x @ (x if x.ndim == 1 else x.T); np.dot(x, x if x.ndim == 1 else x.T); np.outer(x, x); np.matmul(x, x.T)
c: np.dot(x, np.arange(4.0)); np.dot(x, x[0].T); np.einsum("ijk,ijl->kl", x, x); np.einsum("ijk->jk", x)
s: np.einsum("ij, jk -> ik", x, x, optimize=True)
u,v s,s l,j: np.outer(x, y)
s m i: np.diag(x); np.diag(x, -1); np.triu(x, 1); np.triu(x)
u: np.diag(x); np.diag(x, 1)
s i[:3,:3]: np.linalg.inv(x + 5 * np.eye(3)); np.linalg.det(x)
s: np.linalg.solve(x, x[0]); np.linalg.solve(x, x.T); np.linalg.svd(x)[1]; np.linalg.svd(x, compute_uv=False)
s a: np.abs(np.linalg.svd(x, full_matrices=False)[2])
y: np.linalg.cholesky(x)
v m i c: np.linalg.norm(x); np.linalg.norm(x, axis=-1)
v: len(x) * x; max(x[0].sum(), 1.0); min(x[0].sum(), 0.0); abs(x); round(x[0].sum()); float(x[0].sum()); int(x[0].sum()); bool(x[0].sum())
v i: np.float32(x); np.float64(x); np.int64(x); np.int32(x); np.bool_(x); np.asanyarray(x); np.ascontiguousarray(x)
w: np.float16(x); np.int8(x); np.int16(x); np.uint8(x); np.uint16(x); np.uint32(x); np.uint64(x); np.complex64(x); np.complex128(x)
v m: np.reshape(x, shape=(-1,)); np.shape(x)[0] * x; np.empty(x.shape).shape[-1] * x; np.full(2, fill_value=x.max()); np.select(condlist=[x > 0], choicelist=[x])
o: math.exp(x); math.expm1(x); math.log(x); math.log1p(x); math.sqrt(x); math.sin(x); math.cos(x); math.tan(x); math.sinh(x); math.cosh(x); math.tanh(x)
v m n: special.expit(x)
h f n: ndimage.gaussian_filter(x, 1.5); ndimage.gaussian_filter(x, 1.0, mode="constant", cval=-1.0)
h: ndimage.map_coordinates(x, np.indices((3, 3)) * 1.3 - 0.4, order=1); ndimage.map_coordinates(x, [x + 2, x * 2], order=1, mode="reflect")
A: np.var(x); x.std(axis=1); np.var(x, ddof=1)
B: np.maximum(x, x[::-1]); np.minimum(x, x[::-1]); x < x[::-1]; np.less(x, x[::-1]); np.less_equal(x, False)
B: np.greater(x, x[::-1]); np.greater_equal(True, x)
B: np.bitwise_and(x, x[::-1]); np.bitwise_or(x, np.arange(4)); np.bitwise_and(np.arange(4), x)
C: x.clip(1, 2**8 - 1); np.bitwise_and(x, 3)
D: np.bitwise_or(x, np.arange(5) * 300)
v m: np.deg2rad(x - x / 2); np.log2(1 + x * x) ** 2; round(x[0].mean() - x[-1].mean(), 2); np.ndim(x - 1) * x; np.bitwise_or(x > 0, x < x + 1)
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
