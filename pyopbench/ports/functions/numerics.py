"""Sums: means, spreads, counts, matrix products, Fourier transforms, correlations, differences and filters."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import np_axes, np_is_nan, np_known_size, np_known_sizes, np_moved, np_number
from pyopbench.ports.functions.order import np_searchsorted
from pyopbench.ports.functions.table import helper


@helper("np.var", a="float")
def np_var(a, axis=None, *, ddof=0, keepdims=False):
    """Return variances: sums of squared differences to the mean, divided by the number of elements less `ddof`."""
    axes = np_axes(axis, a.shape.rank)
    found = tf.math.reduce_variance(a, axes, keepdims)
    count = tf.cast(tf.reduce_prod(tf.gather(tf.shape(a, tf.int64), tf.constant(axes, tf.int64))), found.dtype)
    return found * count / tf.maximum(count - np_number(ddof, found.dtype), 0)


@helper("np.std", a="float")
def np_std(a, axis=None, *, ddof=0, keepdims=False):
    """Return standard deviations: roots of variances."""
    return tf.sqrt(np_var(a, axis, ddof=ddof, keepdims=keepdims))


@helper("np.cov", m="float64")
def np_cov(m, *, rowvar=True):
    """Return the covariances of variables, which are rows, float64."""
    rows = m if m.shape.rank == 2 else tf.reshape(m, [1, -1])
    rows = rows if rowvar or m.shape.rank < 2 else tf.transpose(m)
    away = rows - tf.reduce_mean(rows, 1, keepdims=True)
    found = tf.matmul(away, away, transpose_b=True) / tf.cast(tf.maximum(tf.shape(rows)[1] - 1, 0), tf.float64)
    return found[0, 0] if rows.shape[0] == 1 else found


@helper("np.nanmean", a="float")
def np_nanmean(a, axis=None, *, keepdims=False):
    """Return means of what is not NaN."""
    axes = np_axes(axis, a.shape.rank)
    count = tf.reduce_sum(tf.cast(~np_is_nan(a), a.dtype), axes, keepdims)
    return tf.reduce_sum(tf.where(np_is_nan(a), tf.zeros((), a.dtype), a), axes, keepdims) / count


@helper("np.bincount", x="int64", weights="float64", minlength="int64")
def np_bincount(x, weights=None, minlength=0):
    """Return how often each whole number from 0 on is there, or the sums of weights."""
    highest = tf.reduce_max(tf.concat([x, tf.constant([-1], tf.int64)], 0))
    count = tf.maximum(highest + 1, tf.cast(minlength, tf.int64))
    amounts = tf.ones_like(x) if weights is None else weights
    with tf.control_dependencies([tf.debugging.assert_non_negative(x, "bincount needs non-negative numbers")]):
        return tf.math.unsorted_segment_sum(amounts, x, count)


def np_bin_edges(x, bins, limits):
    """Return the edges of bins of one width over a range, by default that of the elements."""
    kind = x.dtype if x.dtype.is_floating else tf.float64
    if limits is None:
        low, high = tf.cast(tf.reduce_min(x), kind), tf.cast(tf.reduce_max(x), kind)
        if 0 in x.shape:
            low, high = tf.zeros((), kind), tf.ones((), kind)
    else:
        low, high = np_number(limits[0], tf.float64), np_number(limits[1], tf.float64)
    low, high = tf.where(tf.equal(low, high), low - 0.5, low), tf.where(tf.equal(low, high), high + 0.5, high)
    steps = tf.cast(tf.range(bins + 1), tf.float64)
    wide_low, wide_high = tf.cast(low, tf.float64), tf.cast(high, tf.float64)
    # Of a constant, graphs would multiply by the reciprocal, which is rounded otherwise.
    count = tf.raw_ops.PlaceholderWithDefault(input=np_number(bins, tf.float64), shape=[])
    width = (wide_high - wide_low) / count
    edges = steps * width + wide_low
    return tf.cast(tf.concat([edges[:-1], [wide_high]], 0), kind)


@helper("np.histogram", a="own", weights="own")
def np_histogram(a, bins=10, range=None, *, weights=None):
    """Return counts per bin and the bin edges: `bins` itself if it is an array, else `bins` bins of equal width."""
    if not np.ndim(bins) and not isinstance(bins, (int, np.integer)):
        raise NotImplementedError(f"is not supported for bins={bins!r}")
    x = tf.reshape(tf.cast(a, tf.uint8) if a.dtype == tf.bool else a, [-1])
    edges = tf.constant(np.asarray(bins)) if np.ndim(bins) else np_bin_edges(x, bins, range)
    common = tf.float32 if x.dtype == tf.float32 and edges.dtype == tf.float32 else tf.float64
    x, bounds, count = tf.cast(x, common), tf.cast(edges, common), tf.size(edges, tf.int64) - 1
    place = np_searchsorted(bounds, x, "right") - 1
    place = tf.where(tf.equal(x, bounds[-1]), count - 1, place)  # the last bin has both its edges
    inside = (x >= bounds[0]) & (x <= bounds[-1])
    place = tf.where(inside, place, tf.zeros((), tf.int64))
    amounts = tf.cast(inside, tf.int64)
    if weights is not None:
        flat = tf.reshape(weights, [-1])
        amounts = tf.where(inside, flat, tf.zeros((), flat.dtype))
    return tf.math.unsorted_segment_sum(amounts, place, count), edges


@helper("np.einsum", operands="common")
def np_einsum(subscripts, *operands, optimize=False):
    """Return sums of products, by Einstein's notation as text."""
    kind = operands[0].dtype
    if (kind.is_integer and kind not in (tf.int32, tf.int64)) or kind == tf.bool:
        raise NotImplementedError(f"is not supported for {kind.name}")
    return tf.einsum(subscripts.replace(" ", ""), *operands)


@helper("np.diag", v="own")
def np_diag(v, k=0):
    """Return the diagonal of a matrix, or the matrix of a diagonal."""
    return (tf.linalg.diag_part if v.shape.rank == 2 else tf.linalg.diag)(v, k=k)


@helper("np.triu", m="own")
def np_triu(m, k=0):
    """Return matrices with 0 below a diagonal."""
    rows, columns = tf.range(tf.shape(m)[-2])[:, None], tf.range(tf.shape(m)[-1])
    return tf.where(columns - rows >= k, m, tf.zeros((), m.dtype))


def np_solve(a, b):
    """Return the solutions of linear equations."""
    a, b = tf.convert_to_tensor(a), tf.convert_to_tensor(b)
    if b.shape.rank == 1:
        return np_solve(a, b[:, None])[..., 0]
    if b.shape.rank == a.shape.rank - 1:
        raise NotImplementedError("differs between versions of NumPy for stacks of vectors: give b[..., None]")
    return tf.linalg.solve(a, b)


@helper("np.linalg.svd", a="float")
def np_svd(a, full_matrices=True, compute_uv=True):
    """Return singular values, descending, and vectors of matrices; signs of vectors may be others."""
    if not compute_uv:
        return tf.linalg.svd(a, compute_uv=False)
    values, left, right = tf.linalg.svd(a, full_matrices=full_matrices)
    return left, values, tf.linalg.adjoint(right)


@helper("np.fft.rfft", a="own")
def np_rfft(a, n=None, axis=-1):
    """Return the Fourier transform of real numbers along an axis, which is cut or filled with zeros to a length `n`.

    From NumPy 2 on it has the precision of its input, before always double.
    """
    is_small = a.dtype in (tf.float32, tf.float16) and int(np.__version__.split(".")[0]) >= 2
    moved = np_moved(tf.cast(a, tf.float32 if is_small else tf.float64), axis, -1)
    return np_moved(tf.signal.rfft(moved[..., :n], None if n is None else [n]), -1, axis)


@helper("np.correlate", a="common", v="common")
def np_correlate(a, v, mode="valid"):
    """Return the sums of products of v with each part of a of its length; v is not longer than a."""
    length, size = np_known_size(a, 0), np_known_size(v, 0)
    if mode not in ("full", "same", "valid") or not 0 < size <= length or a.dtype == tf.bool:
        raise NotImplementedError(f"is not supported for mode={mode!r} and {length} and {size} {a.dtype.name}")
    left = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    right = {"full": size - 1, "same": size - 1 - size // 2, "valid": 0}[mode]
    places = np.arange(length + left + right - size + 1)[:, None] + np.arange(size)
    products = tf.gather(tf.pad(a, [[left, right]]), places) * (tf.math.conj(v) if v.dtype.is_complex else v)
    # 0 beyond an end times NaN or an infinity is NaN.
    inside = (places >= left) & (places < left + length)
    return tf.reduce_sum(tf.where(inside, products, tf.zeros((), products.dtype)), -1)


@helper("np.diff", a="own")
def np_diff(a, n=1, axis=-1):
    """Return the differences of neighbours along an axis."""
    moved = np_moved(a, axis, -1)
    for _ in range(n):
        later, earlier = moved[..., 1:], moved[..., :-1]
        moved = tf.not_equal(later, earlier) if a.dtype == tf.bool else later - earlier
    return np_moved(moved, -1, axis)


@helper("scipy.ndimage.gaussian_filter", input="own")
def scipy_gaussian_filter(input, sigma, *, mode="reflect", cval=0.0):
    """Return a Gaussian filter along all axes, computed in float64 as SciPy does."""
    # SciPy's names of what is beyond the edges, and NumPy's; with a constant, there is one element more.
    modes = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
    sizes = np_known_sizes(input)
    # Integers are rounded in SciPy's own way.
    if not input.dtype.is_floating or mode not in modes or np.ndim(sigma) or not sigma > 1e-15 or 0 in sizes:
        raise NotImplementedError(f"is not supported for mode={mode!r}, sigma={sigma!r} and {sizes} {input.dtype.name}")
    reach = int(4 * float(sigma) + 0.5)
    weights = np.exp(-0.5 / float(sigma) ** 2 * np.arange(-reach, reach + 1) ** 2)
    found = input
    for axis, size in enumerate(sizes):
        beyond = {"constant_values": size} if mode == "constant" else {}
        places = np.pad(np.arange(size), reach, modes[mode], **beyond)
        moved = np_moved(tf.cast(found, tf.float64), axis, -1)
        moved = tf.concat([moved, tf.fill(tf.shape(moved[..., :1]), tf.constant(cval, tf.float64))], -1)
        windows = tf.gather(moved, places[np.arange(size)[:, None] + np.arange(len(weights))], axis=-1)
        found = np_moved(tf.cast(tf.reduce_sum(windows * (weights / weights.sum()), -1), input.dtype), -1, axis)
    return found


@helper("scipy.ndimage.map_coordinates", input="own", coordinates="float64")
def scipy_map_coordinates(input, coordinates, *, order=3, mode="constant", cval=0.0):
    """Return elements between those of an array, of order 1."""
    sizes = np_known_sizes(input)
    # Integers are rounded in SciPy's own way.
    if not input.dtype.is_floating or order != 1 or mode not in ("nearest", "constant", "reflect") or min(sizes) < 2:
        raise NotImplementedError(f"is not supported for order={order}, mode={mode!r} and {sizes} {input.dtype.name}")
    places = tf.unstack(coordinates)
    found = tf.zeros((), tf.float64)
    for corner in np.ndindex(*[2] * len(sizes)):
        weight, index = tf.ones((), tf.float64), []
        for at, upper, size in zip(places, corner, sizes, strict=True):
            begin = tf.floor(at)
            weight = weight * (at - begin if upper else 1 - (at - begin))
            place = tf.cast(begin, tf.int64) + upper
            if mode == "reflect":
                place = tf.math.floormod(place, 2 * size)
                place = tf.minimum(place, 2 * size - 1 - place)
            index.append(tf.clip_by_value(place, 0, size - 1))
        found = found + tf.cast(tf.gather_nd(input, tf.stack(index, -1)), tf.float64) * weight
    outside = tf.constant(cval, tf.float64)
    for at, size in zip(places, sizes, strict=True):
        if mode == "constant":
            found = tf.where((at >= 0) & (at <= size - 1), found, outside)  # cval for NaN
        elif mode == "reflect":
            # NaN is folded to no place in the image, and nothing that 64 bits cannot count (`ni_interpolation.c`).
            found = tf.where(tf.abs(at) < 2.0**63, found, outside)
    return tf.cast(found, input.dtype)
