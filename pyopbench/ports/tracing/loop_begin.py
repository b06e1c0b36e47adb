"""What a round of a loop begins with, while it is traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import journal
from pyopbench.ports.tracing.joined_trees import filled
from pyopbench.ports.tracing.parts import Key, Outcome
from pyopbench.ports.tracing.snapshot import UNBOUND, Snapshot, refill
from pyopbench.ports.tracing.state_tree import CannotJoin, Nest, Slot, value_of
from pyopbench.ports.tracing.tape import Tape, current, recording


def concrete(build: Callable[..., Any], specs: Sequence[Any]) -> Any:
    """Return what builds a part of a graph as a function of tensors."""
    try:
        return tf.function(build, input_signature=list(specs), autograph=False).get_concrete_function()
    except NameError as error:  # of a name that a round finds unbound
        raise CannotJoin(f"a name unbound: {error}") from error


def spec_of(slot: Slot) -> Any:
    """Return what a graph takes for the tensor of a slot."""
    return tf.TensorSpec(slot.shape, tf.as_dtype(slot.dtype))


def blank(tree: Any) -> Any:
    """Return a tree of zeros like another one, which nothing reads."""
    if isinstance(tree, Nest):
        return replace(tree, parts=tuple(map(blank, tree.parts)))
    if not isinstance(tree, Slot):
        return tree
    return replace(tree, value=np.zeros([size or 0 for size in tree.shape], tree.dtype), kin=(), same=None)


def fresh(tree: Any) -> Any:
    """Return a tree in which no array is the same as before, because it is one of each round's own."""
    if isinstance(tree, Nest):
        return replace(tree, parts=tuple(map(fresh, tree.parts)))
    return replace(tree, same=None) if isinstance(tree, Slot) else tree


def outer(tree: Any, born: int) -> Any:
    """Return a tree whose kin are arrays that were made before a serial number."""
    if isinstance(tree, Nest):
        return replace(tree, parts=tuple(outer(one, born) for one in tree.parts))
    if not isinstance(tree, Slot):
        return tree
    return replace(tree, kin=tuple(root for root in tree.kin if root._serial < born))


def without_kin(tree: Any) -> Any:
    """Return the dtypes and shapes of a tree alone."""
    if isinstance(tree, Nest):
        return replace(tree, parts=tuple(map(without_kin, tree.parts)))
    return replace(tree, kin=(), same=None) if isinstance(tree, Slot) else tree


def asked_unless_left(asked: Any) -> Any:
    """Return a condition that is not asked for where a round was left by `break`: it might not be defined there."""

    def goes_on(_: Any, is_left: Any, *tensors: Any) -> Any:
        return tf.cond(is_left, lambda: tf.constant(False), lambda: asked(*tensors))

    return goes_on


def as_int64(length: Any) -> Any:
    """Return a length, of Python's or traced, as a tensor."""
    return tf.constant(length, tf.int64) if type(length) is int else tf.cast(length.tensor, tf.int64)


class Beginning:
    """A context in which names, lists and arrays are what a round begins with; all is put back behind it."""

    def __init__(self, before: Snapshot, carried: Outcome, tensors: Iterator[Any], dropped: set[Key]) -> None:
        self.before = before
        self.trees = {key: filled(tree, tensors) for key, tree in carried.items()}
        self.dropped = dropped

    def __enter__(self) -> None:
        tape = current()
        assert tape is not None
        self._recording = recording(Tape([], (), tape.shared))
        self._journal = journal.kept()
        self._recording.__enter__()
        written = self._journal.__enter__()
        self._written = written
        for (kind, which), tree in self.trees.items():
            if kind == "root":
                self.before.roots[which].write(tree.value)
        for (kind, which), tree in self.trees.items():
            if kind == "items":
                refill(self.before.containers[which], value_of(tree))
        state = self.before.state
        state.set(tuple(map(self._begins, state.names, self.before.values, state.live)))

    def _begins(self, name: str, value: Any, live: tuple[bool, bool]) -> Any:
        if ("name", name) in self.trees:
            return value_of(self.trees["name", name])
        return value if any(live) and ("name", name) not in self.dropped else UNBOUND

    def __exit__(self, *error: Any) -> None:
        self._written.restore()
        self.before.restore()
        self._journal.__exit__(None, None, None)
        self._recording.__exit__(None, None, None)
