"""How many copies of an op the graphs of mode node hold: enough to stand out from the call, and few enough to be quick.

A cost inside a graph is what k copies take beyond an empty graph, over k. Where a copy takes as long as the call around
it or longer, one copy says it; where it is quick, the call's own noise is shared by k of them.
"""

from __future__ import annotations

from dataclasses import dataclass

STEPS = (1, 2, 4, 8)
"""Numbers of copies that graphs of a group's ports can have; all have the same, and so the same part of the noise of a
call."""

USUAL = STEPS[-1]
"""Where nothing tells how many are enough."""

FEWER = (2, 1)
"""What a case falls back to for which the group's number of copies takes too long or has too many nodes; to one if it
does not fit into memory."""

SHARE_OF_EMPTY = 3.0
"""Times that the copies are to take what the empty graph does: its noise is then a third of that of the sum."""

SECOND = 2
"""Copies of a callback in the graph that shows what another one right after the first costs."""

LINEAR = (1, 2, 4, 8, 16, 32)
LEAST_LINEAR = 4
"""Graphs that are made whatever they take: with fewer points any line fits."""

MOST_NODES = 256
"""Graphs of several copies have no more nodes, those of functions included: TensorFlow takes about a millisecond of
Python to make one, and a copy of a hundred takes long enough beside an empty graph. The same in every process."""

LONGEST_CALL_SECONDS = 0.02
"""Graphs of several copies that take longer are not made: such copies cost enough for few of them to tell."""


@dataclass(frozen=True)
class Copies:
    """Which graphs are made of a case.

    Attributes:
        numbers: of copies, ascending.
        least: graphs with no more copies than this are made however long they take.
    """

    numbers: tuple[int, ...]
    least: int = 1


def enough_copies(empty_seconds: float, one_seconds: float) -> int:
    """Return how many copies take enough beside an empty graph.

    Args:
        empty_seconds: of a call of the empty graph.
        one_seconds: of a call of the graph of one copy of the current callback.

    Returns:
        The smallest of `STEPS` whose copies take `SHARE_OF_EMPTY` times the empty graph, else the largest.
    """
    added = one_seconds - empty_seconds
    return next((copies for copies in STEPS if copies * added >= SHARE_OF_EMPTY * empty_seconds), STEPS[-1])


def copies_of(*, callback: bool, enough: int = USUAL) -> Copies:
    """Return which graphs are made of a case of a group with `enough` copies.

    The first callback of a step costs more than each further one, because threads have to wake up; so a callback has
    graphs of one copy and of two, whatever the group's number: it stands out from the empty graph by itself, and how
    many copies are enough differs from process to process.
    """
    return Copies(tuple(sorted({1, min(enough, SECOND)})) if callback else (enough,))


def affordable(copies: int, copy_seconds: float, least: int = 1) -> int:
    """Return `copies`, or as many of `FEWER` as are quick enough.

    Args:
        copies: wanted.
        copy_seconds: about how long each of them takes.
        least: so many are made however long they take.
    """
    return _within(LONGEST_CALL_SECONDS, copies, copy_seconds, least)


def buildable(copies: int, copy_nodes: int, least: int = 1) -> int:
    """Return `copies`, or as many of `FEWER` as are few nodes, where one copy has `copy_nodes`."""
    return _within(MOST_NODES, copies, copy_nodes, least)


def _within(limit: float, copies: int, each: float, least: int) -> int:
    if copies <= least:
        return copies
    return next((few for few in (copies, *FEWER) if few <= copies and few * each <= limit), least)
