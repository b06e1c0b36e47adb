"""Python's own numbers in a graph: integers that must not pass 64 bits, and divisions that raise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced, number
from pyopbench.ports.tracing.catching import raise_where
from pyopbench.ports.tracing.raising import required
from pyopbench.ports.tracing.storage import ALL_BITS
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.untyped import np

DIVISIONS = frozenset({"divide", "true_divide", "floor_divide", "remainder", "divmod"})

FEW_BITS = 40
"""What sums of no loop that ends fill up to 64 bits."""

LARGEST = 2.0**63

SPLITTER = 2.0**27 + 1
"""Splits a double into two halves whose products are exact (Dekker, A floating-point technique for extending the
available precision, 1971)."""

ONLY_WHOLE = 2.0**52
"""From here on no double has a fraction."""

Bits = Callable[[int, int, TracedArray], int]

BITS: dict[str, Bits] = {
    "add": lambda a, b, _: max(a, b) + 1,
    "subtract": lambda a, b, _: max(a, b) + 1,
    "multiply": lambda a, b, _: a + b,
    "power": lambda a, b, y: a * max(int(y.value), 1) if y.is_known else ALL_BITS + 1,
    "left_shift": lambda a, b, y: a + max(int(y.value), 0) if y.is_known else ALL_BITS + 1,
    "right_shift": lambda a, b, _: a,
    "floor_divide": lambda a, b, _: a,
    "remainder": lambda a, b, _: b,
    "bitwise_and": lambda a, b, y: b if y.is_known and int(y.value) >= 0 else max(a, b),
}
"""How many bits a result has at most, of those of the operands; of what is not here, as many as the larger one."""

MAGNITUDES: dict[str, Callable[[Any, Any], Any]] = {
    "add": tf.add,
    "subtract": tf.subtract,
    "multiply": tf.multiply,
    "power": tf.pow,
    "left_shift": lambda x, y: x * tf.pow(tf.constant(2.0, tf.float64), y),
}
"""What may pass 64 bits, as a float that says so."""


def pythons_numbers(name: str, spelled: str, operands: Sequence[TracedArray]) -> list[TracedArray]:
    """Return operands of an operator as those of Python's numbers, after what Python checks.

    Raises:
        Refused: an integer has more than 64 bits.
        ZeroDivisionError: the divisor is 0, in a `try` of the body's that catches it.
    """
    for one in operands:
        if one.weak is int and one.is_known and not dtypes.holds(np.dtype(np.int64), one):
            why = "is of an integer of more than 64 bits, which no graph has"
            raise refuse(spelled, why=why, fix="np.uint64, whose arithmetic wraps around")
    if name in DIVISIONS:
        raise_where(ZeroDivisionError("division by zero"), lambda: operands[1] == 0)
    if name == "power" and operands[1].is_known and operands[1].weak is not float and operands[1].value < 0:
        return [_as_float(one) for one in operands]
    return list(operands)


def _as_float(one: TracedArray) -> TracedArray:
    if one.is_known:
        return as_traced(float(one.value))
    value = one.value
    return number(step("float", lambda: dtypes.cast(value, np.float64)), float)


def bits_of(one: TracedArray) -> int:
    """Return how many bits the magnitude of an integer has at most."""
    if one.weak is bool:
        return 1
    return int(one.value).bit_length() if one.is_known else one._bits


def checked(name: str, found: Any, operands: Sequence[TracedArray]) -> TracedArray:
    """Return an integer of Python's, which the graph raises for where it has more than 64 bits.

    Python's integers have as many as they need; what is cut off in silence would be another number.
    """
    sizes = [bits_of(one) for one in operands]
    bits = BITS[name](sizes[0], sizes[1], operands[1]) if name in BITS else max(sizes)
    is_sum = name in ("add", "subtract")
    if bits > ALL_BITS and name in MAGNITUDES and not (is_sum and min(sizes) <= FEW_BITS):
        values = [one.value for one in operands]
        found = step("overflow", lambda: _within(name, found, values))
    result = number(found, int)
    result._bits = min(bits, ALL_BITS)
    return result


def real_power(found: Any, operands: Sequence[TracedArray]) -> Any:
    """Return a power of Python's floats, which the graph raises for where Python makes a complex number."""
    x, y = (one.value for one in operands)

    def build() -> Any:
        base, exponent = (tf.cast(one, tf.float64) for one in (x, y))
        is_finite = tf.math.is_finite(base) & tf.math.is_finite(exponent)
        is_real = ~(is_finite & (base < 0) & tf.not_equal(tf.floor(exponent), exponent))
        with tf.control_dependencies([required(is_real, "a power of Python's that is a complex number")]):
            return tf.identity(found)

    exponent = operands[1]
    is_whole = exponent.weak is not float or (exponent.is_known and float(exponent.value).is_integer())
    return found if is_whole else step("power", build)


def _within(name: str, found: Any, values: Sequence[Any]) -> Any:
    magnitude = MAGNITUDES[name](*(tf.cast(one, tf.float64) for one in values))
    is_held = tf.abs(magnitude) < tf.constant(LARGEST, tf.float64)
    with tf.control_dependencies([required(is_held, "a Python integer of more than 64 bits", magnitude)]):
        return tf.identity(found)


def rounded_decimal(x: TracedArray, digits: int) -> TracedArray:
    """Return `round(x, digits)` of one of Python's floats, which rounds the exact value and not a product of it.

    NumPy's `round` multiplies by a power of ten, rounds and divides: a product that is rounded to a half itself goes
    the wrong way (`round(1.115, 2)` is 1.11, `np.round(1.115, 2)` 1.12).
    """
    value = x.value
    return number(step("round", lambda: _rounded(value, 10.0 ** abs(digits), is_fine=digits > 0)), float)


def _rounded(x: Any, power: float, *, is_fine: bool) -> Any:
    scale = tf.constant(power, tf.float64)
    if not is_fine:
        return tf.round(x / scale) * scale
    product = x * scale
    below = tf.floor(product)
    is_half = tf.equal(product - below, tf.constant(0.5, tf.float64))
    rest = _rest_of_product(x, scale, product)
    moved = tf.where(rest > 0, below + 1, below)
    whole = tf.where(is_half & tf.not_equal(rest, 0), moved, tf.round(product))
    return tf.where(tf.abs(product) < ONLY_WHOLE, whole / scale, x)


def _rest_of_product(x: Any, y: Any, product: Any) -> Any:
    """Return by how much a product is less than the exact one."""
    (a, b), (c, d) = _halves(x), _halves(y)
    return ((a * c - product) + a * d + b * c) + b * d


def _halves(x: Any) -> tuple[Any, Any]:
    large = x * tf.constant(SPLITTER, tf.float64)
    high = large - (large - x)
    return high, x - high
