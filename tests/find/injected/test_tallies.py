"""Keys of inputs hold shape and dtype, also of what is no plain tensor."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from pyopbench.find.injected.tallies import CONVERTED, describe_arrays, describe_tensors, name_of


def test_arrays_and_tensors_of_one_shape_and_dtype_have_one_key() -> None:
    first, second = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    assert describe_arrays([first]) == describe_arrays([second]) == (((2, 3), np.dtype("float32")),)
    assert describe_tensors([tf.constant(first)]) == describe_tensors([tf.constant(second)])
    assert describe_tensors([tf.constant(first)]) != describe_tensors([tf.constant(first, tf.float64)])


def test_what_is_no_plain_tensor_has_a_key_too() -> None:
    assert describe_tensors([tf.Variable([1.0, 2.0])]) == (((2,), "<dtype: 'float32'>"),)
    assert describe_tensors([tf.ragged.constant([[1], [2, 3]])]) == ((None, "<dtype: 'int32'>"),)
    assert describe_tensors([SimpleNamespace()]) == ((None, "None"),)


def test_a_name_is_that_of_the_program() -> None:
    def body() -> None:
        pass

    body.__qualname__ = f"{CONVERTED}tf__loss"
    assert name_of(body) == name_of(functools.partial(body)) == "loss"
    assert name_of(SimpleNamespace()) == "SimpleNamespace"
