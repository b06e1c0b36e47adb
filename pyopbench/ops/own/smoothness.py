"""Does a body jump where its inputs are moved a little? Where it does, differences say nothing about a gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.model.op import Body
from pyopbench.ports.arrays import as_given, as_tuple

STEP = {"float32": 2.0**-8, "float64": 2.0**-16}
"""How far inputs are moved, times the magnitude of an element where that is above 1: as far as `checks` moves them."""

LARGEST_CHANGE = 0.25
"""A step of half the length changes a smooth function half as much, give or take its curvature and kinks; where it
jumps, about as much or not at all."""

ROUNDINGS = 64.0
"""Roundings of the outputs, all added up, below which a change is none."""


def is_smooth(body: Body, inputs: Sequence[Any], floating: Sequence[int]) -> bool:
    """Return whether the outputs of a body keep their shapes, and change half as much over half the way.

    Args:
        body: on arrays.
        inputs: where; arrays.
        floating: positions of the inputs to move, all at once.
    """
    rng = np.random.default_rng(0)
    directions = [rng.choice([-1.0, 1.0], inputs[place].shape) for place in floating]
    at = as_tuple(body(*as_given(inputs)))
    whole, half = (_change(body, inputs, dict(zip(floating, directions, strict=True)), part) for part in (1.0, 0.5))
    if whole is None or half is None:
        return False
    size = float(sum(np.abs(np.asarray(one, np.float64)).sum() for one in at if np.asarray(one).dtype.kind == "f"))
    smallest = ROUNDINGS * size * max(np.finfo(inputs[place].dtype).eps for place in floating)
    apart = sum(float(np.abs(one - 2 * other).sum()) for one, other in zip(whole, half, strict=True))
    moved = sum(float(np.abs(one).sum()) for one in whole)
    return bool(apart <= LARGEST_CHANGE * moved + smallest)


def _change(body: Body, inputs: Sequence[Any], directions: dict[int, Any], part: float) -> list[Any] | None:
    """Return how floating outputs differ between a step back and a step on.

    None if any shape or whole number does, or if the body refuses inputs that are moved.
    """
    ends = []
    for sign in (part, -part):
        moved = list(inputs)
        for place, direction in directions.items():
            x = inputs[place]
            reach = STEP[str(x.dtype.name)] * np.maximum(1.0, np.abs(x.astype(np.float64))) * direction
            moved[place] = np.asarray(x + sign * reach, x.dtype)
        try:
            ends.append([np.asarray(one) for one in as_tuple(body(*as_given(moved)))])
        except Exception:  # noqa: BLE001 - the body is the user's own, and may take no inputs but such as it was given
            return None
    above, below = ends
    if [one.shape for one in above] != [one.shape for one in below]:
        return None
    pairs = list(zip(above, below, strict=True))
    if not all(np.array_equal(one, other) for one, other in pairs if one.dtype.kind != "f"):
        return None
    return [one.astype(np.float64) - other for one, other in pairs if one.dtype.kind == "f"]
