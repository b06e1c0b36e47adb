"""Does a body give the same twice? One that draws random numbers can only be compared under a seed."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import BadInput
from pyopbench.model.op import Body
from pyopbench.ports.arrays import as_array, in_parts, is_rounded
from pyopbench.ports.rebinding import BODY

SEED = 0
SCOPE = {"np": np, "numpy": np, "random": random, "tf": tf, "tensorflow": tf}
"""What a statement that seeds may use beside the names of the body's module."""

ROUNDING = 1e-5
"""How far floats of two calls may be apart, relative to the largest: sums over threads may end in other bits."""


def seeded(body: Body, statement: str) -> Body:
    """Return a body before each call of which a statement is run, `{seed}` in it replaced by a number."""
    code = compile(statement.replace("{seed}", str(SEED)), "--seed-with", "exec")
    function = body
    while hasattr(function, BODY):
        function = getattr(function, BODY)
    # In the module itself, so that a generator that is a global of it can be replaced.
    scope = getattr(function, "__globals__", {})
    for name in set(code.co_names) & SCOPE.keys():
        scope.setdefault(name, SCOPE[name])

    @functools.wraps(body, updated=())
    def on_seed(*inputs: Any) -> Any:
        exec(code, scope)
        return body(*inputs)

    setattr(on_seed, BODY, body)
    return on_seed


def require_same(first: Sequence[Any], second: Sequence[Any], *, is_seeded: bool) -> None:
    """Look whether two calls of a body with the same inputs gave the same outputs.

    Raises:
        BadInput: they did not; with the way out.
    """
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        apart = _apart(as_array(one), as_array(other))
        if apart:
            raise BadInput(
                "the function returns different values for the same inputs: it draws random numbers "
                "or keeps state between calls" + (", even after the code that should seed it" if is_seeded else ""),
                received=f"output {place}: {apart}",
                legal="a function that returns the same values every time, so that ports can be checked",
                hint='--seed-with "np.random.seed({seed}); random.seed({seed})", or seed_with= in the file of the '
                "op, runs that before each call (names of the body's module work too); or draw outside, and pass in "
                "what was drawn",
            )


def _apart(one: Any, other: Any) -> str:
    if one.shape != other.shape:
        return f"shape {one.shape}, then {other.shape}"
    if is_rounded(one):
        first, second = in_parts(one), in_parts(other)
        scale = float(np.abs(first[np.isfinite(first)]).max(initial=0.0))
        same = np.isclose(first, second, rtol=0, atol=ROUNDING * scale, equal_nan=True).all(axis=-1)
    else:
        same = np.asarray(one == other)
    count = int(same.size - np.count_nonzero(same))
    return f"{count:,} of {same.size:,} elements differ" if count else ""
