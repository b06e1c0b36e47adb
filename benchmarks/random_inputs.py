"""Compare ports of the bodies of `examples/corpus/` with them, on random inputs.

    python benchmarks/random_inputs.py                      # every body, 200 inputs each, with the port `traced`
    python benchmarks/random_inputs.py dice losses --examples 50 --variant numba_op

Values may be NaN, equal, zero, infinite or large, and there may be none at all. A port may raise where its body does
not; it must never return something else. Gradients are compared too, where inputs and outputs are finite: with the
gradient by hand, or with differences. A difference counts apart where the body's own result changes as much when its
inputs move by a few roundings: the order of equal elements, the signs of singular vectors, the rest of a difference
that cancels. Exit codes: 0 no port is wrong, 1 one is, 2 bad usage.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from corpus import find_bodies
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import WrongResult, describe_error
from pyopbench.model.op import Op
from pyopbench.model.own_target import read_target
from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_variants, make_inputs
from pyopbench.ops.own.explain import explain
from pyopbench.ops.own.load import load_own
from pyopbench.ports.arrays import as_array, as_given, as_tuple
from pyopbench.worker.prepare.checks import (
    Reference,
    check_gradients,
    check_values,
    dense,
    make_reference,
    require_equal,
)
from pyopbench.worker.prepare.gradient_check import difference_error
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap
from tally import new_parser

Arrays: TypeAlias = Sequence[Any]

SHOWN = 3
"""How many inputs are printed for each body."""

SMALL_SIZES = (0, 1, 2, 3)
"""Sizes that are drawn in addition to the smallest one of the body; each shape is traced once, which takes seconds."""

MOST_DIFFERENCES = 25
"""On how many inputs a gradient is compared with differences, which take two calls for each element."""

MOVES = 24
"""How often inputs are moved by roundings. Each of two that are equal comes first in half of them."""

ROUNDINGS = 4
"""By how many roundings an element is moved at most: as much as a few steps of arithmetic lose."""


def _everywhere(array: Any, rng: np.random.Generator, value: float) -> Any:
    where = rng.random(array.shape) < 0.3
    return np.where(where, np.asarray(value, array.dtype), array)


def _tied(array: Any, rng: np.random.Generator) -> Any:
    return rng.choice(array.ravel()[:2], array.shape) if array.size else array


CHANGES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "as drawn": lambda array, rng: array,
    "ties": _tied,
    "all equal": lambda array, rng: np.full_like(array, array.ravel()[0]) if array.size else array,
    "zeros": lambda array, rng: _everywhere(array, rng, 0),
    "NaN": lambda array, rng: _everywhere(array, rng, np.nan),
    "infinite": lambda array, rng: _everywhere(array, rng, rng.choice([np.inf, -np.inf])),
    "negative": lambda array, rng: -array,
    "large": lambda array, rng: array * np.asarray(1e3, array.dtype),
}
"""The changes of an input of floats. One of integers is often an index: it stays as drawn, or has ties."""

OF_INTEGERS = ("as drawn", "ties", "all equal")


@dataclass
class Tally:
    """What became of the inputs of a body.

    Attributes:
        equal: how often the port gave what the body did.
        refused: how often the body raised, so that there was nothing to compare.
        gradients: how often the gradient of the port was the body's too.
        raised: how often only the port raised: on which inputs, and what.
        left_open: where it gave something else, and so does the body when its inputs move by a few roundings.
        wrong: where it gave something else.
    """

    equal: int = 0
    refused: int = 0
    gradients: int = 0
    raised: list[str] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Compare what was asked for; return the exit code."""
    parser = new_parser(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="bodies or families; all if none is named")
    parser.add_argument("--examples", type=int, default=200, help="inputs for each body (200)")
    parser.add_argument("--variant", default="traced", help="the port (traced)")
    options = parser.parse_args(arguments)
    tf.get_logger().setLevel("ERROR")
    np.seterr(all="ignore")
    is_wrong = False
    for name, path in find_bodies(options.names).items():
        began = time.monotonic()
        op = load_own(read_target(str(path), [], []))
        try:
            found: Tally | str = compare_port(op, load_variants()[options.variant], options.examples)
        except Exception as error:  # noqa: BLE001 - a body that nobody wrote for this port may raise anything
            found = explain(error, op)
        print(f"{path.parent.name}/{name}: {_text(found)} ({time.monotonic() - began:.0f} s)", flush=True)
        is_wrong |= isinstance(found, Tally) and bool(found.wrong)
    return 1 if is_wrong else 0


def _text(found: Tally | str) -> str:
    if isinstance(found, str):
        return found
    parts = [f"{found.equal} equal, {found.gradients} gradients equal, {found.refused} refused by the body"]
    several_of = {"raised": found.raised, "left open by the body": found.left_open, "WRONG": found.wrong}
    for what, several in several_of.items():
        if several:
            shown = "".join(f"\n    {one}" for one in several[:SHOWN])
            parts.append(f"{len(several)} {what}{shown}")
    return ", ".join(parts)


def compare_port(op: Op, variant: Variant, examples: int) -> Tally:
    """Compare a port with its body on random inputs.

    Raises:
        Exception: there is no port: it fails at the inputs of the body's own.
    """
    (dtype,) = op.dtypes
    case = Case(op.name, variant.name, NO_GRADIENT, "forward", "call", dtype, op.sizes[0])
    function = wrap(variant.build(op, case), variant, case.mode)
    function(*constants(make_inputs(op, op.sizes[0], dtype, 0)))
    tally = Tally()
    rng = np.random.default_rng(0)
    for number in range(examples):
        size = int(rng.choice((*SMALL_SIZES, op.sizes[0])))
        changes = [str(one) for one in rng.choice(list(CHANGES), rng.integers(1, 7))]
        described = f"size {size}, seed {number}, {', '.join(changes)}"
        try:
            inputs = changed(make_inputs(op, size, dtype, number), changes, np.random.default_rng(number))
            as_tuple(op.numpy(*as_given(tuple(np.array(one) for one in inputs))))
            reference = make_reference(op, inputs, dtype, np.random.default_rng(0))
        except Exception:  # noqa: BLE001 - no inputs of that size, or none that the body takes
            tally.refused += 1
            continue
        _compare(op, function, reference, described, tally)
    return tally


def changed(inputs: tuple[Any, ...], changes: list[str], rng: np.random.Generator) -> tuple[Any, ...]:
    """Return inputs, each changed by the next of some changes."""
    found = []
    for place, array in enumerate(inputs):
        name = changes[place % len(changes)]
        is_float = array.dtype.kind == "f"
        takes = is_float or (array.dtype.kind in "iub" and array.ndim and name in OF_INTEGERS)
        found.append(np.asarray(CHANGES[name](array, rng)).astype(array.dtype) if takes else array)
    return tuple(found)


def _compare(op: Op, function: Any, reference: Reference, described: str, tally: Tally) -> None:
    try:
        found = as_tuple(function(*constants(reference.inputs)))
    except Exception as error:  # noqa: BLE001 - a port may fail as it likes, but not in silence
        tally.raised.append(f"{described}: {describe_error(error)}")
        return
    try:
        check_values(op, found, reference, op.dtypes[0])
    except WrongResult as error:
        where = tally.left_open if _is_left_open(op, found, reference) else tally.wrong
        where.append(f"{described}: {error.message}")
    else:
        tally.equal += 1
        _compare_gradients(op, function, reference, described, tally)


def _is_left_open(op: Op, found: tuple[Any, ...], reference: Reference) -> bool:
    dtype = op.dtypes[0]

    def body(inputs: Any) -> list[Any]:
        outputs = as_tuple(op.numpy(*as_given(tuple(np.array(one) for one in inputs))))
        return [as_array(one, kind) for one, kind in zip(outputs, op.output_dtypes(dtype), strict=True)]

    if len(found) != len(reference.outputs):
        return False
    arrays = [np.asarray(one) for one in found]
    return are_open(body, reference.inputs, Compared(arrays, reference.outputs, op.tolerance[dtype]))


def _compare_gradients(op: Op, function: Any, reference: Reference, described: str, tally: Tally) -> None:
    by_differences = op.numpy_gradient is None
    if not op.differentiable or (by_differences and tally.gradients >= MOST_DIFFERENCES):
        return
    outcome, what = gradient_outcome(op, function, reference, op.dtypes[0])
    tally.gradients += outcome == "equal"
    if outcome in ("open", "wrong"):
        (tally.left_open if outcome == "open" else tally.wrong).append(f"{described}: {what}")


def gradient_outcome(op: Op, function: Any, reference: Reference, dtype: str) -> tuple[str, str]:
    """Return what became of the gradient of a port at some inputs, and what is off.

    Returns:
        `equal`, `open` (at a kink or a tie, where each side has a gradient of its own), `wrong`, or `none` where an
        input or an output is not finite.
    """
    if not _is_finite((*reference.inputs, *reference.outputs)) or not all(
        reference.inputs[place].size for place in op.differentiable
    ):
        return "none", ""
    if reference.gradients is not None:
        return _against_gradient(op, function, reference, dtype)
    return _against_differences(op, function, reference)


def _is_finite(arrays: Sequence[Any]) -> bool:
    return all(array.dtype.kind not in "fc" or bool(np.isfinite(array).all()) for array in arrays)


def _against_gradient(op: Op, function: Any, reference: Reference, dtype: str) -> tuple[str, str]:
    expected = reference.gradients
    assert expected is not None
    if not _is_finite(expected):
        return "none", ""
    found = gradients_of(op, function, reference.inputs, reference.output_gradients)
    try:
        check_gradients(op, found, reference, dtype)
    except WrongResult as error:
        arrays = _with_zeros(found, expected)
        compared = Compared(arrays, expected, op.tolerance[dtype])
        # At 0 too: which side of a kink it is on is for nobody to say.
        is_open = are_open(lambda inputs: _by_hand(op, inputs, reference), reference.inputs, compared, whole_too=True)
        return ("open" if is_open else "wrong"), error.message
    return "equal", ""


def _by_hand(op: Op, inputs: Sequence[Any], reference: Reference) -> list[Any]:
    assert op.numpy_gradient is not None
    outputs = [np.asarray(one) for one in as_tuple(op.numpy(*as_given(inputs)))]
    return [
        np.asarray(one)
        for one in op.numpy_gradient(as_given(inputs), as_given(outputs), as_given(reference.output_gradients))
    ]


def _with_zeros(found: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Return gradients as arrays; where TensorFlow found no path, it is 0."""
    return [np.zeros_like(other) if one is None else np.asarray(one) for one, other in zip(found, like, strict=True)]


def gradients_of(op: Op, function: Any, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
    """Return what TensorFlow derives for each differentiable input."""
    forward, backward = forward_and_backward(op, function, constants(inputs), constants(output_gradients))
    forward()
    return dense(backward())


def _against_differences(op: Op, function: Any, reference: Reference) -> tuple[str, str]:
    try:
        error = difference_error(op, function, reference)
    except WrongResult as wrong:
        return "wrong", wrong.message
    return ("open" if error is None else "equal"), ""


def moved(inputs: Arrays, *, whole_too: bool = False) -> Iterator[list[Any]]:
    """Yield inputs whose floats are each moved by a few units in the last place, up or down.

    Args:
        inputs: of a body.
        whole_too: move whole numbers too, which may be labels, and are otherwise left as they are.
    """
    rng = np.random.default_rng(len(inputs))
    for _ in range(MOVES):
        yield [_moved(array, rng, whole_too=whole_too) if array.dtype.kind == "f" else array for array in inputs]


def _moved(array: Any, rng: np.random.Generator, *, whole_too: bool) -> Any:
    finite = np.isfinite(array) & (whole_too | (array != np.rint(array)))
    spacing = np.spacing(np.where(finite, array, 1))
    steps = rng.integers(-ROUNDINGS, ROUNDINGS + 1, array.shape)
    return np.asarray(np.where(finite, array + steps * spacing, array), array.dtype)


def differing(found: Arrays, expected: Arrays, tolerance: float) -> list[int]:
    """Return the positions of arrays that are not those expected."""
    pairs = enumerate(zip(found, expected, strict=True))
    return [place for place, (one, other) in pairs if not _is_same(one, other, tolerance)]


def _is_same(found: Any, expected: Any, tolerance: float) -> bool:
    try:
        require_equal("", found, expected, tolerance)
    except WrongResult:
        return False
    return True


@dataclass(frozen=True)
class Compared:
    """What a port returned, and what its body or the gradient of that did.

    Attributes:
        found: by the port.
        expected: by the body.
        tolerance: as that of `require_equal`.
    """

    found: Arrays
    expected: Arrays
    tolerance: float


def are_open(
    function: Callable[[Arrays], Arrays], inputs: Arrays, compared: Compared, *, whole_too: bool = False
) -> bool:
    """Is each array that is off one that the body itself makes otherwise of inputs that are a few roundings away?

    What is NaN or infinite in one and not in the other is open only where the body itself goes from one to the other.

    Args:
        function: the body, or its gradient.
        inputs: where both were called.
        compared: what each returned.
        whole_too: as that of `moved`.
    """
    found, expected, tolerance = compared.found, compared.expected, compared.tolerance
    off = differing(found, expected, tolerance)
    if any(np.asarray(found[place]).dtype != expected[place].dtype for place in off):
        return False
    left = set(off)
    for one in moved(inputs, whole_too=whole_too):
        with np.errstate(all="ignore"):
            other = function(one)
        left -= {place for place in left if _explains(other[place], found[place], expected[place], tolerance)}
        if not left:
            return True
    return not left


def _explains(other: Any, found: Any, expected: Any, tolerance: float) -> bool:
    if _is_same(other, expected, tolerance):
        return False
    return not _differs_in_kind(found, expected) or _differs_in_kind(other, expected)


def _differs_in_kind(one: Any, other: Any) -> bool:
    """Have two arrays other shapes, or numbers in other places?"""
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        return True
    return first.dtype.kind in "fc" and bool((np.isfinite(first) != np.isfinite(second)).any())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
