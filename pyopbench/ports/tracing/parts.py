"""Parts of a body, run once or once for each answer where a value decides: what they leave is joined by `tf.cond`.

A part is an `if`, or one round of a loop, that `rewriting` made a function. It leaves values of names, what was written
to arrays, and what is in lists and dicts; all of that is put back before it is run for another answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyopbench.ports.tracing import journal
from pyopbench.ports.tracing.refusal import Refused
from pyopbench.ports.tracing.snapshot import UNBOUND, Snapshot, State, holds_the_same, references, refill
from pyopbench.ports.tracing.state_tree import CannotJoin, Nest, Origin, Same, Slot, nest_of, tree_of, value_of
from pyopbench.ports.tracing.storage import SERIALS, Storage
from pyopbench.ports.tracing.tape import Fork, Tape, current, recording, refuse


class _Break:
    """How a round of a loop is left by `break`."""


BREAK = _Break()


@dataclass(frozen=True)
class Returned:
    """How a part is left by `return`."""

    value: Any


Key = tuple[str, Any]
Outcome = dict[Key, Any]
"""Trees of what a part leaves, by name, or by the identity of an array or a container."""

SIGNAL: Key = ("signal", None)


def outcome_of(signal: Any, before: Snapshot, written: journal.Journal) -> Outcome:
    """Return what a part that has just been run leaves.

    Raises:
        CannotJoin: it wrote to what no name leads to.
    """
    tape = current()
    before.refuse_writing()
    if before.has_other_classes() or (tape is not None and tape.shared.has_hidden_state):
        raise CannotJoin("something else outside of the function")
    state = before.state
    origin = Origin(before.born, before.containers, functools.partial(references, state))
    found: Outcome = {SIGNAL: tree_of(signal, origin)}
    for name, value, live in zip(state.names, state.get(), state.live, strict=True):
        found["name", name] = tree_of(value, origin) if any(live) else Same(UNBOUND)
    for place, container in before.containers.items():
        if not holds_the_same(container, before.copies[place]):
            if isinstance(container, set):
                raise CannotJoin("a set that is changed")
            found["items", place] = nest_of(container, origin)
    for root in written.written(before.born):
        if id(root) not in before.roots:
            raise CannotJoin("an array that no name leads to")
        found["root", id(root)] = _slot_of(root)
    return found


def _slot_of(root: Storage) -> Slot:
    return Slot(root.value, root.dtype, root.static_shape, False, None, bool(root._c_order))


def start_of(key: Key, before: Snapshot) -> Any:
    """Return the tree of what was there before, of a name, an array or a container."""
    kind, which = key
    if kind == "root":
        return _slot_of(before.roots[which])
    origin = Origin(next(SERIALS), {} if kind == "name" else before.containers, lambda: before.references)
    if kind == "items":
        return nest_of(before.copies[which], origin)
    return tree_of(before.values[before.state.names.index(which)], origin)


def leave(outcome: Outcome, before: Snapshot) -> Any:
    """Bind names, write to arrays and fill lists as a part leaves them; returns its signal."""
    for (kind, which), tree in outcome.items():
        if kind == "root":
            before.roots[which].write(tree.value)
    for (kind, which), tree in outcome.items():
        if kind == "items":
            refill(before.containers[which], value_of(tree))
    state = before.state
    state.set(tuple(value_of(outcome.get(("name", name), Same(UNBOUND))) for name in state.names))
    return value_of(outcome[SIGNAL])


@dataclass(frozen=True)
class Left:
    """What a part has left, for when the body is called again; with decisions of the whole call that it used up."""

    outcome: Outcome
    before: Snapshot
    asked: int


def leave_again(tape: Tape, code: Any, state: State) -> Any:
    """Leave the same in another call of the body, in which other objects stand where those of the first one did."""
    left: Left = tape.left()
    tape.end_part(code, tape.mark(), left, left.asked)
    now = Snapshot(state)
    others = dict(zip(left.before.objects, now.objects.values(), strict=False))
    if len(now.objects) != len(left.before.objects):
        raise refuse("if or for", why="does not find the same in every call, so that the body cannot be traced")
    moved = {
        (kind, _moved_place(which, others) if kind in ("items", "root") else which): _moved(tree, others)
        for (kind, which), tree in left.outcome.items()
    }
    return leave(moved, now)


def _moved_place(place: int, others: Mapping[int, Any]) -> int:
    return id(others[place]) if place in others else place


def _moved(tree: Any, others: Mapping[int, Any]) -> Any:
    if isinstance(tree, Nest):
        return replace(
            tree,
            parts=tuple(_moved(one, others) for one in tree.parts),
            value=others.get(id(tree.value), tree.value),
        )
    if isinstance(tree, Slot):
        kin = tuple(others.get(id(root), root) for root in tree.kin)
        return replace(tree, kin=kin, same=others.get(id(tree.same), tree.same))
    return Same(others.get(id(tree.value), tree.value)) if isinstance(tree, Same) else tree


def run_part(call: Callable[[], Any], state: State) -> Any:
    """Run a part of a body; where a value decides, for both answers, if what it leaves can be joined.

    Returns:
        What the part returns: None, or how it was left.
    """
    tape = current()
    if tape is None or tape.inside:
        return call()
    tape.stop_if_asked()
    if not tape.shared.joins:
        return call()
    code, mark = call.__code__, tape.mark()
    if tape.has_left(code):
        return leave_again(tape, code, state)
    number = tape.begin_part()
    before = Snapshot(state)
    if not before.can_return or code in tape.shared.apart:
        return call()
    with journal.kept() as written:
        try:
            return tape.attempt(call)
        except Fork as fork:
            pending = fork
    written.restore()
    before.restore()
    log, decisions = pending.log[mark[0] :], tape.decisions[mark[1] :]
    tape.fork = None
    try:
        outcome = Ways(call, before, number).joined(pending.condition, log, decisions)
    except CannotJoin as error:
        tape.shared.apart[code] = str(error)
        tape.fork = pending
        raise pending from None
    except Refused as error:
        tape.refusal = tape.refusal or error  # the body may catch it
        raise
    tape.end_part(code, mark, Left(outcome, before, len(decisions)), len(decisions))
    return leave(outcome, before)


class Ways:
    """All ways through a part, from what there was before it.

    Args:
        call: runs the part.
        before: what there was.
        number: of the part, from which those inside it are counted.
    """

    def __init__(self, call: Callable[[], Any], before: Snapshot, number: int = 0) -> None:
        self.call = call
        self.before = before
        self.number = number

    def outcome(self, log: list[Any], decisions: tuple[bool, ...]) -> Outcome:
        """Run the part in the current graph and return what it leaves; puts back all that it did."""
        parent = current()
        assert parent is not None
        tape = Tape(log, decisions, parent.shared)
        tape.parts = self.number
        with recording(tape), journal.kept() as written:
            try:
                signal = tape.attempt(self.call)
                return outcome_of(signal, self.before, written)
            except Fork as fork:
                condition, log = fork.condition, fork.log
                tape.fork = None
            except Exception:
                if tape.fault is not None:  # no error of the body's, that the graph would raise too
                    raise tape.fault from None
                raise
            finally:
                written.restore()
                self.before.restore()
            return self.joined(condition, log, decisions)

    def joined(self, condition: Any, log: list[Any], decisions: tuple[bool, ...]) -> Outcome:
        """Return what the part leaves, whichever answer is right.

        Raises:
            CannotJoin: the ways leave what cannot be one value, or there are too many.
        """
        from pyopbench.ports.tracing.joined_ways import join_ways

        return join_ways(self, condition, log, decisions)
