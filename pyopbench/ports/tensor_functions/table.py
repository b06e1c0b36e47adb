"""The table of functions on tensors: by NumPy's name, with the dtype in which each array has to be given.

A function of the table needs nothing but NumPy, TensorFlow and other functions of this package, because a written port
takes its source along. What it cannot do is a `NotImplementedError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

Function = TypeVar("Function", bound=Callable[..., Any])

OWN, FLOAT, COMMON, COMMON_FLOAT, PROMOTED, PROMOTED_FLOAT, LIKE, WHOLE, NUMBER = (
    "own", "float", "common", "common float", "promoted", "promoted float", "like ", "whole or ", "number",
)  # fmt: skip
"""Rules for the dtype of an array:

own: its own.
float: its own, or float64 of what is neither float nor complex.
common, common float: that to which all arrays with such a rule are promoted; of these the float as above.
promoted, promoted float: the same, where numbers of Python's have no dtype of their own.
like a: its own, but of a number of Python's that of the parameter `a`, or float64.
whole or like a: the same, but int64 of a whole number of Python's.
number: what only the graph knows is a tensor, and all else stays as it is.

Any other rule is the name of a dtype. A `*` before a rule says that the parameter may be a list of arrays, or a nest of
lists."""

SEVERAL = "*"
"""What begins the rule of a parameter that may be a list of arrays."""


@dataclass(frozen=True)
class TensorFunction:
    """A function of NumPy's or SciPy's on tensors.

    Attributes:
        function: it, with the parameters that NumPy has, or the first of them.
        rules: the rule for the dtype of each parameter that is an array, or a list of arrays. All others have to be
            known before the graph runs.
        signature: its parameters.
        spelling: what a port calls: its name, or what TensorFlow has under a name of its own, such as `tf.linalg.inv`.
    """

    function: Callable[..., Any]
    rules: Mapping[str, str]
    signature: inspect.Signature
    spelling: str

    @property
    def is_of_tensorflow(self) -> bool:
        """Is it one of TensorFlow's own functions?"""
        return self.spelling.startswith("tf.")


TABLE: dict[str, TensorFunction] = {}
"""By NumPy's name, such as `np.median` or `scipy.special.softmax`."""


def of_numpy(names: str, **rules: str) -> Callable[[Function], Function]:
    """Enter a function under one name or several, with a rule for each parameter that is an array."""

    def enter(function: Function) -> Function:
        for name in names.split():
            signature = inspect.signature(function)
            TABLE[name] = TensorFunction(function, rules, signature, function.__name__)
        return function

    return enter


def spelled(names: str, spelling: str, **rules: str) -> None:
    """Enter a function of TensorFlow's that is NumPy's as it is, of arrays in the order of their rules."""
    function: Any = tf
    for part in spelling.split(".")[1:]:
        function = getattr(function, part)
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in rules]
    for name in names.split():
        TABLE[name] = TensorFunction(function, rules, inspect.Signature(parameters), spelling)


def dtypes_by_rule(rules: Mapping[str, str], examples: Mapping[str, Sequence[Any]]) -> dict[str, list[np.dtype[Any]]]:
    """Return the dtype in which each array has to be given.

    Args:
        rules: by the name of the parameter.
        examples: for each parameter that is given, what promotes as each of its arrays does.
    """
    plain = {name: rule.removeprefix(SEVERAL) for name, rule in rules.items()}
    together = [one for name, some in examples.items() if plain[name] in (COMMON, COMMON_FLOAT) for one in some]
    promoted = [one for name, some in examples.items() if plain[name] in (PROMOTED, PROMOTED_FLOAT) for one in some]
    common = {
        COMMON: np.result_type(*map(_dtype, together)) if together else None,
        PROMOTED: np.result_type(*promoted) if promoted else None,
    }
    common[COMMON_FLOAT] = None if common[COMMON] is None else _floating(common[COMMON])
    common[PROMOTED_FLOAT] = None if common[PROMOTED] is None else _floating(common[PROMOTED])
    found: dict[str, list[np.dtype[Any]]] = {}
    for name, some in examples.items():
        rule = plain[name]
        if common.get(rule) is not None:
            found[name] = [np.dtype(common[rule])] * len(some)
        elif rule == OWN:
            found[name] = [_dtype(one) for one in some]
        elif rule == FLOAT:
            found[name] = [_floating(_dtype(one)) for one in some]
        elif rule.startswith((LIKE, WHOLE)):
            other = _floating(found[rule.removeprefix(WHOLE).removeprefix(LIKE)][0])
            is_whole = [rule.startswith(WHOLE) and type(one) is int for one in some]
            found[name] = [
                other if _is_plain(one) and not whole else _dtype(one)
                for one, whole in zip(some, is_whole, strict=True)
            ]
        else:
            found[name] = [np.dtype(rule)] * len(some)
    return found


def _dtype(example: Any) -> np.dtype[Any]:
    return np.asarray(example).dtype


def _is_plain(example: Any) -> bool:
    """Is it a number of Python's?"""
    return isinstance(example, int | float | complex) and not isinstance(example, np.generic)


def _floating(dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype) if np.dtype(dtype).kind in "fc" else np.dtype(np.float64)
