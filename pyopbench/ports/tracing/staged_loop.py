"""A loop as `tf.while_loop`: one round is traced until what it leaves fits what it begins with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, number, place_number
from pyopbench.ports.tracing.joined_trees import filled, fitted, join
from pyopbench.ports.tracing.loop_begin import (
    Beginning,
    as_int64,
    asked_unless_left,
    blank,
    concrete,
    fresh,
    outer,
    spec_of,
    without_kin,
)
from pyopbench.ports.tracing.parts import BREAK, SIGNAL, Key, Left, Outcome, Ways, leave, leave_again, start_of
from pyopbench.ports.tracing.snapshot import UNBOUND, Snapshot
from pyopbench.ports.tracing.state_tree import (
    CannotJoin,
    Const,
    Nest,
    Same,
    Slot,
    alike,
    as_slot,
    slots_of,
    tensors_of,
)
from pyopbench.ports.tracing.tape import current, step

MOST_TRACES = 8
"""How often a round is traced until what it leaves is of the same dtypes and shapes as what it begins with."""


def run_staged(rounds: Any) -> None:
    """Run a loop as a `tf.while_loop`, and leave what it leaves.

    Raises:
        CannotJoin: a round leaves what the next one cannot begin with.
    """
    tape = current()
    assert tape is not None
    code, mark = name_of(rounds), tape.mark()
    if tape.has_left(code):
        leave_again(tape, code, rounds.state)
        return
    before = Snapshot(rounds.state)
    if not before.can_return:
        raise CannotJoin("an iterator that is used up")
    outcome = _Loop(rounds, before).outcome()
    tape.end_part(code, mark, Left(outcome, before, 0), 0)
    leave(outcome, before)


def name_of(rounds: Any) -> Any:
    """Return what a loop is known by."""
    return rounds.part.__code__, "loop"


@dataclass
class _Traced:
    """A round as a function of a graph, of its number and of what it begins with; and what it leaves."""

    function: Any
    outcome: Outcome


class _Loop:
    def __init__(self, rounds: Any, before: Snapshot) -> None:
        self.rounds = rounds
        self.before = before
        self.dropped: set[Key] = set()
        self.blank: Outcome = {}

    def outcome(self) -> Outcome:
        """Build the loop and return what it leaves."""
        carried = self._expected()
        for _ in range(MOST_TRACES):
            traced = self._traced(carried)
            wider = self._wider(carried, traced.outcome)
            if list(wider) == list(carried) and all(alike(wider[key], carried[key]) for key in wider):
                self._expect(wider)
                return self._built(wider, traced)
            carried = wider
        raise CannotJoin("other dtypes or shapes after each round")

    def _expect(self, carried: Outcome) -> None:
        """Note what goes from round to round, by what is the same when the loop is traced again."""
        tape = current()
        assert tape is not None
        places = {"root": list(self.before.roots), "items": list(self.before.containers)}
        tape.shared.loops[self._known_as()] = [
            (kind, places[kind].index(which) if kind in places else which, tree)
            for (kind, which), tree in carried.items()
        ]

    def _known_as(self) -> Any:
        """Return what a loop is known by whose rounds leave the same dtypes: its code, and what its names lead to."""
        arrays = (one for one in self.before.objects.values() if type(one) is TracedArray)
        types = tuple(map(type, self.before.values))
        return name_of(self.rounds), types, tuple((one.dtype, one.ndim, one.weak) for one in arrays)

    def _expected(self) -> Outcome:
        """Return what went from round to round when the loop was traced before: a trace that is not needed again."""
        tape = current()
        assert tape is not None
        places = {"root": list(self.before.roots), "items": list(self.before.containers)}
        found: Outcome = {}
        for kind, which, tree in tape.shared.loops.get(self._known_as(), ()):
            if kind in places and which >= len(places[kind]):
                return {}
            key = (kind, places[kind][which] if kind in places else which)
            try:
                found[key] = outer(join(fresh(self._start(key)), without_kin(tree)), self.before.born)
            except CannotJoin:
                return {}
        return found

    def _wider(self, carried: Outcome, outcome: Outcome) -> Outcome:
        """Return what goes from round to round, of which the trees hold what it begins with and what a round leaves."""
        found = dict(carried)
        for key, tree in outcome.items():
            if key == SIGNAL or key in self.dropped or (key not in carried and self._is_unchanged(key, tree)):
                continue
            try:
                begins = carried[key] if key in carried else self._begins_with(key, tree)
                joined = outer(join(fresh(begins), fresh(tree)), self.before.born)
            except CannotJoin:
                if not self._may_drop(key):
                    raise
                self.dropped.add(key)
                found.pop(key, None)
                continue
            found[key] = joined
        return found

    def _is_unchanged(self, key: Key, tree: Any) -> bool:
        if key[0] != "name":
            return False
        value = self.before.values[self.before.state.names.index(key[1])]
        if isinstance(tree, Same) and tree.value is UNBOUND:
            self.dropped.add(key)
            return True
        itself = tree.same if isinstance(tree, Slot) else tree.value if isinstance(tree, Nest) else None
        return itself is not None and itself is value

    def _begins_with(self, key: Key, tree: Any) -> Any:
        """Return what the first round begins with; for a name that each round binds, anything of the same shape."""
        start = self._start(key)
        if not (isinstance(start, Same) and start.value is UNBOUND):
            return start
        length = 0 if self.rounds.sequence is None else self.rounds.sequence.length
        if type(length) is not int or length == 0 or not self._may_drop(key):
            raise CannotJoin("a name unbound if it has no round")
        self.blank[key] = blank(tree)
        return self.blank[key]

    def _start(self, key: Key) -> Any:
        kind, which = key
        if (kind == "root" and which not in self.before.roots) or (kind == "items" and which not in self.before.copies):
            raise CannotJoin("a list or an array that each round replaces and changes")
        return start_of(key, self.before)

    def _may_drop(self, key: Key) -> bool:
        """May a name be left unbound, because no round reads what the one before has left in it?"""
        names = self.before.state.names
        if key[0] != "name":
            return False
        is_read_later, is_read_first = self.before.state.live[names.index(key[1])]
        return not is_read_first and not (is_read_later and self.before.state.catches_unbound)

    def _traced(self, carried: Outcome) -> _Traced:
        specs = [spec_of(slot) for tree in carried.values() for slot in slots_of(tree)]
        made: list[Outcome] = []

        def build(place: Any, *tensors: Any) -> list[Any]:
            with self._beginning(carried, tensors):
                made.append(self._round(place))
            return [one for tree in made[-1].values() for one in tensors_of(tree)]

        function = concrete(build, [tf.TensorSpec([], tf.int64), *specs])
        return _Traced(function, made[-1])

    def _beginning(self, carried: Outcome, tensors: Sequence[Any]) -> Any:
        return Beginning(self.before, carried, iter(tensors), self.dropped)

    def _round(self, place: Any) -> Outcome:
        rounds = self.rounds

        def call() -> int:
            if rounds.sequence is None:
                signal = rounds.part()
            else:
                signal = rounds.part(rounds.sequence.element(place_number(place)))
            if signal is None:
                return 0
            if signal is not BREAK:
                raise CannotJoin("the function by `return`")
            return 1

        return _ways(call, rounds.state).outcome([], ())

    def _built(self, carried: Outcome, traced: _Traced) -> Outcome:
        initial = self._initial(carried)
        may_break = not (isinstance(traced.outcome[SIGNAL], Const) and traced.outcome[SIGNAL].value == 0)
        length = None if self.rounds.sequence is None else as_int64(self.rounds.sequence.length)
        asked = None if self.rounds.asks is None else self._asked(carried)

        def goes_on(place: Any, is_left: Any, *tensors: Any) -> Any:
            again = asked(*tensors) if asked is not None else place < length
            return tf.logical_and(again, tf.logical_not(is_left)) if may_break else again

        def body(place: Any, is_left: Any, *tensors: Any) -> list[Any]:
            found = self._after_round(carried, traced, place, tensors)
            left = tf.cast(found[0], tf.bool) if may_break else is_left
            return [place + 1, left, *found[1:]]

        slots = [slot for tree in carried.values() for slot in slots_of(tree)]
        shapes = [tf.TensorShape([]), tf.TensorShape([]), *(tf.TensorShape(slot.shape) for slot in slots)]
        begin = [tf.constant(0, tf.int64), tf.constant(False), *initial]
        if asked is not None and may_break:
            goes_on = asked_unless_left(asked)
        _, _, *results = tf.while_loop(goes_on, body, begin, shape_invariants=shapes)
        found: Outcome = {SIGNAL: Const(None)}
        tensors = iter(results)
        for key, tree in carried.items():
            found[key] = self._after(key, filled(tree, tensors), traced)
        state = self.before.state
        for name, live in zip(state.names, state.live, strict=True):
            if any(live) and ("name", name) not in self.dropped | found.keys():
                found["name", name] = self._start(("name", name))
        return found

    def _after(self, key: Key, tree: Any, traced: _Traced) -> Any:
        """Return what is left of a tree behind the loop: where there is a round, it is not what was there before."""
        length = 0 if self.rounds.sequence is None else self.rounds.sequence.length
        left = traced.outcome.get(key)
        if type(length) is not int or length == 0 or not isinstance(tree, Slot) or not isinstance(left, Slot):
            return tree
        return replace(tree, kin=outer(left, self.before.born).kin)

    def _initial(self, carried: Outcome) -> list[Any]:
        found = []
        for key, tree in carried.items():
            start = fresh(self.blank[key] if key in self.blank else self._start(key))
            found += fitted(tree, start, iter(tensors_of(start)))
        return found

    def _after_round(self, carried: Outcome, traced: _Traced, place: Any, tensors: Sequence[Any]) -> list[Any]:
        results = iter(traced.function(place, *tensors))
        left = {key: [next(results) for _ in slots_of(tree)] for key, tree in traced.outcome.items()}
        signal = left[SIGNAL][0] if left[SIGNAL] else tf.constant(traced.outcome[SIGNAL].value)
        given = iter(tensors)
        found = [signal]
        for key, tree in carried.items():
            begun = [next(given) for _ in slots_of(tree)]
            if key in traced.outcome:
                found += fitted(tree, fresh(traced.outcome[key]), iter(left[key]))
            else:
                found += begun
        return found

    def _asked(self, carried: Outcome) -> Any:
        """Return the condition as a function of a graph."""
        rounds = self.rounds

        def call() -> Any:
            now = Snapshot(rounds.state)
            answer = rounds.asks()
            if now.has_other_elements():
                raise CannotJoin("another list after its condition was asked for")
            is_traced = type(answer) is TracedArray and answer.known is None
            if not is_traced or answer.static_shape != (1,) * answer.ndim:
                return bool(answer)
            value = answer.value
            return number(step("bool", lambda: tf.reshape(dtypes.cast(value, bool), [])), bool)

        def build(*tensors: Any) -> Any:
            with self._beginning(carried, tensors):
                outcome = _ways(call, rounds.state).outcome([], ())
            if any(key[0] == "root" for key in outcome):
                raise CannotJoin("another array after its condition was asked for")
            slot = as_slot(outcome[SIGNAL])
            assert slot is not None
            return tf.cast(tf.convert_to_tensor(slot.value), tf.bool)

        return concrete(build, [spec_of(slot) for tree in carried.values() for slot in slots_of(tree)])


def _ways(call: Callable[[], Any], state: Any) -> Ways:
    return Ways(call, Snapshot(state))
