"""The NumPy body as it stands, with `np` rebound to TensorFlow's NumPy: a port that costs nothing where it works."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import tensorflow.experimental.numpy as tnp

from pyopbench.model import Body, Case, Op, Variant


def rebind(function: Body) -> Body:
    """Return a copy of a Python function in which every global that is NumPy is `tf.experimental.numpy`.

    Functions of the same module that it calls are rebound too, so that a helper does not fall back to NumPy.
    """
    copy: Body = _rebind(function, {})
    return copy


def _rebind(function: Any, done: dict[str, Any]) -> Any:
    scope: dict[str, Any] = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    done[function.__name__] = copy
    for name in function.__code__.co_names:
        value = scope.get(name)
        if value is np:
            scope[name] = tnp
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            scope[name] = done[name] if name in done else _rebind(value, done)
    return copy


def _unsupported(op: Op, case: Case) -> str | None:
    if isinstance(op.numpy, types.FunctionType):
        return None
    return "the NumPy body is not a Python function, so it has no globals to rebind"


def _build(op: Op, case: Case) -> Body:
    return rebind(op.numpy)


VARIANT = Variant(
    name="tnp",
    summary="the NumPy body with np rebound to tf.experimental.numpy",
    body="numpy",
    kind="port",
    effort=2,
    build=_build,
    gradients=("autodiff",),
    function_options={"autograph": False},
    unsupported=_unsupported,
    speculative=True,
)
