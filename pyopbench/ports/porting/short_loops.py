"""The first rounds of loops, for what has to be seen of a body and not computed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from pyopbench.ports.traced.array import number
from pyopbench.ports.traced.sequences import sequence_of

FIRST_ROUNDS = 3
"""Of a name that is a number before a loop, the second round shows what it becomes, and the third that it stays so."""


def first_rounds(iterable: Any) -> Iterator[Any]:
    """Yield the first elements of what a loop goes over; of an unknown number as many as if there were enough.

    Of what has an unknown number of elements, AutoGraph makes a loop of the graph, in which their places are tensors.
    """
    sequence = sequence_of(iterable)
    if sequence is None or type(sequence.length) is int:
        return itertools.islice(iter(iterable), FIRST_ROUNDS)
    places = (number(tf.constant(place, tf.int64), int) for place in range(FIRST_ROUNDS))
    return map(sequence.element, places)
