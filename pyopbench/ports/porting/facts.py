"""What a port documents: its body, its inputs and outputs, and its gradient; and which inputs the body writes to."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import signal
import sys
import textwrap
import threading
import time
import trace
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.op import Op
from pyopbench.model.syntax import Function
from pyopbench.ports.arrays import as_array, as_given, body_outputs, dtype_of, read_only
from pyopbench.ports.porting.module_text import Units
from pyopbench.ports.porting.watched_values import METHODS, WRITING
from pyopbench.ports.porting.watching import output_of
from pyopbench.ports.rebinding import arrange, unwrap

WIDTH = 88
SEEDS = 3
"""Draws of each size, to see which sizes of a shape are always the same."""

PROBE_SECONDS, PROBES_SECONDS = 2.0, 5.0
"""How long one call of a body with inputs of other sizes may take, and all of them together, so that a slow body does
not hold up its port."""

DRAWN_SEEDS = 30
"""Seeds with which it is seen whether a size depends on what a body draws."""

WRITES = {*METHODS, *WRITING, "at"}
"""Names of methods and functions that write to an array."""

Axis: TypeAlias = tuple[int, int]
"""The position of an input, and an axis of it."""


@dataclass(frozen=True)
class Facts:
    """What is known of an op from its inputs and outputs on examples."""

    function: str
    """The name that the user's function has where it is defined."""
    file: str
    """The name of the file that it is in."""
    inputs: tuple[tuple[str, str, int], ...]
    """Name, dtype and rank of each."""
    outputs: tuple[tuple[str, tuple[Axis | None, ...]], ...]
    """The dtype of each, and for each of its axes the one of an input that always has the same size, or None."""
    differentiable: tuple[int, ...]
    """Positions of the inputs that have a gradient."""
    floating: tuple[int, ...]
    """Positions of the outputs that a gradient flows back through."""
    needs_sizes: bool = False
    """Do the sizes of its inputs have to be known where it is traced?"""


def examples_of(op: Op, sizes: int = 2, seeds: int = SEEDS) -> list[tuple[Any, ...]]:
    """Return inputs of the smallest sizes, several draws of each."""
    is_fixed = op.own is not None and op.own.fixed_sizes
    return [
        tuple(as_array(one) for one in op.make_inputs(size, op.dtypes[0], np.random.default_rng(seed)))
        for size in op.quick_sizes[:sizes]
        for seed in range(1 if is_fixed else seeds)
    ]


def facts_of(op: Op, function: str, names: Sequence[str], file: str) -> Facts:
    """Return what is known of an op whose body has the name `function` in a file; its `__name__` may be anything."""
    pairs = [(one, body_outputs(op.numpy, one)) for one in examples_of(op)]
    known = len(pairs)
    pairs += probed_examples(op, [one for one, _ in pairs], pairs[0][1])
    if op.own is not None and op.own.is_random:
        body = arrange(op.numpy, unwrap(op.numpy))  # without what seeds it
        for seed in range(DRAWN_SEEDS):
            np.random.seed(seed)  # noqa: NPY002 - what the body draws from
            pairs.append((pairs[0][0], body_outputs(body, pairs[0][0])))
    examples, returned = zip(*pairs, strict=True)
    inputs = tuple((name, dtype_of(one), one.ndim) for name, one in zip(names, examples[0], strict=True))
    outputs = tuple(
        (dtype_of(several[0]), _shape_of(several, examples, known)) for several in zip(*returned, strict=True)
    )
    # It is written into comments and docstrings: on one line and without quotes.
    plain = "".join(one if one.isprintable() and one not in '"\\' else f"\\u{ord(one):04x}" for one in file)
    return Facts(function, plain, inputs, outputs, op.differentiable, op.floating_outputs)


def probed_examples(
    op: Op, examples: Sequence[Sequence[Any]], outputs: Sequence[Any]
) -> list[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return further examples, with outputs, in which inputs have one element fewer or more along an axis.

    Example inputs are often square, or have other sizes in common by chance. If the body rejects an input that differs
    along one axis, the same axis of every input with that size is changed, or one other axis of that size too. Probing
    ends after `PROBES_SECONDS`.
    """
    sizes = _sizes(examples)
    found: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = []
    end = time.monotonic() + PROBES_SECONDS
    for at, change in itertools.product(sizes, (-1, 1)):
        equal = [other for other in sizes if sizes[other] == sizes[at]]
        tried = [{at}, {other for other in equal if other[1] == at[1]}, *({at, other} for other in equal)]
        for each in dict.fromkeys(map(frozenset, tried)):
            inputs = _resized(examples[0], dict.fromkeys(each, sizes[at][0] + change))
            returned = _outputs_before(op, inputs, end)
            if returned is not None:
                if [one.ndim for one in returned] == [one.ndim for one in outputs]:
                    found.append((inputs, returned))
                break
    return found


def smaller_examples(op: Op, examples: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return further inputs that the body takes: a half, a quarter and a sixteenth of the elements of an example.

    They are fewer along all axes of one size.
    """
    sizes = {at: several[0] for at, several in _sizes(examples).items()}
    end = time.monotonic() + PROBES_SECONDS
    resized = [
        _resized(examples[0], {at: smaller for at in sizes if sizes[at] == size})
        for size in dict.fromkeys(sizes.values())
        for smaller in sorted({-(-size // divisor) for divisor in (2, 4, 16)} - {size}, reverse=True)
    ]
    return [inputs for inputs in resized if _outputs_before(op, inputs, end) is not None]


def _sizes(examples: Sequence[Sequence[Any]]) -> dict[Axis, tuple[int, ...]]:
    """Return the sizes in all examples of each axis of the inputs."""
    axes = [(place, axis) for place, one in enumerate(examples[0]) for axis in range(np.ndim(one))]
    return {(place, axis): tuple(np.shape(one[place])[axis] for one in examples) for place, axis in axes}


def _resized(example: Sequence[Any], sizes: Mapping[Axis, int]) -> tuple[Any, ...]:
    """Return inputs of other sizes: without the last elements, or with the last one repeated.

    Empty if an axis is or would be empty.
    """
    inputs = list(example)
    for (place, axis), size in sizes.items():
        array = np.asarray(inputs[place])
        if not array.shape[axis] or size < 1:
            return ()
        inputs[place] = np.take(array, np.minimum(range(size), array.shape[axis] - 1), axis)
    return tuple(inputs)


class TooLong(BaseException):
    """A call took too long. Not an `Exception`: the body might catch it."""


def _outputs_before(op: Op, inputs: Sequence[Any], end: float) -> tuple[Any, ...] | None:
    """Return what a body returns for inputs; None if there are none, or if it raises, exits, or takes too long.

    Only the main thread can be interrupted; in any other one, the body is not called.
    """
    seconds = min(PROBE_SECONDS, end - time.monotonic())
    if not inputs or seconds <= 0 or threading.current_thread() is not threading.main_thread():
        return None

    def interrupt(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                return body_outputs(op.numpy, inputs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)  # which the alarm may come before
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever the body does with what it does not take: it may also exit
        return None
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL if before is None else before)


def _shape_of(outputs: Sequence[Any], examples: Sequence[Sequence[Any]], known: int) -> tuple[Axis | None, ...]:
    if len({one.ndim for one in outputs}) > 1:
        return ()
    return tuple(_axis_of([one.shape[axis] for one in outputs], examples, known) for axis in range(outputs[0].ndim))


def _axis_of(sizes: Sequence[int], examples: Sequence[Sequence[Any]], known: int) -> Axis | None:
    """Return the axis that always has the size of an output, where examples of several sizes, `known` many, show it."""
    if len(set(sizes[:known])) < 2:
        return None  # it may be that by chance
    return next((at for at, others in _sizes(examples).items() if others == tuple(sizes)), None)


def written_inputs(body: Callable[..., Any], examples: Sequence[Sequence[Any]], units: Units) -> list[int]:
    """Return the positions of the inputs that a body may write to.

    For the examples, the body is run on read-only arrays; a write then fails even if its mask is false everywhere. A
    body that writes to anything, and has code that no example reaches, may write to all of them.
    """
    functions = [unit.node for unit in units.in_order() if isinstance(unit.node, Function | ast.ClassDef)]
    inside = [node for one in functions for node in ast.walk(one) if node is not one]
    places = range(len(examples[0]))
    if any(map(_writes, inside)) and not _are_run(body, examples, inside, units.source.path):
        return list(places)

    def is_written(place: int, example: Sequence[Any]) -> bool:
        others = as_given(example)
        return writes_to_arrays(lambda one: body(*others[:place], one, *others[place + 1 :]), [example[place]])

    return [place for place in places if any(is_written(place, one) for one in examples)]


def _writes(node: ast.AST) -> bool:
    """May a node write to an array?"""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        is_uncopied = any(one.arg == "copy" and getattr(one.value, "value", None) is False for one in node.keywords)
        return name in WRITES or is_uncopied or output_of(node) is not None
    return isinstance(node, ast.AugAssign)


def _are_run(body: Callable[..., Any], examples: Sequence[Sequence[Any]], nodes: Sequence[ast.AST], path: str) -> bool:
    """Do the examples reach all statements of functions, and is no expression of them one array or another?"""
    tests = {id(one) for node in nodes for one in ast.walk(getattr(node, "test", None) or ast.Pass())}
    if any(
        isinstance(node, ast.Lambda)
        or (isinstance(node, ast.IfExp | ast.BoolOp) and id(node) not in tests)
        or getattr(node, "ifs", None)
        for node in nodes
    ):
        return False
    tracer, before = trace.Trace(count=True, trace=False), sys.gettrace()
    for example in examples:
        with contextlib.suppress(Exception):  # the body is the user's own
            tracer.runfunc(body, *as_given(example))
    sys.settrace(before)
    lines = {line for file, line in tracer.results().counts if file == path}
    return all(node.lineno in lines or not _may_pass_on(node) for node in nodes if isinstance(node, ast.stmt))


def _may_pass_on(node: ast.stmt) -> bool:
    """May a statement write to an array, give it another name, or pass it to a function of the user's?"""
    if isinstance(node, ast.Expr | ast.Return):
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        return any(isinstance(one.func, ast.Name) or _writes(one) for one in calls)
    return not isinstance(node, ast.Raise | ast.Global | ast.Nonlocal | ast.Pass | ast.Continue | ast.Break)


def writes_to_arrays(function: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    """Does a function of arrays fail only if it cannot write to them?"""
    return _fails(function, read_only(arrays)) and not _fails(function, as_given(arrays))


def _fails(function: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    try:
        function(*arrays)
    except Exception:  # noqa: BLE001 - the body is the user's own
        return True
    return False


def filled(paragraph: str) -> str:
    """Return a paragraph of a docstring in lines."""
    return textwrap.fill(paragraph, WIDTH - 4)


def docstring(summary: str, facts: Facts, how: str, notes: Sequence[str]) -> str:
    """Return what the docstring of a port says, with its quotes, indented by four.

    Args:
        summary: what the user's docstring says; empty if there is none.
        facts: what it takes and returns.
        how: the sentence that says what it is.
        notes: further paragraphs.
    """
    parts = [one for one in (summary.strip(), *map(filled, (how, *notes))) if one]
    arguments = [f"    {name}: {_described(dtype, rank)}" for name, dtype, rank in facts.inputs]
    returned = [f"    {_described(dtype, len(shape))}" for dtype, shape in facts.outputs]
    parts += ["\n".join(["Args:", *arguments]), "\n".join(["Returns:", *returned])]
    text = "\n\n".join(parts).replace("\\", "\\\\").replace('"""', "'''")
    return textwrap.indent(f'"""{text}\n"""', "    ", lambda line: bool(line.strip())).lstrip()


def _described(dtype: str, rank: int) -> str:
    axes = {0: "a number", 1: "a vector", 2: "a matrix"}.get(rank, f"with {rank} axes")
    return f"{dtype} tensor, {axes}."
