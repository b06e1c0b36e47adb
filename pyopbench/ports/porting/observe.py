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

from pyopbench.model.syntax import NUMBER, Function, Source, number_of
from pyopbench.ports.arrays import name_of
from pyopbench.ports.extract import definitions
from pyopbench.ports.extract.module import extracted_at
from pyopbench.ports.porting.memory import Memory, owner_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.watched_calls import call
from pyopbench.ports.porting.watched_values import (
    CONTROL,
    WatchedArray,
    WatchedNumber,
    attribute,
    check_stale,
    depending,
    depends,
    derived,
    grow,
    is_grown,
    is_open,
    length_depends,
    operated,
    plain,
    renew,
    settled,
    view_of,
    watched,
)
from pyopbench.ports.porting.watching import SEE, watching
from pyopbench.ports.rebinding import instrument, unwrap

TENSOR, ARRAY, NUMBER_KIND, SEQUENCE, OTHER = "tensor", "array", "number", "sequence", "other"

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


@dataclass(frozen=True)
class Seen:
    """What an expression was: a `tensor` if it depends on an input, else `array`, `number`, `sequence` or `other`."""

    kind: str
    dtype: str = ""
    """NumPy's name of it, of tensors and arrays; of a sequence that of its items if they are of one."""
    rank: int = 0
    weak: type | None = None
    """The type of Python's number that it stands for."""
    shape: tuple[int | None, ...] = ()
    """Of a tensor, with None for what only the graph knows."""
    holds_tensors: bool = False
    is_negative: bool = False
    """Is an element of an array or number below 0?"""
    common: str = ""
    """Of a sequence, the dtype of an array of its items; empty if it is not known."""
    is_point: bool = False
    """Is it a tuple of integers or arrays of integers, which as a key is one index for each axis?"""


Place = tuple[str, int]
"""File of a node, and its number there."""


@dataclass
class Observed:
    """The observations of the expressions of a body and its helpers, by file and number of the node."""

    seen: dict[Place, set[Seen]] = field(default_factory=dict)
    functions: dict[Place, tuple[Source, Function]] = field(default_factory=dict)
    """The definitions that were called, with their files."""
    decided: set[Place] = field(default_factory=set)
    """Statements and expressions whose branch depends on values, and loops that are too long to be unrolled."""
    joining: set[Place] = field(default_factory=set)
    """Loops in which a `continue` that depends on values may end a round early."""
    left: dict[Place, dict[str, set[Seen]]] = field(default_factory=dict)
    """What names are after such a statement, and at the ends of its rounds; of a function, also what it returns."""
    growing: dict[tuple[Place, str], frozenset[int]] = field(default_factory=dict)
    """Axes of such names whose size changes from round to round."""
    stale: set[Place] = field(default_factory=set)
    """Reads of arrays that have other values in a port: it bound only one of several names to what was written."""

    def of(self, source: Source, node: ast.AST) -> set[Seen]:
        """Return what an expression was; nothing if it was never evaluated."""
        return self.seen.get((source.path, number_of(node)), set())

    def decides(self, source: Source, node: ast.AST) -> bool:
        """Does the branch that a statement or an expression takes depend on values?"""
        return (source.path, number_of(node)) in self.decided

    def joins(self, source: Source, node: ast.AST) -> bool:
        """Does a statement, or a round of a loop, leave tensors because values decide what it does?"""
        place = (source.path, number_of(node))
        return place in self.decided or place in self.joining

    def leaves(self, source: Source, node: ast.AST) -> dict[str, set[Seen]]:
        """Return what the names are that a statement leaves."""
        return self.left.get((source.path, number_of(node)), {})

    def grows(self, source: Source, node: ast.AST, name: str) -> frozenset[int]:
        """Return the axes of a name whose size changes in a loop."""
        return self.growing.get(((source.path, number_of(node)), name), frozenset())


def refuse_stale(observed: Observed) -> None:
    """Refuse a body that reads an array through one name after a write through another one."""
    places = observed.stale
    for source, function in observed.functions.values():
        for node in ast.walk(function):
            if isinstance(node, ast.expr | ast.stmt) and (source.path, getattr(node, NUMBER, None)) in places:
                raise CannotPort(
                    f"`{ast.unparse(node)}` shares its memory with an array that was written to through another name",
                    fix="use .copy() where it gets its second name, numba_op, or keep the callback",
                    place=(source.path, node.lineno),
                )


GROWING = (ast.Mult, ast.Pow, ast.LShift)
"""Operators that make integers of more digits than those they are given have together."""


def multiplies_integers(observed: Observed) -> bool:
    """Is a product or a power of Python's integers computed from an input, which has 64 bits in a port?"""
    for source, function in observed.functions.values():
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, GROWING):
                made = observed.of(source, node if isinstance(node, ast.BinOp) else node.target)
                if any(one.kind == TENSOR and one.weak is int for one in made):
                    return True
    return False


def observe(body: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> Observed:
    """Run a body on examples and return the observations of its expressions.

    Args:
        body: the user's function, or what stands around it and gives it its arguments.
        examples: arrays for its arguments.
    """
    definition_of(unwrap(body))
    observed = Observed()
    runs = _Runs(body, examples, observed)
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
    return observed


class _Runs:
    """Runs of a watched copy of a body."""

    def __init__(self, body: Callable[..., Any], examples: Sequence[Sequence[Any]], observed: Observed) -> None:
        self.examples = examples
        self.observed = observed
        self.answers: dict[Place, set[bool]] = {}
        # By decision: the answers that were forced when it was first reached.
        self.reached: dict[Place, dict[Place, bool]] = {}
        self.turned: set[Place] = set()
        self.outside: dict[int, tuple[Any, Memory]] = {}
        self.sizes: dict[tuple[Place, str, int], tuple[int, ...]] = {}
        self.visited: set[tuple[Place, str]] = set()
        self.steps = self.operations = 0
        self.example = 0
        self.forced: dict[Place, bool] = {}
        self.is_off_course = False
        self.names: dict[Place, dict[str, str]] = {}
        self.copy = instrument(body, self._watched, {SEE: _Watcher(self, unwrap(body).__code__.co_filename)})

    def _watched(self, function: Any) -> tuple[str, ast.FunctionDef]:
        """Return the file of a function, and a definition of it that shows what each of its expressions is."""
        source, node = definition_of(function)
        self.observed.functions[source.path, number_of(node)] = source, node
        assert isinstance(node, ast.FunctionDef)  # as `definition_of` has it
        return source.path, watching(copy.deepcopy(node))

    def knowledge(self) -> tuple[int, ...]:
        """Return how much is known so far, to see whether more follows; no fact is ever dropped."""
        observed = self.observed
        left = [seen for names in observed.left.values() for seen in names.values()]
        types = sum(len({(one.dtype, one.weak, one.rank) for one in seen}) for seen in left)
        growing = sum(map(len, observed.growing.values()))
        return len(observed.decided), len(observed.joining), types, growing

    def joined_names(self, path: str, function: int) -> dict[str, str]:
        """Return the names of a function that are tensors where ways meet, with their dtypes if they are known."""
        if (path, function) not in self.names:
            source, node = self.observed.functions.get((path, function), (None, None))
            if source is None or node is None:
                return {}
            found: dict[str, set[Seen]] = {}
            for one in ast.walk(node):
                if isinstance(one, ast.If | ast.For | ast.While) and self.observed.joins(source, one):
                    for name, seen in self.observed.leaves(source, one).items():
                        found.setdefault(name, set()).update(seen)
            self.names[path, function] = {
                name: dtype_of({one for one in seen if one.weak is None}) for name, seen in found.items()
            }
        return self.names[path, function]

    def note_answer(self, place: Place, *, answer: bool) -> None:
        """Note the answer of a decision."""
        self.answers.setdefault(place, set()).add(answer)
        self.reached.setdefault(place, dict(self.forced))

    def not_taken(self) -> dict[Place, bool] | None:
        """Return a decision with one answer so far, mapped to the other one, and the forced answers that lead to it."""
        for place, answers in self.answers.items():
            if len(answers) == 1 and place in self.observed.decided and place not in self.turned:
                self.turned.add(place)
                return {**self.reached[place], place: not next(iter(answers))}
        return None

    def run_all(self, forced: dict[Place, bool], *, may_fail: bool = False) -> None:
        """Run the body on all examples, with the answers of some decisions forced."""
        self.forced = forced
        self.names.clear()
        for number, example in enumerate(self.examples):
            self.example = number
            error = self._run(example)
            if error is not None and not may_fail and not self.is_off_course:
                raise CannotPort(
                    f"the body fails on an example: {type(error).__name__}: {error}", place=_place_of(error)
                ) from error

    def _run(self, example: Sequence[Any]) -> Exception | None:
        self.steps = self.operations = 0
        self.is_off_course = False
        self.visited.clear()
        CONTROL.clear()
        for _, memory in self.outside.values():
            memory.writes.clear()
        inputs = [depending(np.array(one)[()]) for one in example]
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.copy(*inputs)
        except Exception as error:  # noqa: BLE001 - the user's function may raise anything
            return error
        finally:
            self.observed.stale |= CONTROL.stale
            CONTROL.clear()
        return None


def _place_of(error: Exception) -> Place | None:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_of_user = extracted_at(frame.filename) is not None or definitions.is_file_of_user(frame.filename)
        if is_of_user and frame.lineno:
            return frame.filename, frame.lineno
    return None


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
    """One execution of a loop: the conditions around it, and the operations before it."""

    place: Place
    level: int
    begun_at: int
    rounds: int = 0
    length: int | None = None
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)


class _Watcher:
    """The object that the copies of the functions of a file call."""

    def __init__(self, runs: _Runs, path: str) -> None:
        self.runs = runs
        self.path = path

    # Expressions.

    def see(self, number: int, value: Any) -> Any:
        """Note what an expression is."""
        runs = self.runs
        runs.steps += 1
        CONTROL.place = (self.path, number)
        if type(value) is np.ndarray:
            value = self._from_outside(value)
        seen = seen_as(value)
        if seen.kind == TENSOR:
            runs.operations += 1
        runs.observed.seen.setdefault((self.path, number), set()).add(seen)
        return value

    def _from_outside(self, array: Any) -> Any:
        root = owner_of(array)
        found = watched(array)
        if isinstance(found, WatchedArray):
            _, found.memory = self.runs.outside.setdefault(id(root), (root, found.memory))
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

    def call(self, number: int, function: Any, /, *arguments: Any, **options: Any) -> Any:
        """Return what a call returns."""
        depth = CONTROL.depth
        CONTROL.place = (self.path, number)
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
        if isinstance(value, list) and isinstance(key, slice) and (is_grown(value) or depends(key)):
            grow(found)
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
        if len(operands) == 1:
            return self.see(number, derived(operated(OPERATORS[names[0]], *operands), *operands))
        for name, pair in zip(names, itertools.pairwise(operands), strict=True):
            found = operated(OPERATORS[name], *pair)
            if len(names) > 1 and not found:
                break
        return self.see(number, derived(found, *operands))

    def augment(self, name: str, left: Any, right: Any) -> Any:
        """Return what an operator like `+=` makes of two values."""
        check_stale(left, right)
        is_scalar = isinstance(left, WatchedArray) and left.is_scalar
        return derived(operated((OPERATORS if is_scalar else IN_PLACE)[name], renew(left), right), left, right)

    def augment_item(self, name: str, value: Any, key: Any, right: Any) -> None:
        """Do `value[key] += right`, or as much by another operator."""
        check_stale(value, right)
        value[key] = self.augment(name, value[key], right)

    def bound(self, function: int, name: str, value: Any) -> Any:
        """Return a number that is bound to a name that is a tensor where ways meet."""
        if type(value) not in (bool, int, float, complex):
            return self.hold(value)
        joined = self.runs.joined_names(self.path, function).get(name)
        return settled(value, joined or None) if joined is not None else value

    # Expressions that decide.

    def asked(self, number: int, value: Any, around: int) -> Any:
        """Return a value whose truth decides which operands of the expression around it are evaluated."""
        if not is_open(value):
            return value
        place = (self.path, number)
        self.runs.observed.decided.update((place, (self.path, around)))
        self.runs.note_answer(place, answer=bool(value))
        if place in self.runs.forced:
            self.runs.is_off_course = True
            return self.runs.forced[place]
        return value

    def over(self, iterable: Any, comprehension: int) -> Iterator[Any]:
        """Return what a comprehension goes over."""
        if length_depends(iterable):
            self.runs.observed.decided.add((self.path, comprehension))
        return self._items_over(iterable)

    def _items_over(self, iterable: Any) -> Iterator[Any]:
        for rounds, one in enumerate(iterable):
            if self._is_cut(rounds):
                return
            yield self.hold(one)

    def both(self, number: int, value: Any) -> Any:
        """Return the value of `and` or `or`."""
        is_decided = (self.path, number) in self.runs.observed.decided
        return self.see(number, depending(value) if is_decided else value)

    def choice(self, number: int, level: int, value: Any) -> Any:
        """Return the value of `a if x else b`."""
        CONTROL.depth = level
        if (self.path, number) in self.runs.observed.decided:
            value = self._joined((self.path, number), "value", value)
        return self.see(number, value)

    # Statements that decide.

    def level(self) -> int:
        """Return the number of surrounding conditions."""
        return CONTROL.depth

    def decide(self, number: int, value: Any, loops: Sequence[int] = (), loop: int = -1) -> bool:
        """Return the truth of a condition; `loops` are those that end, or a round of `loop`, on one of the ways."""
        runs, place = self.runs, (self.path, number)
        answer = bool(value)
        if is_open(value):
            runs.observed.decided.add(place)
            runs.observed.decided.update((self.path, one) for one in loops)
        if place in runs.observed.decided:
            CONTROL.depth += 1
            runs.operations += CONDITION
            if loop >= 0:
                runs.observed.joining.add((self.path, loop))
            runs.note_answer(place, answer=answer)
            if place in runs.forced:
                runs.is_off_course = runs.is_off_course or runs.forced[place] != answer
                return runs.forced[place]
        return answer

    def behind(self, number: int, level: int, more: int) -> None:
        """End an `if`; `more` is 1 if what follows in the round of a loop is run on one of its ways only."""
        CONTROL.depth = level + more * ((self.path, number) in self.runs.observed.decided)

    def after(self, number: int, name: str, value: Any) -> Any:
        """Return the value of a name behind a statement."""
        place = (self.path, number)
        return self._joined(place, name, value) if place in self.runs.observed.decided else value

    def loop(self, number: int, iterable: Any = None) -> _Loop:
        """Begin a loop."""
        loop = _Loop((self.path, number), CONTROL.depth, self.runs.operations)
        if iterable is not None:
            loop.length = len(iterable) if hasattr(iterable, "__len__") else None
            if length_depends(iterable):
                self.runs.observed.decided.add(loop.place)
        return loop

    def items(self, loop: _Loop, iterable: Any) -> Iterator[Any]:
        """Yield the elements that a loop goes over."""
        for one in iterable:
            if self._is_cut(loop.rounds):
                return
            yield self.hold(depending(one) if loop.place in self.runs.observed.decided else one)

    def again(self, loop: _Loop, value: Any) -> bool:
        """Return the truth of the condition of a loop."""
        runs = self.runs
        answer = bool(value)
        if is_open(value):
            runs.observed.decided.add(loop.place)
            runs.note_answer(loop.place, answer=answer)
            if not answer and not loop.rounds and runs.forced.get(loop.place):
                runs.is_off_course = True
                return True
        return answer and not self._is_cut(loop.rounds)

    def _is_cut(self, rounds: int) -> bool:
        if rounds >= FIRST_ROUNDS and self.runs.steps > MOST_STEPS:
            self.runs.is_off_course = True
            return True
        return False

    def round(self, loop: _Loop) -> None:
        """Begin a round."""
        loop.rounds += 1
        CONTROL.depth = loop.level + (loop.place in self.runs.observed.decided)

    def carried(self, loop: _Loop, name: str, value: Any) -> Any:
        """Return the value of a name that is bound in a loop, at the begin of a round or behind the last one."""
        is_joined = loop.place in self.runs.observed.decided or loop.place in self.runs.observed.joining
        return self._joined(loop.place, name, value, loop) if is_joined else value

    def changed(self, loop: _Loop, value: Any) -> Any:
        """Return an array that is written to in a loop."""
        if loop.place in self.runs.observed.decided and isinstance(value, WatchedArray) and not value.is_scalar:
            value.memory.mark()
        return value

    def end(self, loop: _Loop) -> None:
        """End a loop."""
        runs = self.runs
        CONTROL.depth = loop.level
        operations = runs.operations - loop.begun_at
        rounds = max(loop.rounds, 1)
        if loop.place in runs.observed.decided:
            runs.operations = loop.begun_at + operations // rounds
        elif loop.rounds > FIRST_ROUNDS or (loop.length or 0) > FIRST_ROUNDS:
            length = max(loop.length or 0, rounds)
            if operations * (length / rounds) > MOST_UNROLLED:
                runs.observed.decided.add(loop.place)

    def leave(self, number: int, value: Any, statements: Sequence[int]) -> Any:
        """Return what a function returns; `statements` are those that a `return` is in."""
        check_stale(value)
        if not any((self.path, one) in self.runs.observed.decided for one in statements):
            return value
        place = (self.path, number)
        self.runs.observed.decided.add(place)
        if isinstance(value, tuple):
            return tuple(self._joined(place, f"return {at}", one) for at, one in enumerate(value))
        return self._joined(place, "return", value)

    def _joined(self, place: Place, name: str, value: Any, loop: _Loop | None = None) -> Any:
        """Return the value of a name where ways meet, as what it is in all rounds and on all ways."""
        observed = self.runs.observed
        value = watched(value)
        found = observed.left.setdefault(place, {}).setdefault(name, set())
        found.add(seen_as(value))
        strong = {one.dtype for one in found if one.weak is None and one.kind in (TENSOR, ARRAY)}
        weak = {one.weak for one in found if one.kind in (TENSOR, NUMBER_KIND) and one.weak is not None}
        if not strong and weak == {int, float} and isinstance(value, int):
            value = float(plain(value))
        value = settled(value, next(iter(strong)) if len(strong) == 1 else None)
        if isinstance(value, WatchedArray) and value.ndim:
            self._note_sizes(place, name, value, loop)
            unknown = observed.growing.get((place, name), frozenset())
            if not unknown <= value.unknown:
                value = view_of(value, value.memory, frozenset(unknown | value.unknown))
        return value

    def _note_sizes(self, place: Place, name: str, value: WatchedArray, loop: _Loop | None) -> None:
        """Note the axes whose size differs between rounds, or between runs in which an `if` goes different ways."""
        runs, sizes = self.runs, np.shape(plain(value))
        if loop is not None:
            before, loop.sizes[name] = loop.sizes.get(name), sizes
        elif (place, name) in runs.visited:
            return
        else:
            runs.visited.add((place, name))
            before = runs.sizes.setdefault((place, name, runs.example), sizes)
        if before is not None and len(before) == len(sizes):
            changed = {axis for axis, size in enumerate(sizes) if size != before[axis]}
            known = runs.observed.growing.get((place, name), frozenset())
            runs.observed.growing[place, name] = known | changed | value.unknown


def _contains(value: Any, several: Any) -> bool:
    return plain(value) in (several if isinstance(several, set | frozenset | dict) else plain(several))


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "MatMult": operator.matmul, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "In": _contains,
    "NotIn": lambda value, several: not _contains(value, several),
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert, "Not": operator.not_,
}  # fmt: skip
IN_PLACE: dict[str, Callable[..., Any]] = {
    name: getattr(operator, f"i{function.__name__.strip('_')}")
    for name, function in OPERATORS.items()
    if issubclass(getattr(ast, name), ast.operator)
}

BY_WIDTH = (complex, float, int, bool)
"""Types of Python's numbers; what is one or another becomes the first."""


def dtype_of(seen: set[Seen]) -> str:
    """Return the dtype of what is one thing or another; empty for what is no tensor, or of several dtypes."""
    strong = {one.dtype for one in seen if one.weak is None and one.kind in (TENSOR, ARRAY)}
    weak = {one.weak for one in seen if one.kind in (TENSOR, NUMBER_KIND) and one.weak is not None}
    if len(strong) == 1:
        (found,) = strong
        return "" if float in weak and found.startswith(("int", "uint", "bool")) else found
    kind = next((one for one in BY_WIDTH if one in weak), None)
    return np.dtype(kind).name if kind and not strong else ""


# Values.


def seen_as(value: Any) -> Seen:
    """Return the kind of a value."""
    if isinstance(value, WatchedArray):
        if value.depends:
            return Seen(TENSOR, name_of(value.dtype), value.ndim, None, value.static_shape)
        value = value.view(np.ndarray)
    if isinstance(value, WatchedNumber):
        return Seen(TENSOR, name_of(np.dtype(value.weak)), 0, value.weak)
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        dtype = value.dtype
        negative = dtype.kind in "if" and value.size > 0 and bool(np.min(value) < 0)
        return Seen(ARRAY, name_of(dtype), value.ndim, shape=value.shape, is_negative=negative)
    if isinstance(value, bool | int | float | complex):
        negative = not isinstance(value, complex) and value < 0
        return Seen(NUMBER_KIND, weak=type(value), is_negative=negative)
    if isinstance(value, list | tuple):
        return _sequence(value)
    return Seen(OTHER)


MOST_ITEMS = 50
"""Items of a sequence that are looked at."""


def _sequence(value: Any) -> Seen:
    items = {seen_as(one) for one in value[:MOST_ITEMS]}
    dtypes = {one.dtype for one in items if one.dtype}
    ranks = {one.rank for one in items}
    weak = {one.weak for one in items}
    # Not only a number of NumPy's, but also one of Python's has a dtype of its own in a list: int64 or float64.
    several = {
        one.common if one.kind == SEQUENCE else one.dtype or (name_of(np.dtype(one.weak)) if one.weak else "")
        for one in items
    }
    common = "" if "" in several or not several else np.result_type(*several).name
    is_of_one = len(dtypes) == 1 and not dtypes - several and len(several) == 1
    return Seen(
        SEQUENCE,
        dtypes.pop() if is_of_one or (len(dtypes) == 1 and not common) else "",
        1 + max(ranks, default=0),
        weak.pop() if len(weak) == 1 else None,
        holds_tensors=depends(value),
        is_negative=any(one.is_negative for one in items),
        common=common,
        is_point=isinstance(value, tuple) and bool(items) and all(map(_is_index, items)),
    )


def _is_index(one: Seen) -> bool:
    return one.kind in (TENSOR, ARRAY, NUMBER_KIND) and (one.weak is int if not one.dtype else "int" in one.dtype)
