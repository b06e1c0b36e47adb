"""What stopped a form is told alike for all bodies that it stopped."""

from __future__ import annotations

import pytest

from bodies.causes import cause_of
from pyopbench.ops.load import load_op
from pyopbench.ports.porting.refusal import CannotPort

SAID = {
    "AttributeError: SymbolicTensor object has no attribute 'T'.": "a method of arrays, `.T`",
    "'SymbolicTensor' object has no attribute 'zfill'": "a method of arrays, `.zfill`",
    "len is not well defined for a symbolic Tensor (feat:0).": "`len` of a tensor",
    "'SymbolicTensor' object does not support item assignment": "item assignment",
    "module 'tensorflow.experimental.numpy' has no attribute 'bincount'": "`np.bincount`, which tnp has not",
    "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed.": "a value that Python decides by",
    "Use of unsupported NumPy function 'numpy.pad' or unsupported use of the function.": "Numba has no `numpy.pad`",
    "No implementation of function Function(<built-in function concatenate>)": "Numba has no `concatenate` for that",
    "No implementation of function Function(<class 'tuple'>) found for": "Numba has no `tuple` for that",
    "TypingError: got an unexpected keyword argument 'axis'": "Numba's function has no option `axis`",
}


@pytest.mark.parametrize("said", SAID)
def test_a_message_is_an_obstacle(said: str) -> None:
    assert cause_of(TypeError(said), load_op("sinh")) == SAID[said]


def test_refusals_name_what_is_missing() -> None:
    op = load_op("sinh")
    assert cause_of(CannotPort("`np.bincount` has no counterpart"), op) == "`np.bincount` has no counterpart"


def test_anything_else_is_told_by_its_type() -> None:
    assert cause_of(ZeroDivisionError("x"), load_op("sinh")) == "ZeroDivisionError"
