"""Loops of a body: unrolled where that is short, else one round of them traced as the body of a `tf.while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.creation import is_dynamic
from pyopbench.ports.tracing.parts import BREAK, run_part
from pyopbench.ports.tracing.refusal import Refused
from pyopbench.ports.tracing.sequences import Range, Sequence, sequence_of
from pyopbench.ports.tracing.snapshot import Snapshot, State
from pyopbench.ports.tracing.staged_loop import name_of, run_staged
from pyopbench.ports.tracing.state_tree import CannotJoin
from pyopbench.ports.tracing.tape import Fork, Tape, current, refuse

UNROLLED = 200
"""Steps up to which a loop of known length is unrolled: a graph without loops has more that can run at once, and is
what XLA and gradients are best at; it takes a second to trace."""

LONG = 16
"""Rounds from which on a loop is tried without its first round unrolled: what is traced once is traced sooner."""

STEPS_OF_WAY = 30
"""What one more way through a part counts as, because it is traced as a graph of its own."""


def run_for(iterable: Any, part: Callable[[Any], Any], state: State) -> Any:
    """Run a `for` loop; returns None, or what a round returned."""
    tape = current()
    if tape is None or tape.inside:
        return _unrolled(iterable, part)
    sequence = None if _is_used_up_by_name(iterable, state) else sequence_of(iterable)
    if sequence is None:
        return _unrolled(_checked(iterable), lambda item: _round(part, item, state))
    if type(sequence.length) is not int:
        return _of_unknown_length(sequence, part, state, iterable)
    return _of_known_length(sequence, part, state)


def _is_used_up_by_name(iterable: Any, state: State) -> bool:
    """Is it an iterator that a name leads to, so that what a loop leaves of it is seen?"""
    is_used_up = isinstance(iterable, Iterator) and not isinstance(iterable, Range)
    return is_used_up and any(value is iterable for value in state.seen())


def _checked(iterable: Any) -> Iterator[Any]:
    """Yield elements; of a list as long as it is one of Python's."""
    for item in iterable:
        yield item
        if getattr(iterable, "stacked", None) is not None:
            raise _grows()


def _grows() -> Refused:
    why = "goes over a list that grows meanwhile, as values decide"
    return refuse("for x in list", why=why, fix="count in a `while` loop, with `list[i]` and `len(list)`")


def _unrolled(iterable: Any, run: Callable[[Any], Any]) -> Any:
    for item in iterable:
        signal = run(item)
        if signal is BREAK:
            return None
        if signal is not None:
            return signal
    return None


def _round(part: Callable[[Any], Any], item: Any, state: State) -> Any:
    return run_part(_Call(lambda: part(item), part.__code__), state)


@dataclass(frozen=True)
class _Call:
    """A call of a part with its element, known by the part's code."""

    function: Callable[[], Any]
    __code__: Any

    def __call__(self) -> Any:
        return self.function()


def _of_unknown_length(sequence: Sequence, part: Callable[[Any], Any], state: State, iterable: Any) -> Any:
    stacked = getattr(iterable, "stacked", None)
    try:
        run_staged(_Rounds(part, state, sequence=sequence))
    except CannotJoin as error:
        raise refuse(
            "for",
            why=f"goes over what is as long as a value says, and a round of it leaves {error}",
            fix="use operations on whole arrays",
        ) from error
    except Refused as refusal:
        tape = current()
        if tape is not None:
            tape.refusal = tape.refusal or refusal  # the body may catch it
        raise
    if getattr(iterable, "stacked", None) is not stacked:
        raise _grows()
    return None


def _of_known_length(sequence: Sequence, part: Callable[[Any], Any], state: State) -> Any:
    tape = current()
    assert tape is not None
    for place in range(sequence.length):
        here = _Rounds(part, state, sequence=_rest(sequence, place))
        if tape.has_left(name_of(here)):
            run_staged(here)
            return None
        if place == 0 and sequence.length > LONG and _has_tensors(sequence, state) and _try_staged(here, once=False):
            return None
        cost, steps, mark = _cost(tape), tape.shared.steps, tape.mark()
        try:
            signal = _round(part, sequence.element(place), state)
        except Fork:
            if _is_staged_instead(tape, mark, here):
                return None
            raise
        if signal is not None:
            return None if signal is BREAK else signal
        left = sequence.length - place - 1
        steps = tape.shared.steps - steps
        if (_cost(tape) - cost) * left > UNROLLED:
            if _try_staged(_Rounds(part, state, sequence=_rest(sequence, place + 1))):
                return None
            tape.foresee("for", steps * left if place == 0 else 0)
    return None


def _has_tensors(sequence: Sequence, state: State) -> bool:
    """Does a loop go over tensors, or do names of its function lead to one? Else it makes constants of the graph."""
    roots = Snapshot(state).roots.values()
    return any(tf.is_tensor(root._value) for root in roots) or is_dynamic([sequence.element(0)])


def _cost(tape: Tape) -> int:
    return tape.shared.steps + STEPS_OF_WAY * tape.shared.ways


def _rest(sequence: Sequence, place: int) -> Sequence:
    return Sequence(sequence.length - place, lambda one: sequence.element(one + place))


def _try_staged(rounds: _Rounds, *, once: bool = True) -> bool:
    """Run a loop as a `tf.while_loop` if that can be done; each loop is tried once, and before its first round."""
    tape = current()
    assert tape is not None
    name = name_of(rounds)
    if name in tape.shared.apart or not tape.shared.joins:
        return False
    try:
        run_staged(rounds)
    except Exception as error:  # noqa: BLE001 - what stops it is met again where it is unrolled, or is of no concern
        if once:
            tape.shared.apart[name] = str(error)
        return False
    return True


def _is_staged_instead(tape: Tape, mark: Any, rounds: _Rounds) -> bool:
    """Run a loop as a `tf.while_loop` in place of what was traced since a mark; that stays if it cannot be done."""
    undone = tape.rewind(mark)
    if _try_staged(rounds):
        return True
    tape.redo(undone)
    return False


def run_while(asks: Callable[[], Any], part: Callable[[], Any], state: State) -> Any:
    """Run a `while` loop; returns None, or what a round returned."""
    tape = current()
    while True:
        if tape is None or tape.inside:
            answer = asks()
        else:
            here, mark = _Rounds(part, state, asks=asks), tape.mark()
            if tape.has_left(name_of(here)):
                run_staged(here)
                return None
            try:
                answer, pending = tape.attempt(asks), None
            except Fork as fork:
                answer, pending = None, fork
            if (pending is not None or not _is_known(answer)) and _is_staged_instead(tape, mark, here):
                return None
            if pending is not None:
                raise pending
        if not answer:
            return None
        if tape is None or tape.inside:
            signal = part()
        else:
            mark = tape.mark()
            try:
                signal = run_part(part, state)
            except Fork:
                if _is_staged_instead(tape, mark, here):
                    return None
                raise
        if signal is not None:
            return None if signal is BREAK else signal


def _is_known(answer: Any) -> bool:
    return type(answer) is not TracedArray or answer.known is not None


@dataclass(frozen=True)
class _Rounds:
    """A loop, of elements or while a condition holds."""

    part: Callable[..., Any]
    state: State
    sequence: Sequence | None = None
    asks: Callable[[], Any] | None = None
