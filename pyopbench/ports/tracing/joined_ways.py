"""Two ways through a part as branches of `tf.cond`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing.catching import is_caught
from pyopbench.ports.tracing.joined_trees import filled, fitted, join
from pyopbench.ports.tracing.parts import Outcome, Ways, start_of
from pyopbench.ports.tracing.raising import required
from pyopbench.ports.tracing.refusal import Refused
from pyopbench.ports.tracing.snapshot import UNBOUND
from pyopbench.ports.tracing.state_tree import CannotJoin, Same, holds_shared, slots_of, tensors_of
from pyopbench.ports.tracing.tape import current

MOST_WAYS = 300
"""Ways through parts of a body, each traced as a graph of its own: some 10 ms for each."""

MOST_DECISIONS = 12
"""Questions on one way through one part, whose ways double with each."""


@dataclass(frozen=True)
class _Way:
    """A way as a function of a graph, and what it leaves; or the error that the body raises on it."""

    function: Any
    outcome: Outcome
    error: Exception | None = None

    def tensors(self) -> dict[Any, list[Any]]:
        """Return the tensors of all that it leaves, in the current graph."""
        found = iter(self.function())
        next(found)
        return {key: [next(found) for _ in slots_of(tree)] for key, tree in self.outcome.items()}


def join_ways(ways: Ways, condition: Any, log: Sequence[Any], decisions: tuple[bool, ...]) -> Outcome:
    """Return what a part leaves, whichever answer to a question is right; what it leaves are tensors of this graph."""
    if not isinstance(condition, tf.Tensor) or hasattr(condition, "numpy"):
        return ways.outcome(list(log), (*decisions, bool(condition)))
    if len(decisions) >= MOST_DECISIONS:
        raise CannotJoin(f"{MOST_DECISIONS} questions")
    yes, no = (_traced(ways, list(log), (*decisions, answer)) for answer in (True, False))
    for error in (yes.error, no.error):
        if error is not None and is_caught(type(error)):
            raise CannotJoin(f"{type(error).__name__}, which is caught,")
    if yes.error is not None and no.error is not None:
        raise yes.error
    if yes.error is not None or no.error is not None:
        return _required(condition, yes, no)
    keys = list(dict.fromkeys((*yes.outcome, *no.outcome)))
    sides = [_completed(way, keys, ways) for way in (yes, no)]
    trees = {key: _join(key, sides[0][key], sides[1][key], ways) for key in keys}

    def branch(way: _Way, side: Outcome) -> Any:
        def build() -> list[Any]:
            own = way.tensors()
            found = [tf.constant(0)]
            for key, tree in trees.items():
                tensors = own[key] if key in own else tensors_of(side[key])
                found += fitted(tree, side[key], iter(tensors))
            return found

        return build

    results = iter(tf.nest.flatten(tf.cond(condition, branch(yes, sides[0]), branch(no, sides[1]))))
    next(results)
    return {key: filled(tree, results) for key, tree in trees.items()}


def _completed(way: _Way, keys: Sequence[Any], ways: Ways) -> Outcome:
    return {key: way.outcome[key] if key in way.outcome else start_of(key, ways.before) for key in keys}


def _join(key: Any, one: Any, other: Any, ways: Ways) -> Any:
    unbound = [isinstance(tree, Same) and tree.value is UNBOUND for tree in (one, other)]
    if key[0] == "name" and any(unbound):
        if ways.before.state.catches_unbound and not all(unbound):
            raise CannotJoin("a name unbound, which the function finds out,")
        return Same(UNBOUND)  # to read it is an error on one of the ways
    return join(one, other)


def _traced(ways: Ways, log: list[Any], decisions: tuple[bool, ...]) -> _Way:
    tape = current()
    assert tape is not None
    tape.shared.ways += 1
    if tape.shared.ways > MOST_WAYS:
        raise CannotJoin(f"{MOST_WAYS} ways")
    made: list[Outcome] = []

    def build() -> list[Any]:
        made.append(ways.outcome(log, decisions))
        return [tf.constant(0), *(one for tree in made[-1].values() for one in tensors_of(tree))]

    try:
        function = tf.function(build, autograph=False).get_concrete_function()
    except (Refused, CannotJoin):
        raise
    except NameError as error:  # of a name that a part has left unbound
        raise CannotJoin(str(error)) from error
    except Exception as error:  # noqa: BLE001 - what a body raises on this way
        return _Way(None, {}, error)
    return _Way(function, made[-1])


def _required(condition: Any, yes: _Way, no: _Way) -> Outcome:
    """Return what the one way leaves on which the body does not raise; the graph raises on the other one."""
    raises, other = (yes, no) if yes.error is not None else (no, yes)
    if any(map(holds_shared, other.outcome.values())):
        raise CannotJoin("a list under two names, or an error")
    message = f"{type(raises.error).__name__}: {raises.error}"
    is_other = tf.logical_not(condition) if raises is yes else condition
    with tf.control_dependencies([required(is_other, message)]):
        tensors = other.tensors()
        found: Iterator[Any] = iter(tf.identity(one) for key in other.outcome for one in tensors[key])
        return {key: filled(tree, found) for key, tree in other.outcome.items()}
