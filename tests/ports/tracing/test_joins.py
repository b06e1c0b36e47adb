"""What joins of branches and loops must not get wrong in silence: each body is as NumPy has it, or is refused."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import bodies_of_numbers
import bodies_that_catch
import bodies_that_share
from pyopbench.ports.tracing.refusal import Refused
from traced_compare import graph

FLOATS = [np.array(one) for one in ([3.0, -1, 2], [-3.0, 1, -2], [1.0, 1, 2], [2.0, 0, 3], [0.0, np.nan, 0])]
INTEGERS = [np.array(one) for one in ([1, 2, 3], [0, 0, 0], [7, 5, 9], [4, -1, 6])]
BYTES = [np.array(one, np.uint8) for one in ([200, 10, 150], [20, 200, 150])]

REFUSED = ["corder_loop", "grows_while_iterating2", "module_buffer", "real_view", "swallowed_refusal"]
"""What is refused, because only values tell what NumPy would do."""

RAISING = ["python_big_int"]
"""What the graph raises for."""

INPUTS = {**dict.fromkeys(["zero_division", "zero_division2", "weak_bits"], INTEGERS), "int_or_float_scale": BYTES}
"""By the name of a body; of others, floats."""

BODIES = {
    name: body
    for module in (bodies_of_numbers, bodies_that_catch, bodies_that_share)
    for name, body in vars(module).items()
    if callable(body) and getattr(body, "__code__", None) and body.__code__.co_varnames[:1] == ("x",)
}


@pytest.mark.parametrize("name", sorted(BODIES.keys() - set(RAISING)))
def test_what_is_joined_is_never_wrong_in_silence(name: str) -> None:
    body, inputs = BODIES[name], INPUTS.get(name, FLOATS)
    traced = graph(body, inputs[0])
    if name in REFUSED:
        with pytest.raises(Refused):
            traced.get_concrete_function()
        return
    for x in inputs:
        found, expected = traced(x), body(x.copy())
        several = isinstance(expected, tuple)
        for one, other in zip(found if several else [found], expected if several else [expected], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
            assert name != "minus_zero" or np.array_equal(np.signbit(one), np.signbit(other))


def test_an_integer_of_more_than_64_bits_is_an_error_of_the_graph() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="64 bits"):
        graph(bodies_of_numbers.python_big_int, INTEGERS[0])(INTEGERS[0])


def test_a_trace_leaves_modules_as_they_are() -> None:
    bodies_that_catch.CACHE.clear()
    bodies_that_catch.CONFIG.scale = 1.0
    for name in ("module_cache", "config_helper"):
        graph(BODIES[name], FLOATS[0])(FLOATS[0])
    assert not bodies_that_catch.CACHE
    assert bodies_that_catch.CONFIG.scale == 1.0
