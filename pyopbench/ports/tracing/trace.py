"""A NumPy body as a function of tensors: it is called with traced arrays while the graph is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import names
from pyopbench.ports.tracing.array import TracedArray, as_traced, holds_traced
from pyopbench.ports.tracing.module_state import put_back
from pyopbench.ports.tracing.raising import required
from pyopbench.ports.tracing.refusal import Refused, where_unbound
from pyopbench.ports.tracing.storage import JOINED
from pyopbench.ports.tracing.tape import Fork, Shared, Tape, recording, refuse

MOST_PATHS = 60
"""Ways through a body, each of which becomes a part of the graph."""

MOST_QUESTIONS = 20
"""Questions on one way. Each is a `tf.cond` inside that of the one before; a loop that goes on until a value is
reached asks without end."""


def traced(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors that does what a body does to arrays of NumPy's.

    Args:
        body: takes arrays and returns an array, a number or a tuple of them.

    Returns:
        A function that takes and returns tensors, for a `tf.function` without AutoGraph.
    """

    def on_tensors(*tensors: Any, **named: Any) -> Any:
        for tensor in (*tensors, *named.values()):
            if tensor.dtype == tf.string:
                refusal = refuse("tf.string", why="is not traced: what NumPy and Python do with text, graphs do not")
                refusal.place = None  # an input is on no line
                raise refusal
        names.forget()

        with put_back(body) as (outside, restore):

            def call() -> Any:
                restore()
                by_name = {name: _given(tensor) for name, tensor in named.items()}
                return names.rebound(body)(*map(_given, tensors), **by_name)

            found = _followed(call, outside)
        return found if len(found) > 1 else found[0]

    return on_tensors


def _followed(call: Callable[[], Any], outside: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return the outputs of all ways through a body.

    What is joined behind an `if` or a loop may be one array or another, so that it cannot be written to; ways that are
    joined at the end of the body know.
    """
    paths = _Paths(call, Shared(outside=outside))
    try:
        return paths.follow([], ())
    except (Refused, NameError) as error:
        is_of_joining = isinstance(error, NameError) or error.missing == JOINED
        if not paths.shared.has_joined or not is_of_joining:
            raise
        first: Exception = error
    try:
        return _Paths(call, Shared(joins=False, outside=outside)).follow([], ())
    except Exception:  # noqa: BLE001 - the reason of the better way is the one to give
        if isinstance(first, NameError):
            why = "is read behind an `if` or a loop that may not have bound it"
            name, place = where_unbound(first)
            refusal = Refused(name, why=why, fix="bind it before")
            refusal.place = place
            raise refusal from first
        raise first from None


def _given(tensor: Any) -> TracedArray:
    return TracedArray(tensor, c_order=True)


class _Raised(Exception):
    """A body raises on one of two ways."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class _Paths:
    """All ways through a body, joined by `tf.cond` where they part."""

    def __init__(self, call: Callable[[], Any], shared: Shared) -> None:
        self.call = call
        self.count = 0
        self.shared = shared

    def follow(self, log: list[Any], decisions: tuple[bool, ...]) -> tuple[Any, ...]:
        """Return the outputs of the ways that begin with some decisions."""
        self.count += 1
        tape = Tape(log, decisions, self.shared)
        with recording(tape):
            try:
                return tape.attempt(lambda: outputs_of(self.call()))  # type: ignore[no-any-return]
            except Fork as fork:
                condition, log = fork.condition, fork.log
                if len(decisions) == MOST_QUESTIONS or self.count > MOST_PATHS:
                    raise _too_many(fork, self.shared) from None
        if not isinstance(condition, tf.Tensor) or hasattr(condition, "numpy"):
            return self.follow(log, (*decisions, bool(condition)))
        return self._both(condition, log, decisions)

    def _both(self, condition: Any, log: list[Any], decisions: tuple[bool, ...]) -> tuple[Any, ...]:
        raised: dict[bool, Exception] = {}

        def way(*, answer: bool) -> Callable[[], tuple[Any, ...]]:
            def build() -> tuple[Any, ...]:
                try:
                    return self.follow(log, (*decisions, answer))
                except (Refused, NameError):  # the name may be one that a part has left unbound
                    raise
                except Exception as error:
                    raised[answer] = error
                    raise _Raised(error) from error

            return build

        try:
            return tuple(tf.cond(condition, way(answer=True), way(answer=False)))
        except _Raised:
            (answer,) = raised
        # The body raises where a value is not what it has to be: the graph does so too, and knows the other way only.
        message = f"{type(raised[answer]).__name__}: {raised[answer]}"
        is_other = tf.logical_not(condition) if answer else condition
        with tf.control_dependencies([required(is_other, message)]):
            return tuple(tf.identity(one) for one in self.follow(log, (*decisions, not answer)))


def _too_many(fork: Fork, shared: Shared) -> Refused:
    why = f"asks for a value more than {MOST_QUESTIONS} times on one way through the body, or on {MOST_PATHS} ways"
    apart = _why_apart(fork.place, shared)
    said = f"{why}, which cannot be joined sooner: they leave {apart}" if apart else why
    refusal = refuse("if or while", why=said, fix="np.where, or the same dtypes and numbers of axes on both ways")
    refusal.place = fork.place
    return refusal


def _why_apart(place: tuple[str, int] | None, shared: Shared) -> str:
    """Return why ways that part at a place cannot be joined behind the `if` or the loop that they part in."""
    around: dict[int, str] = {}
    for name, why in shared.apart.items():
        code = name[0] if isinstance(name, tuple) else name
        if place is not None and code.co_filename == place[0] and code.co_firstlineno <= place[1]:
            around[code.co_firstlineno] = why
    return around[max(around)] if around else ""


def outputs_of(returned: Any) -> tuple[Any, ...]:
    """Return what a body returns as tensors: of a tuple each item, of a list too if its items are arrays."""
    is_list = isinstance(returned, list) and getattr(returned, "stacked", None) is None
    several = isinstance(returned, tuple) or (is_list and any(map(_is_array, returned)))
    return tuple(_output(one) for one in (returned if several else (returned,)))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or tf.is_tensor(value)


def _output(value: Any) -> Any:
    if value is None:
        raise refuse("None", why="is returned, which is no array")
    if isinstance(value, list | tuple) and holds_traced(value):
        value = as_traced(value)
    array = as_traced(value)
    return tf.identity(array.tensor)
