"""The NumPy body as it stands, with `np` rebound to TensorFlow's NumPy: a port that costs nothing where it works."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow.experimental.numpy as tnp

from pyopbench.model import Body, Case, Op, Variant


def rebind(function: Body) -> Body:
    """Return a copy of a Python function in which everything global that is NumPy's is `tf.experimental.numpy`'s.

    Functions of the same module that it calls are rebound too, so that a helper does not fall back to NumPy.

    Raises:
        AttributeError: `tf.experimental.numpy` has not got something that is imported from NumPy by name.
    """
    copy: Body = _rebind(function, {})
    return copy


def _rebind(function: Any, done: dict[Any, Any]) -> Any:
    scope: dict[str, Any] = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    done[function] = copy
    for name in sorted(set(_globals_read(function.__code__)) & scope.keys()):
        value = scope[name]
        if _is_of_numpy(value):
            scope[name] = tnp if value is np else getattr(tnp, value.__name__)
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            scope[name] = done[value] if value in done else _rebind(value, done)
    return copy


def _globals_read(code: types.CodeType) -> Iterator[str]:
    """Yield the globals that a function reads; those of a function or comprehension inside are in a code of its own."""
    # Not co_names, which are attributes as well: np.linalg is no use of a global linalg.
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals_read(constant)


def _is_of_numpy(value: Any) -> bool:
    if isinstance(value, np.ufunc):  # which say their module only in newer NumPy
        return True
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return hasattr(value, "__name__") and str(home).split(".")[0] == "numpy"


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
