"""Observes the expressions of a body while it runs: which are tensors in a port, with their dtypes and ranks.

A copy of the body runs on the examples, with values that know whether they depend on an input (`watched_values`). What
depends on one is a tensor in a port. Where such a value decides which branch the body takes, the port decides in the
graph: the results of the branches are tensors there, and runs with the decision inverted show what the other branch
does.
"""

from __future__ import annotations

import ast
import copy
import itertools
import operator
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyopbench.model.syntax import Function, Source, number_of
from pyopbench.ports.extract import definitions
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.observations import ARRAY, NUMBER_KIND, TENSOR, Observed, Seen, dtype_of, seen_as
from pyopbench.ports.porting.watched_calls import OPERATORS, attribute, call, derived, operated, settled
from pyopbench.ports.porting.watched_values import (
    CONTROL,
    Memory,
    WatchedArray,
    WatchedInt,
    check_stale,
    depending,
    depends,
    is_grown,
    is_open,
    length_depends,
    owner_of,
    plain,
    renew,
    view_of,
    watched,
)
from pyopbench.ports.porting.watching import SEE, watching
from pyopbench.ports.rebinding import instrument, unwrap

FIRST_ROUNDS = 3
"""Of a name that is a number before a loop, the second round shows what it becomes, and the third that it stays so."""

MOST_STEPS = 40_000
"""Expressions that are looked at in one run; from then on each loop ends after its first rounds."""

MOST_RUNS = 12
"""Runs for each example, with the knowledge of earlier runs, and with decisions inverted."""

MOST_UNROLLED = 1_500
"""Operations on tensors in all rounds of a loop that is unrolled while a port is traced; one that would have more is
a loop of the graph. The first call then takes up to 20 s."""

CONDITION = 8
"""Operations that a condition of the graph counts for, besides those on its branches: tracing one takes 5 to 10 ms."""

GROWING = ("Mult", "Pow", "LShift")
"""Operators that make integers of more digits than those they are given have together."""


def observe(body: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> Observed:
    """Run a body on examples and return the observations of its expressions.

    Args:
        body: the user's function, or what stands around it and gives it its arguments.
        examples: arrays for its arguments.

    Raises:
        CannotPort: it fails on an example, or reads an array through one name after a write through another one.
    """
    runs = _Runs(body, examples)
    observed = runs.observed
    # A late finding, such as that a `break` depends on a value, also applies to what ran before.
    for _ in range(MOST_RUNS):
        observed.seen.clear()
        known = runs.knowledge()
        runs.run_all({})
        if runs.knowledge() == known:
            break
    for _ in range(MOST_RUNS):
        turned = runs.not_taken()
        if turned is None:
            break
        runs.run_all(turned, may_fail=True)
    for source, function in observed.functions.values():
        for node in ast.walk(function):
            if isinstance(node, ast.expr | ast.stmt) and number_of(node) in observed.stale:
                raise CannotPort(
                    f"`{ast.unparse(node)}` shares its memory with an array that was written to through another name",
                    fix="use .copy() where it gets its second name, numba_op, or keep the callback",
                    place=(source.path, node.lineno),
                )
    return observed


def definition_of(function: Any) -> tuple[Source, Function]:
    """Return the module that a function was extracted to and its definition there.

    Raises:
        CannotPort: it is none of its top level: a decorator has put another function in its place.
    """
    source, node = definitions.definition_of(function)
    if node not in source.tree.body:
        raise CannotPort(
            f"a decorator has replaced a function with `{function.__name__}`",
            fix="remove the decorator",
            place=(source.path, node.lineno),
        )
    return source, node


@dataclass
class _Loop:
    """One execution of a loop: its function, the conditions around it, and the operations before it."""

    number: int
    function: int
    level: int
    begun_at: int
    rounds: int = 0
    length: int | None = None
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)


class _Runs:
    """Runs of an instrumented copy of a body, which calls the methods below for its expressions and decisions."""

    def __init__(self, body: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> None:
        self.examples = examples
        self.observed = Observed()
        self.decided = self.observed.decided
        self.answers: dict[int, set[bool]] = {}
        # By decision: the answers that were forced when it was first reached.
        self.reached: dict[int, dict[int, bool]] = {}
        self.turned: set[int] = set()
        self.forced: dict[int, bool] = {}
        # By function and name: what the name is where ways meet.
        self.joined: dict[tuple[int, str], set[Seen]] = {}
        self.sizes: dict[tuple[int, str, int], tuple[int, ...]] = {}
        # By `id` of the array that owns the memory: what depends on an input in one run does so in all.
        self.outside: dict[int, tuple[Any, Memory]] = {}
        # Of one run.
        self.visited: set[tuple[int, str]] = set()
        self.example = self.steps = self.operations = 0
        self.is_off_course = False
        self.path = definition_of(unwrap(body))[0].path
        self.copy = instrument(body, self._watched, {SEE: self})

    def _watched(self, function: Any) -> tuple[str, ast.FunctionDef]:
        """Return the file of a function, and a definition of it that shows what each of its expressions is."""
        source, node = definition_of(function)
        self.observed.functions[number_of(node)] = source, node
        assert isinstance(node, ast.FunctionDef)  # as `definition_of` has it
        return source.path, watching(copy.deepcopy(node))

    def knowledge(self) -> tuple[int, ...]:
        """Return how much is known so far, to see whether more follows; no fact is ever dropped."""
        observed = self.observed
        left = [seen for names in observed.left.values() for seen in names.values()]
        types = sum(len({(one.dtype, one.weak, one.rank) for one in seen}) for seen in left)
        growing = sum(map(len, observed.growing.values()))
        return len(observed.decided), len(observed.joining), types, growing

    def not_taken(self) -> dict[int, bool] | None:
        """Return a decision with one answer so far, mapped to the other one, and the forced answers that lead to it."""
        for number, answers in self.answers.items():
            if len(answers) == 1 and number in self.decided and number not in self.turned:
                self.turned.add(number)
                return {**self.reached[number], number: not next(iter(answers))}
        return None

    def run_all(self, forced: dict[int, bool], *, may_fail: bool = False) -> None:
        """Run the body on all examples, with the answers of some decisions forced."""
        self.forced = forced
        for number, example in enumerate(self.examples):
            self.example, self.steps, self.operations, self.is_off_course = number, 0, 0, False
            self.visited.clear()
            for _, memory in self.outside.values():
                memory.writes.clear()
            CONTROL.begin(self.observed.stale)
            inputs = [depending(np.array(one)[()]) for one in example]
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.copy(*inputs)
            except Exception as error:  # the user's function may raise anything
                if may_fail or self.is_off_course:
                    continue
                frames = traceback.extract_tb(error.__traceback__)
                lines = [one.lineno for one in frames if one.filename == self.path and one.lineno]
                raise CannotPort(
                    f"the body fails on an example: {type(error).__name__}: {error}",
                    place=(self.path, lines[-1]) if lines else None,
                ) from error

    # Expressions.

    def see(self, number: int, value: Any) -> Any:
        """Note what an expression is."""
        self.steps += 1
        CONTROL.place = number
        if type(value) is np.ndarray:
            value = self._from_outside(value)
        seen = seen_as(value)
        self.operations += seen.kind == TENSOR
        self.observed.seen.setdefault(number, set()).add(seen)
        return value

    def _from_outside(self, array: Any) -> Any:
        """Return an array that no watched expression made; all views of one share its memory."""
        found, root = watched(array), owner_of(array)
        if isinstance(found, WatchedArray):
            _, found.memory = self.outside.setdefault(id(root), (root, found.memory))
            found.time = 0
        return found

    def read(self, number: int, value: Any) -> Any:
        """Return the value of a name; of an array, as an object of its own."""
        found = self.see(number, value)
        if isinstance(found, WatchedArray):  # the items of a list are checked where they are read
            check_stale(found)
        return renew(found, found)

    def hold(self, value: Any) -> Any:
        """Return the value of a name that is bound; of an array, as an object of its own."""
        if type(value) is tuple and not is_grown(value):
            return tuple(map(self.hold, value))
        return renew(self._from_outside(value) if type(value) is np.ndarray else value)

    def bound(self, function: int, name: str, value: Any) -> Any:
        """Return the value of a name that is assigned; of a number, as what the name is where ways meet."""
        if type(value) not in (bool, int, float, complex):
            return self.hold(value)
        joined = self.joined.get((function, name))
        return value if joined is None else settled(value, dtype_of({one for one in joined if one.weak is None}))

    def call(self, number: int, function: Any, /, *arguments: Any, **options: Any) -> Any:
        """Return what a call returns."""
        depth = CONTROL.depth
        CONTROL.place = number
        receiver = getattr(function, "__self__", None)
        if function is not len:
            check_stale(arguments, options, *([receiver] if isinstance(receiver, WatchedArray) else []))
        found = call(function, arguments, options)
        CONTROL.depth = depth
        return self.see(number, found)

    def item(self, number: int, value: Any, key: Any) -> Any:
        """Return `value[key]`."""
        found = value[key]
        if isinstance(value, list | tuple | dict) and depends(key):
            found = depending(found)
        if isinstance(value, WatchedArray) and isinstance(found, WatchedArray):
            found.holder = value.holder
            return self.see(number, found)
        return self.read(number, found)

    def attribute(self, number: int, value: Any, name: str) -> Any:
        """Return `value.name`."""
        found = attribute(value, name)
        return self.see(number, found) if isinstance(value, WatchedArray) else self.read(number, found)

    slice = staticmethod(slice)

    def derive(self, number: int, names: Sequence[str], *operands: Any) -> Any:
        """Return the result of an operator, or of a chain of comparisons."""
        check_stale(*operands)
        found = operated(OPERATORS[names[0]], *operands[:2])
        for name, pair in zip(names[1:], itertools.pairwise(operands[1:]), strict=True):
            if not found:
                break
            found = operated(OPERATORS[name], *pair)
        return self.see(number, self._derived(names[0], found, *operands))

    def augment(self, name: str, left: Any, right: Any) -> Any:
        """Return what an operator like `+=` makes of two values."""
        check_stale(left, right)
        function = OPERATORS[name]
        if not (isinstance(left, WatchedArray) and left.is_scalar):
            function = getattr(operator, f"i{function.__name__.strip('_')}")
        return self._derived(name, operated(function, renew(left), right), left, right)

    def _derived(self, name: str, found: Any, *operands: Any) -> Any:
        result = derived(found, *operands)
        if name in GROWING and isinstance(result, WatchedInt):
            self.observed.multiplies_integers = True
        return result

    def augment_item(self, name: str, value: Any, key: Any, right: Any) -> None:
        """Do `value[key] += right`, or as much by another operator."""
        check_stale(value, right)
        value[key] = self.augment(name, value[key], right)

    # Expressions that decide.

    def asked(self, number: int, value: Any, around: int) -> Any:
        """Return a value whose truth decides which operands of the expression around it are evaluated."""
        if not is_open(value):
            return value
        self.decided.update((number, around))
        answer = self._answered(number, answer=bool(value))
        return value if answer == bool(value) else answer

    def _answered(self, number: int, *, answer: bool) -> bool:
        """Note the answer of a decision, and return it, or the one that is forced."""
        self.answers.setdefault(number, set()).add(answer)
        self.reached.setdefault(number, dict(self.forced))
        forced = self.forced.get(number, answer)
        self.is_off_course = self.is_off_course or forced != answer
        return forced

    def over(self, iterable: Any, comprehension: int) -> Iterator[Any]:
        """Return what a comprehension goes over."""
        if length_depends(iterable):
            self.decided.add(comprehension)
        return self._items_over(iterable)

    def _items_over(self, iterable: Any) -> Iterator[Any]:
        for rounds, one in enumerate(iterable):
            if self._is_cut(rounds):
                return
            yield self.hold(one)

    def both(self, number: int, value: Any) -> Any:
        """Return the value of `and` or `or`."""
        return self.see(number, depending(value) if number in self.decided else value)

    def choice(self, number: int, level: int, value: Any) -> Any:
        """Return the value of `a if x else b`."""
        CONTROL.depth = level
        return self.see(number, self.after(number, -1, "value", value))

    # Statements that decide.

    def level(self) -> int:
        """Return the number of surrounding conditions."""
        return CONTROL.depth

    def decide(self, number: int, value: Any, loops: Sequence[int] = (), loop: int = -1) -> bool:
        """Return the truth of a condition; `loops` are those that end, or a round of `loop`, on one of the ways."""
        answer = bool(value)
        if is_open(value):
            self.decided.update((number, *loops))
        if number not in self.decided:
            return answer
        CONTROL.depth += 1
        self.operations += CONDITION
        if loop >= 0:
            self.observed.joining.add(loop)
        return self._answered(number, answer=answer)

    def behind(self, number: int, level: int, more: int) -> None:
        """End an `if`; `more` is 1 if what follows in the round of a loop is run on one of its ways only."""
        CONTROL.depth = level + more * (number in self.decided)

    def after(self, number: int, function: int, name: str, value: Any) -> Any:
        """Return the value of a name behind a statement."""
        return self._joined(number, function, name, value) if number in self.decided else value

    def loop(self, number: int, function: int, iterable: Any = None) -> _Loop:
        """Begin a loop."""
        loop = _Loop(number, function, CONTROL.depth, self.operations)
        if iterable is not None:
            loop.length = len(iterable) if hasattr(iterable, "__len__") else None
            if length_depends(iterable):
                self.decided.add(number)
        return loop

    def items(self, loop: _Loop, iterable: Any) -> Iterator[Any]:
        """Yield the elements that a loop goes over."""
        for one in self._items_over(iterable):
            yield depending(one) if loop.number in self.decided else one

    def again(self, loop: _Loop, value: Any) -> bool:
        """Return the truth of the condition of a loop."""
        answer = bool(value)
        if is_open(value):
            self.decided.add(loop.number)
            if self._answered(loop.number, answer=answer) and not loop.rounds:
                return True
        return answer and not self._is_cut(loop.rounds)

    def _is_cut(self, rounds: int) -> bool:
        is_cut = rounds >= FIRST_ROUNDS and self.steps > MOST_STEPS
        self.is_off_course = self.is_off_course or is_cut
        return is_cut

    def round(self, loop: _Loop) -> None:
        """Begin a round."""
        loop.rounds += 1
        CONTROL.depth = loop.level + (loop.number in self.decided)

    def carried(self, loop: _Loop, name: str, value: Any) -> Any:
        """Return the value of a name that is bound in a loop, at the begin of a round or behind the last one."""
        is_joined = loop.number in self.decided or loop.number in self.observed.joining
        return self._joined(loop.number, loop.function, name, value, loop) if is_joined else value

    def changed(self, loop: _Loop, value: Any) -> Any:
        """Return an array that is written to in a loop."""
        if loop.number in self.decided and isinstance(value, WatchedArray) and not value.is_scalar:
            value.memory.mark()
        return value

    def end(self, loop: _Loop) -> None:
        """End a loop."""
        CONTROL.depth = loop.level
        operations = self.operations - loop.begun_at
        rounds = max(loop.rounds, 1)
        if loop.number in self.decided:
            self.operations = loop.begun_at + operations // rounds
        elif max(loop.rounds, loop.length or 0) > FIRST_ROUNDS:
            length = max(loop.length or 0, rounds)
            if operations * (length / rounds) > MOST_UNROLLED:
                self.decided.add(loop.number)

    def leave(self, number: int, value: Any, statements: Sequence[int]) -> Any:
        """Return what a function returns; `statements` are those that a `return` is in."""
        check_stale(value)
        if self.decided.isdisjoint(statements):
            return value
        self.decided.add(number)
        if isinstance(value, tuple):
            return tuple(self._joined(number, number, f"return {at}", one) for at, one in enumerate(value))
        return self._joined(number, number, "return", value)

    def _joined(self, number: int, function: int, name: str, value: Any, loop: _Loop | None = None) -> Any:
        """Return the value of a name where ways meet, as what it is in all rounds and on all ways."""
        value = watched(value)
        seen, left = seen_as(value), self.observed.left.setdefault(number, {}).setdefault(name, set())
        left.add(seen)
        self.joined.setdefault((function, name), set()).add(seen)
        strong = {one.dtype for one in left if one.weak is None and one.kind in (TENSOR, ARRAY)}
        weak = {one.weak for one in left if one.kind in (TENSOR, NUMBER_KIND) and one.weak is not None}
        if not strong and weak == {int, float} and isinstance(value, int):
            value = float(plain(value))
        value = settled(value, next(iter(strong)) if len(strong) == 1 else "")
        if isinstance(value, WatchedArray) and value.ndim:
            self._note_sizes(number, name, value, loop)
            unknown = self.observed.growing.get((number, name), frozenset())
            if not unknown <= value.unknown:
                value = view_of(value, value.memory, unknown | value.unknown)
        return value

    def _note_sizes(self, number: int, name: str, value: WatchedArray, loop: _Loop | None) -> None:
        """Note the axes whose size differs between rounds, or between runs in which an `if` goes different ways."""
        sizes = np.shape(plain(value))
        if loop is not None:
            before, loop.sizes[name] = loop.sizes.get(name), sizes
        elif (number, name) in self.visited:
            return
        else:
            self.visited.add((number, name))
            before = self.sizes.setdefault((number, name, self.example), sizes)
        if before is not None and len(before) == len(sizes):
            changed = {axis for axis, size in enumerate(sizes) if size != before[axis]}
            growing = self.observed.growing
            growing[number, name] = growing.get((number, name), frozenset()) | changed | value.unknown
