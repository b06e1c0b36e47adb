"""The course of one call of a body: which steps it took, and which way it went where a value decides.

A body that asks for the truth of a value (`if x.sum() > 0:`) is called again for each answer, inside the branches of a
`tf.cond`. Up to the question it does the same as before, so the steps before it are not built again: what they returned
is taken from the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from pyopbench.ports.tracing.refusal import Refused, is_of_tensorflow, place_of_user

MOST_STEPS = 2_500
"""NumPy operations on all ways through a body, each of them a few ops of TensorFlow: some seconds of tracing. A graph
of more is slower than what it is to replace."""


PART = "a part of the body"


class Fork(BaseException):
    """A body asks for the truth of a value.

    It is no `Exception`, so that few bodies catch it. Where one does, with `except:`, the tape knows of it.

    Attributes:
        condition: the value.
        log: the steps before the question.
    """

    def __init__(self, condition: Any, log: list[Any]) -> None:
        super().__init__("the truth of a value")
        self.condition = condition
        self.log = log
        self.place = place_of_user()


@dataclass
class Shared:
    """What all calls of a body, and of parts of it, have in common while it is traced.

    Attributes:
        steps: how many were built.
        ways: how many ways were begun.
        joins: are ways joined behind the part of the body in which they part? Else at the end of the body.
        has_joined: were any?
        loops: what goes from round to round of each loop that is one of the graph, for when it is traced again.
        outside: what the functions may change that their names do not lead to, in modules.
        has_hidden_state: does a function assign names of a module, or of a function around it, which nobody puts back?
        apart: code of parts whose ways cannot be joined behind it, and of loops that cannot be one of the graph; why.
    """

    steps: int = 0
    ways: int = 0
    joins: bool = True
    has_joined: bool = False
    loops: dict[Any, Any] = field(default_factory=dict)
    apart: dict[Any, str] = field(default_factory=dict)
    outside: tuple[Any, ...] = ()
    has_hidden_state: bool = False


class Tape:
    """The steps and decisions of one call of a body.

    Args:
        log: name and result of each step that was taken already, in this graph or one around it.
        decisions: the answers to the questions that were asked already.
        shared: what all calls of a body while it is traced have in common.

    Attributes:
        fork: the question that was asked without an answer.
        refusal: the first thing that was refused.
        fault: a step that TensorFlow failed at.
    """

    def __init__(self, log: list[Any], decisions: tuple[bool, ...], shared: Shared | None = None) -> None:
        self.log = log
        self.decisions = decisions
        self.shared = shared or Shared()
        self.done: list[Any] = []
        self.asked = 0
        self.parts = 0
        self.inside = False
        self.refusal: Refused | None = None
        self.fork: Fork | None = None
        self.fault: Refused | None = None

    def attempt(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns.

        Raises:
            Fork: it asked a question, also if the body caught what that raised and went on.
            Refused: it did what cannot be traced, or TensorFlow could not, also if the body caught that.
        """
        try:
            found = call()
        except Fork:
            raise
        except Exception as error:
            stop = self.fork or self.refusal
            if stop is None or stop is error:
                raise
            raise stop from None
        stop = self.fork or self.refusal or self.fault
        if stop is not None:
            raise stop
        return found

    def step(self, name: str, build: Callable[[], Any]) -> Any:
        """Return what `build` does, or did when the body was called before; steps of steps are not counted."""
        if self.inside:
            return build()
        self.stop_if_asked()
        place = len(self.done)
        if self.shared.steps >= MOST_STEPS:
            raise _too_many_steps(name, MOST_STEPS + 1, self.shared)
        if place < len(self.log):
            known, result = self.log[place]
            if known != name:
                raise Refused(name, why="is not done in every call, so that the body cannot be traced")
        else:
            self.shared.steps += 1
            self.inside = True
            try:
                result = build()
            except Exception as error:
                if self.fault is None and is_of_tensorflow(error):
                    self.fault = Refused(name, why=f"fails in TensorFlow: {str(error).splitlines()[0][:200]}")
                raise
            finally:
                self.inside = False
        self.done.append((name, result))
        return result

    def begin_part(self) -> int:
        """Return the number of a part of the body that begins; in each call the same part has the same one."""
        self.parts += 1
        return self.parts

    def has_left(self, code: Any) -> bool:
        """Was the part of some code, if that is next, run in a call before, and are its ways joined?"""
        place = len(self.done)
        return place < len(self.log) and self.log[place][0] == (PART, self.parts + 1, code)

    def left(self) -> Any:
        """Return what the part that is next has left in a call before."""
        return self.log[len(self.done)][1]

    def mark(self) -> tuple[int, int, int]:
        """Return where the call is, for `rewind` and `end_part`."""
        return len(self.done), self.asked, self.parts

    def rewind(self, mark: tuple[int, int, int]) -> tuple[list[Any], int, int, Fork | None]:
        """Go back to a mark, before what was asked since; returns what was undone, for `redo`."""
        undone = (list(self.done), self.asked, self.parts, self.fork)
        del self.done[mark[0] :]
        self.asked, self.parts = mark[1:]
        self.fork = None
        return undone

    def redo(self, undone: tuple[list[Any], int, int, Fork | None]) -> None:
        """Go on from where `rewind` went back."""
        self.done[:], self.asked, self.parts, self.fork = undone

    def end_part(self, code: Any, mark: tuple[int, int, int], left: Any, decisions: int) -> None:
        """Note what a part that began behind a mark has left, in place of its steps and of parts inside."""
        self.rewind(mark)
        self.begin_part()
        self.done.append(((PART, self.parts, code), left))
        self.asked += decisions
        self.shared.has_joined = True

    def foresee(self, name: str, steps: int) -> None:
        """Refuse what will take more steps than there may be, as a loop of many rounds.

        Raises:
            Refused: it will.
        """
        if self.shared.steps + steps > MOST_STEPS:
            raise _too_many_steps(name, self.shared.steps + steps, self.shared)

    def decide(self, condition: Any) -> bool:
        """Return the truth of a condition, or end the call where it is asked for the first time."""
        self.stop_if_asked()
        self.asked += 1
        if self.asked <= len(self.decisions):
            return self.decisions[self.asked - 1]
        self.fork = Fork(condition, list(self.done))
        raise self.fork

    def stop_if_asked(self) -> None:
        """Raise the question that the call asked, if the body caught it and goes on without an answer."""
        if self.fork is not None:
            raise self.fork


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


def _too_many_steps(name: str, steps: int, shared: Shared) -> Refused:
    why = f"would be among {steps:,} NumPy operations, of {MOST_STEPS:,} at most: loops that cannot be one of the graph"
    loops = [said for code, said in shared.apart.items() if isinstance(code, tuple)]
    said = f" are unrolled; of one, a round leaves {loops[-1]}" if loops else " are unrolled"
    return refuse(name, why=f"{why}{said}", fix="work on whole arrays")


@contextmanager
def recording(tape: Tape) -> Iterator[None]:
    """Make a tape the current one."""
    token = _TAPE.set(tape)
    try:
        yield
    finally:
        _TAPE.reset(token)
