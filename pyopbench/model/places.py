"""The places where the memory of a tensor can be, and the routes between them."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

HOST, DEVICE = "host", "device"
PLACES = (HOST, DEVICE)


class Route(NamedTuple):
    """From where to where: the place of the inputs of a call, and the place where its result is used."""

    inputs: str
    result: str


ROUTES = tuple(Route(*places) for places in product(PLACES, PLACES))
"""Every route, in the order of tables."""
