"""The common parts of functions on tensors: axes, sizes, parts that are replaced, and elements as NumPy has them."""

import functools

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.table import helper


def np_axes(axis, rank):
    """Return axes as a list, counted from the front; None is all of them."""
    if axis is None:
        return list(range(rank))
    axes = [int(one) for one in (axis if isinstance(axis, (list, tuple)) else [axis])]
    for one in axes:
        if not -rank <= one < rank:
            raise ValueError(f"axis {one} is out of bounds for an array of {rank} axes")
    return [one % rank for one in axes]


def np_sizes(tensor):
    """Return the sizes of the axes: numbers where they are known, else tensors."""
    known, shape = tensor.shape.as_list(), tf.shape(tensor)
    return [shape[axis] if size is None else size for axis, size in enumerate(known)]


def np_known_sizes(tensor, axes=slice(None)):
    """Return the sizes of the axes, or of a slice of them, as numbers."""
    known = tensor.shape.as_list()[axes]
    if None in known:  # in Python, None is a missing bound of a slice, and false
        raise NotImplementedError("needs shapes that are known before the graph runs")
    return known


def np_known_size(tensor, axis):
    """Return the size of an axis as a number."""
    (size,) = np_known_sizes(tensor, slice(axis, axis + 1 or None))
    return size


def np_is_nan(tensor, of_floats=tf.math.is_nan):
    """Return which elements are NaN, or what another function finds in floats; integers never are."""
    if tensor.dtype.is_complex:
        return of_floats(tf.math.real(tensor)) | of_floats(tf.math.imag(tensor))
    return of_floats(tensor) if tensor.dtype.is_floating else tf.zeros_like(tensor, tf.bool)


def np_is_inf(tensor):
    """Return which elements are infinite; integers never are."""
    return np_is_nan(tensor, tf.math.is_inf)


def np_is_finite(tensor):
    """Return which elements are neither NaN nor infinite."""
    return ~(np_is_nan(tensor) | np_is_inf(tensor))


def np_not(truth):
    """Return what is false. Of `not x >= 0`, TensorFlow's optimizer of graphs makes `x < 0`, which NaN is not."""
    return tf.where(truth, False, True)


def np_chain(first, *rest):
    """Return `first < second < third`; `rest` is a comparison and the next value, in turn."""
    values = [first, *rest[1::2]]
    found = [rest[2 * place](values[place], values[place + 1]) for place in range(len(values) - 1)]
    return functools.reduce(tf.logical_and, found)


def np_divide_where(x, y, out, where):
    """Return `x / y` where a mask is true, and `out` elsewhere, where no gradient flows back to `x` and `y`."""
    return tf.where(where, tf.cast(x / tf.where(where, y, tf.ones_like(y)), out.dtype), out)


@helper("np.moveaxis", tensor="own")
def np_moved(tensor, source, destination):
    """Return a tensor with an axis, or several, at other places."""
    rank = tensor.shape.rank
    sources, places = np_axes(source, rank), np_axes(destination, rank)
    order = [axis for axis in range(rank) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return tensor if order == list(range(rank)) else tf.transpose(tensor, order)


def np_gathered(tensor, axis):
    """Return a tensor with the elements of some axes along a new last one, and these axes."""
    axes = np_axes(axis, tensor.shape.rank)
    if axes == [tensor.shape.rank - 1]:
        return tensor, axes
    rest = [place for place in range(tensor.shape.rank) if place not in axes]
    moved = tf.transpose(tensor, [*rest, *axes])
    sizes = np_sizes(tensor)
    last = tf.reduce_prod([sizes[place] for place in axes]) if axes else 1
    return tf.reshape(moved, [*(sizes[place] for place in rest), last]), axes


def np_with_axes(tensor, axes, keepdims):
    """Return what was reduced along axes with these axes, if they are to be kept."""
    if keepdims:
        for axis in sorted(axes):
            tensor = tf.expand_dims(tensor, axis)
    return tensor


def np_number(value, dtype):
    """Return a number, or a tensor, as a tensor of a dtype; `tf.cast` would round a number to float32 first."""
    if tf.is_tensor(value):
        return tf.cast(value, dtype)
    return tf.constant(np.asarray(value, tf.as_dtype(dtype).as_numpy_dtype))


def np_range(start, stop, step=1):
    """Return the numbers of Python's `range`, (n,) int64; n may be 0, where `tf.range(5, 3)` would raise."""
    start, stop = tf.cast(start, tf.int64), tf.cast(stop, tf.int64)
    return tf.range(start, tf.where(step > 0, tf.maximum(start, stop), tf.minimum(start, stop)), step, tf.int64)


def np_outputs(returned):
    """Return outputs with NumPy's dtypes for numbers of Python's, which have 32 bits in TensorFlow."""
    if isinstance(returned, (list, tuple)):
        return type(returned)(
            one if any(map(tf.is_tensor, tf.nest.flatten(one))) else tf.constant(np.asarray(one)) for one in returned
        )
    return tf.constant(np.asarray(returned))


def np_checked(tensor, holds, message):
    """Return a tensor; where something does not hold, this is an error, and no other numbers than NumPy's."""
    refusal = tf.debugging.Assert(holds, [message])
    with tf.control_dependencies([] if refusal is None else [refusal]):
        return tf.identity(tensor)


def np_replaced(tensor, places, values):
    """Return a tensor with other values at some of the positions that `np_element_places` numbers."""
    tensor = tf.convert_to_tensor(tensor)
    values = tf.broadcast_to(tf.cast(values, tensor.dtype), tf.shape(places))
    flat = tf.tensor_scatter_nd_update(tf.reshape(tensor, [-1]), tf.reshape(places, [-1, 1]), tf.reshape(values, [-1]))
    return tf.ensure_shape(tf.reshape(flat, tf.shape(tensor)), tensor.shape)


def np_last_replaced(tensor, places, values):
    """Return the result of `np_replaced`, except that of several values for one position the last one stays."""
    tensor = tf.convert_to_tensor(tensor)
    values = tf.reshape(tf.broadcast_to(tf.cast(values, tensor.dtype), tf.shape(places)), [-1])
    last = tf.math.unsorted_segment_max(tf.range(tf.size(places)), tf.reshape(places, [-1]), tf.size(tensor))
    last = tf.reshape(last, tf.shape(tensor))
    padded = tf.concat([tf.zeros([1], tensor.dtype), values], 0)
    return tf.where(last < 0, tensor, tf.gather(padded, tf.maximum(last + 1, 0)))


def np_once_replaced(tensor, places, values):
    """Return the result of `np_replaced`; equal positions are an error, as NumPy's order depends on memory layout."""
    flat = tf.reshape(places, [-1])
    counts = tf.math.unsorted_segment_sum(tf.ones_like(flat), flat, tf.size(tensor))
    places = np_checked(places, tf.reduce_all(counts < 2), "an element is written to twice")
    return np_last_replaced(tensor, places, values)


def np_key_of_axes(tensor, key):
    """Return a key of numbers, slices and `...` as a list with a number or a slice for each axis."""
    entries = list(key) if isinstance(key, tuple) else [key]
    place = next((place for place, one in enumerate(entries) if one is Ellipsis), len(entries))
    entries[place : place + 1] = [slice(None)] * (tensor.shape.rank - sum(one is not Ellipsis for one in entries))
    return entries


def np_part_replaced(tensor, key, values):
    """Return a tensor with other values at `tensor[key]`, for a key of numbers, slices and `...`."""
    tensor = tf.convert_to_tensor(tensor)
    part = tensor[key]
    if part.shape.num_elements() == 0:  # XLA does not compile an empty part
        return tensor
    values = tf.cast(values, tensor.dtype)
    if not tensor.shape.rank:
        return tf.reshape(values, [])
    if values.shape != part.shape or not part.shape.is_fully_defined():
        values = tf.broadcast_to(values, tf.shape(part))
    rows, masks = [], dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), 0)
    for place, one in enumerate(np_key_of_axes(tensor, key)):
        if isinstance(one, slice):
            bounds = (one.start, one.stop, one.step)
            names = [name for name, bound in zip(("begin_mask", "end_mask"), bounds, strict=False) if bound is None]
            row = tuple(usual if bound is None else bound for bound, usual in zip(bounds, (0, 0, 1), strict=True))
        else:
            row, names = (one, one + 1, 1), ["shrink_axis_mask"]
        for name in names:
            masks[name] += 1 << place
        rows.append(row)
    begin, end, strides = [
        tf.stack([tf.cast(one, tf.int64) for one in several])
        if any(tf.is_tensor(one) for one in several)
        else np.array(several, np.int64)
        for several in zip(*rows, strict=True)
    ]
    return tf.raw_ops.TensorStridedSliceUpdate(
        input=tensor, begin=begin, end=end, strides=strides, value=values, **masks
    )


def np_part_replaced_for_xla(tensor, key, values):
    """Return the result of `np_part_replaced`, with ops that XLA compiles even if the key contains tensors."""
    tensor = tf.convert_to_tensor(tensor)
    entries = np_key_of_axes(tensor, key)
    axes = [place for place, one in enumerate(entries) if isinstance(one, slice)]
    # For a slice with tensors as bounds, the whole axis is written, with the old values outside of the slice.
    bounds = {place: (entries[place].start, entries[place].stop) for place in axes}
    between = [place for place in axes if any(tf.is_tensor(one) for one in bounds[place])]
    whole = [slice(None) if place in between else one for place, one in enumerate(entries)]
    if between:
        kept = tensor[tuple(slice(None) if place in axes else one for place, one in enumerate(entries))]
        kept = kept[tuple(whole[place] for place in axes)]
        values, is_part = tf.cast(values, tensor.dtype), tf.constant(True)
        for _ in range(len(axes) - values.shape.rank):
            values = values[None]
        for axis, place in enumerate(axes):
            if place in between:
                size = tensor.shape[place]
                start, stop = [
                    np_from_front(tf.cast(usual if one is None else one, tf.int64), size)
                    for one, usual in zip(bounds[place], (0, size), strict=True)
                ]
                start = tf.maximum(start, 0)
                at = tf.range(size, dtype=tf.int64)
                along = [-1 if other == axis else 1 for other in range(len(axes))]
                is_part &= tf.reshape((at >= start) & (at < stop), along)
                # A single value is broadcast; whether it is one may be unknown until the graph runs.
                last = tf.shape(values, tf.int64)[axis] - 1
                values = tf.gather(values, tf.clip_by_value(at - start, 0, last), axis=axis)
        values = tf.where(is_part, values, kept)
    if not any(tf.is_tensor(one) for one in whole):
        return np_part_replaced(tensor, tuple(whole), values)
    while isinstance(whole[-1], slice) and whole[-1] == slice(None):  # whole rows are written at once
        whole.pop()
    places = [
        np.arange(size)[one] if isinstance(one, slice) else tf.reshape(np_from_front(tf.cast(one, tf.int64), size), [1])
        for one, size in zip(whole, tensor.shape.as_list(), strict=False)
    ]
    row = tensor.shape.as_list()[len(whole) :]
    shape = [at.shape[0] for one, at in zip(whole, places, strict=True) if isinstance(one, slice)] + row
    values = tf.reshape(tf.broadcast_to(tf.cast(values, tensor.dtype), shape), [*(at.shape[0] for at in places), *row])
    return tf.tensor_scatter_nd_update(tensor, tf.stack(tf.meshgrid(*places, indexing="ij"), axis=-1), values)


def np_compiled(function):
    """Return a function compiled by XLA, with a gradient that XLA compiles too, and that runs the function again.

    Otherwise TensorFlow cannot compute the gradient of a loop or a condition in it: values that it needs stay inside
    XLA.
    A gradient of the gradient is compiled in the same way, and runs both again.
    """
    compiled = tf.function(function, jit_compile=True)

    def differentiable(values):
        return [one for one in values if tf.is_tensor(one) and (one.dtype.is_floating or one.dtype.is_complex)]

    def gradient_of(inputs, named, upstream):
        watched = differentiable(tf.nest.flatten((inputs, named)))
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = tf.nest.flatten(function(*inputs, **named))
        kept = [place for place, one in enumerate(outputs) if differentiable([one])]
        outputs, upstream = [outputs[place] for place in kept], [upstream[place] for place in kept]
        return tape.gradient(outputs, watched, upstream, unconnected_gradients="zero")

    gradient = functools.cache(lambda: np_compiled(gradient_of))

    def call(*inputs, **named):
        given = tf.nest.flatten((inputs, named))
        given = [tf.convert_to_tensor(one) if isinstance(one, np.ndarray | tf.Variable) else one for one in given]
        watched = differentiable(given)

        def arguments(tensors):
            rest = iter(tensors)
            every = [next(rest) if differentiable([one]) else one for one in given]
            return tf.nest.pack_sequence_as((inputs, named), every)

        def with_gradient(*tensors):
            # A tape must record only `with_gradient`, not the ops in it.
            stopped, stopped_named = arguments([tf.stop_gradient(one) for one in tensors])
            outputs = compiled(*stopped, **stopped_named)
            return outputs, lambda *upstream: gradient()(*arguments(tensors), upstream)

        if not watched:
            return compiled(*inputs, **named)
        differentiated = tf.custom_gradient(with_gradient)
        # In a branch of `tf.cond`, TensorFlow finds the inputs of a custom gradient only if it is in a function.
        return differentiated(*watched) if tf.executing_eagerly() else tf.function(differentiated)(*watched)

    return functools.wraps(function)(tf.autograph.experimental.do_not_convert(call))


def np_element_places(tensor):
    """Return the number of each element of a tensor, in its shape."""
    return tf.reshape(tf.range(tf.size(tensor)), tf.shape(tensor))


def np_looked_up(table, key, dtype):
    """Return the value in a dictionary of numbers for a key; a missing key is an error."""
    values = list(table.values())
    if len({type(one) for one in values}) > 1 or any(tf.is_tensor(one) for one in values):
        raise NotImplementedError("needs a dictionary whose values are of one type")
    is_key = tf.equal(tf.constant(list(table), key.dtype), key)
    found = tf.gather(tf.constant(values, dtype), tf.argmax(tf.cast(is_key, tf.int32)))
    with tf.control_dependencies([tf.debugging.Assert(tf.reduce_any(is_key), ["KeyError", key])]):
        return tf.identity(found)


def np_from_front(places, size):
    """Return indices counted from the front; negative ones count from the end."""
    return tf.where(places < 0, places + tf.cast(size, places.dtype), places)


def python_extreme(is_better, x, y):
    """Return the result of Python's `max` or `min`: the first number unless the second is better, also next to NaN."""
    return tf.where(is_better(y, x), y, x)


def np_at_points(tensor, places):
    """Return the elements at a tuple of indices, one for each of the first axes."""
    return tf.gather_nd(tensor, np_points_in(tensor, places))


def np_points_in(tensor, places):
    """Return a tuple of indices as the points that `tf.gather_nd` takes, counted from the front."""
    sizes = tf.shape(tensor, tf.int64)
    return np_points(*[np_from_front(tf.cast(one, tf.int64), sizes[axis]) for axis, one in enumerate(places)])


def np_of_items(items, dtype):
    """Return a list as an array, which has one axis and this dtype if the list is empty."""
    if tf.is_tensor(items):  # AutoGraph's `range`
        return tf.cast(items, dtype)
    return tf.stack(items) if len(items) else tf.zeros([0], dtype)


def np_points(*places):
    """Return indices along each axis, broadcast against each other, as the points that `tf.gather_nd` takes."""
    first, *others = [tf.TensorShape(one.shape) for one in places]
    if first.is_fully_defined() and all(one == first for one in others):
        return tf.stack(places, axis=-1)
    shape = tf.shape(places[0])
    for other in places[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(other))
    return tf.stack([tf.broadcast_to(one, shape) for one in places], axis=-1)


# Single elements where TensorFlow's functions differ: NaN, infinities and signs of zero.


def np_floor_divide(x, y):
    """Return floor(x / y) as NumPy does: of floats from the remainder, so that rounding does not lift it."""
    if not x.dtype.is_floating:
        return np_of_divisor(tf.math.floordiv, x, y)
    zero, one = tf.zeros((), x.dtype), tf.ones((), x.dtype)
    divisor = tf.where(tf.equal(y, zero), one, y)
    remainder = tf.raw_ops.TruncateMod(x=x, y=divisor)  # with the sign of x
    below = tf.not_equal(remainder, zero) & ((divisor < zero) != (remainder < zero))
    exact = (x - remainder) / divisor
    exact = tf.where(below, exact - one, exact)
    lower = tf.floor(exact)
    found = tf.where(exact - lower > tf.constant(0.5, x.dtype), lower + one, lower)
    signed_zero = tf.where(tf.equal(x, zero), tf.stop_gradient(x / divisor), zero)
    found = tf.where(tf.equal(exact, zero), signed_zero, found)
    return tf.where(tf.equal(y, zero), x / y, found)


def np_remainder(x, y):
    """Return the remainder of floor(x / y), with the sign of y also where it is 0."""
    if not x.dtype.is_floating:
        return np_of_divisor(tf.math.floormod, x, y)
    zero = tf.zeros((), x.dtype)
    found = tf.math.floormod(x, y)
    beyond = tf.math.is_inf(y) & tf.math.is_finite(x)
    found = tf.where(beyond, tf.where(tf.not_equal(x, zero) & ((x < zero) != (y < zero)), y, x), found)
    return tf.where(tf.equal(found, zero), tf.where(y < zero, tf.constant(-0.0, x.dtype), zero), found)


def np_left_shift(x, y):
    """Return integers with their bits moved up by y; 0 if y is at least their number of bits."""
    beyond = (y < tf.zeros((), y.dtype)) | (y >= tf.constant(8 * x.dtype.size, y.dtype))
    found = tf.bitwise.left_shift(x, tf.where(beyond, tf.zeros((), y.dtype), y))
    return tf.where(beyond, tf.zeros((), x.dtype), found)


def np_right_shift(x, y):
    """Return integers with their bits moved down by y; 0 or -1 if y is at least their number of bits."""
    beyond = (y < tf.zeros((), y.dtype)) | (y >= tf.constant(8 * x.dtype.size, y.dtype))
    found = tf.bitwise.right_shift(x, tf.where(beyond, tf.zeros((), y.dtype), y))
    zero = tf.zeros((), x.dtype)
    emptied = zero if x.dtype.is_unsigned else tf.where(x < zero, zero - tf.ones((), x.dtype), zero)
    return tf.where(beyond, emptied, found)


def np_of_divisor(function, x, y):
    """Return an operation of integers, 0 where the divisor is 0."""
    none = tf.equal(y, tf.zeros((), y.dtype))
    found = function(x, tf.where(none, tf.ones((), y.dtype), y))
    return tf.where(none, tf.zeros((), x.dtype), found)


def np_log_of_base(x, base):
    """Return logarithms to a base, whole where they are within 2 eps of that, so that the floor of powers is right."""
    found = tf.math.log(x) / np.log(base)
    if found.dtype.is_complex:
        return found
    whole = tf.round(found)
    is_near = tf.abs(found - whole) <= 2 * np.finfo(found.dtype.as_numpy_dtype).eps * tf.abs(whole)
    return found + tf.stop_gradient(tf.where(is_near, whole - found, tf.zeros((), found.dtype)))


@helper("np.round np.around", a="own")
def np_round(a, decimals=0):
    """Return elements rounded to decimals, halves to even."""
    if not a.dtype.is_floating:
        if decimals < 0 or not a.dtype.is_integer:
            raise NotImplementedError("is supported only for floats, and for integers without decimals")
        return a
    if decimals == 0:
        return tf.round(a)
    # A graph replaces division by a constant with multiplication by its rounded reciprocal, but not by a placeholder.
    power = tf.raw_ops.PlaceholderWithDefault(input=tf.constant(10.0 ** abs(decimals), a.dtype), shape=[])
    return tf.round(a * power) / power if decimals > 0 else tf.round(a / power) * power


@helper("np.nan_to_num", x="own")
def np_nan_to_num(x, *, nan=0.0):
    """Return an array with a number in place of NaN, and the largest ones in place of infinities."""
    if x.dtype.is_complex:
        raise NotImplementedError("is supported only for real numbers")
    if not x.dtype.is_floating:
        return x
    bounded = tf.clip_by_value(x, x.dtype.min, x.dtype.max)
    return tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), bounded)
