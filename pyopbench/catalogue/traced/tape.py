"""The course of one call of a body: which steps it took, and which way it went where a value decides.

A body that asks for the truth of a value (`if x.sum() > 0:`) is called again for each answer, inside the branches of a
`tf.cond`. Up to the question it does the same as before, so the steps before it are not built again: what they returned
is taken from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyopbench.catalogue.traced.refusal import Refused, place_of_user

MOST_STEPS = 3_000
"""NumPy operations in one path through a body, each of them a few ops of TensorFlow: about 10 s of tracing. A loop over
the elements of an array is unrolled, and a graph of more is slower than what it is to replace."""


class Fork(BaseException):
    """A body asks for the truth of a value. No `Exception`, so that no body catches it."""

    def __init__(self, condition: Any, log: list[tuple[str, Any]]) -> None:
        super().__init__("the truth of a value")
        self.condition = condition
        self.log = log
        self.place = place_of_user()


class Tape:
    """The steps and decisions of one call of a body.

    Args:
        log: name and result of each step that was taken already, in this graph or one around it.
        decisions: the answers to the questions that were asked already.
    """

    def __init__(self, log: list[tuple[str, Any]], decisions: tuple[bool, ...]) -> None:
        self.log = log
        self.decisions = decisions
        self.done: list[tuple[str, Any]] = []
        self.asked = 0
        self.inside = False
        self.refusal: Refused | None = None

    def step(self, name: str, build: Callable[[], Any]) -> Any:
        """Return what `build` does, or did when the body was called before; steps of steps are not counted."""
        if self.inside:
            return build()
        place = len(self.done)
        if place == MOST_STEPS:
            raise Refused(
                name, why=f"is step {MOST_STEPS + 1} of a body: its loops are unrolled", fix="work on whole arrays"
            )
        if place < len(self.log):
            known, result = self.log[place]
            if known != name:
                raise Refused(name, why="is not done in every call, so that the body cannot be traced")
        else:
            self.inside = True
            try:
                result = build()
            finally:
                self.inside = False
        self.done.append((name, result))
        return result

    def decide(self, condition: Any) -> bool:
        """Return the truth of a condition, or end the call where it is asked for the first time."""
        self.asked += 1
        if self.asked <= len(self.decisions):
            return self.decisions[self.asked - 1]
        raise Fork(condition, self.done)


_TAPE: ContextVar[Tape | None] = ContextVar("tape", default=None)


def current() -> Tape | None:
    """Return the tape of the call that is being traced; None in eager execution."""
    return _TAPE.get()


def step(name: str, build: Callable[[], Any]) -> Any:
    """Return what `build` does, as a step of the call that is being traced."""
    tape = _TAPE.get()
    return build() if tape is None else tape.step(name, build)


def refuse(missing: str, *, why: str = "", fix: str = "") -> Refused:
    """Return a refusal that the tape remembers, so that a body that catches it is refused all the same."""
    refusal = Refused(missing, why=why, fix=fix)
    tape = _TAPE.get()
    if tape is not None and tape.refusal is None:
        tape.refusal = refusal
    return refusal


@contextmanager
def recording(tape: Tape) -> Iterator[None]:
    """Make a tape the current one."""
    token = _TAPE.set(tape)
    try:
        yield
    finally:
        _TAPE.reset(token)
