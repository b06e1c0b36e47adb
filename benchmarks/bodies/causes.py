"""What stopped a form that nobody wrote, in few words, so that bodies can be counted by it."""

from __future__ import annotations

import re

from pyopbench.model.op import Op
from pyopbench.ops.own.explain import explain
from pyopbench.ports.porting.refusal import CannotPort

IN_WORDS = {
    r"Using a symbolic `tf.Tensor` as a Python `bool`": "a value that Python decides by",
    r"(?:int\(\)|float\(\)) argument must be|cannot be interpreted as an integer": "a number that Python needs",
    r"Tensor'? object has no attribute '(\w+)'": "a method of arrays, `.{}`",
    r"does not support item assignment": "item assignment",
    r"has type \w+ that does not match|Expected \w+, but got|annot convert .* to EagerTensor": "promotion of dtypes",
    r"Cannot convert a symbolic tf.Tensor to a numpy array": "a function that takes arrays alone",
    r"No implementation of function Function\(<[\w-]+(?: function)? '?([\w.]+)": "Numba has no `{}` for that",
    r"Use of unsupported NumPy function '([\w.]+)'": "Numba has no `{}`",
    r"Unknown attribute '(\w+)'": "Numba has no `.{}` here",
    r"Untyped global name '(\w+)'": "Numba has no type for the global `{}`",
    r"got an unexpected keyword argument '(\w+)'": "Numba's function has no option `{}`",
    r"(Unsupported context manager) in use": "a context manager",
    r"Unsupported array index type (list)": "a list as an index",
    r"missing a required argument: '(\w+)'": "Numba's function needs `{}`",
}
"""What TensorFlow and Numba say of obstacles."""


def cause_of(error: BaseException, op: Op) -> str:
    """Return what stopped a form, the same for all bodies that it stopped."""
    if isinstance(error, CannotPort):
        return error.why
    text = str(error)
    for pattern, words in IN_WORDS.items():
        found = re.search(pattern, text)
        if found:
            return words.format(*found.groups())
    said = explain(error, op)
    return f"Numba: {type(error).__name__}" if said.startswith("Numba") else type(error).__name__
