"""From what a user has of an op to the op that is measured: what it is like is seen from running its body.

A body that draws random numbers can only be compared under a seed; where one jumps, differences say nothing about a
gradient.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import DTYPES
from pyopbench.model.errors import BadInput
from pyopbench.model.op import SEED, Body, GradientBody, Op, Own, OwnOp
from pyopbench.ops.own.arguments import Arguments, Examples, inputs_of, take_arrays, wrong
from pyopbench.ports.arrays import as_array, as_given, as_outputs, as_tuple, dtype_of, in_parts, is_rounded
from pyopbench.ports.eager_body import body_on_arrays
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.rebinding import BODY, returning_arrays

TOLERANCE = {
    "float64": 1e-10,
    "float32": 1e-5,
    "complex128": 1e-10,
    "complex64": 1e-5,
    "float16": 1e-2,
    "bfloat16": 5e-2,
}
"""Largest error relative to the largest magnitude of the reference, for each dtype that rounds; whatever does not
(whole numbers, bool, text, and the dtypes of fewer bits) has to be equal.

In spacings of numbers just above 1 (`eps` of `np.finfo` and `ml_dtypes.finfo`): float32 84 and float64 450,000, because
sums over thousands of elements are added up in another order than by the body; float16 10 and bfloat16 6. A complex
number has the tolerance of its two floats."""

MOST_ROUNDING = 5.0
"""The largest tolerance that a body's own error can give, in usual tolerances. Above it, the usual one applies: the
difference may come from a branch that double precision takes for one element, not from rounding."""

OWN_ERROR_FACTOR = 2.0
"""How many times the body's own error a port may differ from it: both may be off, in opposite directions."""

SCOPE = {"np": np, "numpy": np, "random": random, "tf": tf, "tensorflow": tf}
"""What a statement that seeds may use besides the names of the body's module."""

ROUNDING = 1e-5
"""How far floats of two calls may be apart, relative to the largest: sums over threads may end in other bits."""

STEP = {"float32": 2.0**-8, "float64": 2.0**-16}
"""How far inputs are moved, times the magnitude of an element where that is above 1: as far as `checks` moves them."""

LARGEST_CHANGE = 0.25
"""A step of half the length changes a smooth function half as much, give or take its curvature and kinks; where it
jumps, about as much or not at all."""

ROUNDINGS = 64.0
"""Roundings of the outputs, all added up, below which a change is none."""


def complete(own: OwnOp, name: str, folder: Path) -> Op:
    """Return the op that pyopbench measures: what can be seen is looked up by running the body once, at its least size.

    Args:
        own: what the user has.
        name: of the op.
        folder: where its kernel is.

    Raises:
        BadInput: inputs or bodies are missing, or of the wrong kind.
        Exception: whatever the inputs or the body raise.
    """
    _check(own)
    make_inputs, sizes, arguments = inputs_of(own)
    is_numbered = isinstance(make_inputs, Examples) and make_inputs.are_numbered
    own = _take_by_position(own, arguments)
    example = tuple(as_array(one) for one in make_inputs(sizes[0], "", np.random.default_rng(0)))
    on_arrays, refused = _try_on_arrays(own, make_inputs, sizes)
    body = own.numpy or on_arrays or _on_arrays(own.py_function)
    returned = body(*as_given(example))
    outputs = _outputs_of(returned)
    require_same(outputs, _outputs_of(body(*as_given(example))), is_seeded=bool(own.seed_with))
    body = returning_arrays(body, returned)
    callback = own.py_function if own.numpy is None else None
    on_tensors = callback if on_arrays is None else None
    dtype = _dtype_of_case(example)
    differentiable = _differentiable(own, body, example, outputs, is_on_tensors=on_tensors is not None)
    gradient = _gradient_of(own.numpy_gradient, differentiable, len(example))
    op = Op(
        name=name,
        summary=own.summary or _first_line(own.numpy if callback is None else callback),
        source=own.source,
        make_inputs=make_inputs,
        numpy=body,
        sizes=sizes,
        quick_sizes=tuple(sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]})),
        size_unit="example number" if is_numbered else own.size_unit,
        dtypes=(dtype,),
        outputs=tuple(map(dtype_of, outputs)),
        differentiable=differentiable,
        numpy_gradient=gradient,
        tensor=own.tensor or on_tensors,
        tensor_gradient=_gradient_of(own.tensor_gradient, differentiable, len(example)),
        python=own.python or on_tensors,
        kernel=_kernel_of(own, folder),
        tolerance={dtype: _tolerance(own, body, example, outputs)},
        own=Own(
            py_function=callback,
            computes_on_arrays=on_arrays is not None,
            refused=refused,
            tried=frozenset(one for one in ("tensor", "python") if on_tensors and getattr(own, one) is None),
            fixed_sizes=isinstance(make_inputs, Examples),
            is_random=bool(own.seed_with),
            keywords=arguments.keywords,
        ),
    )
    _try_gradient(op, op.numpy_gradient, lambda one: one)
    _try_gradient(op, op.tensor_gradient, tf.convert_to_tensor)
    return op


def _try_on_arrays(
    own: OwnOp, make_inputs: Callable[..., Any], sizes: Sequence[int]
) -> tuple[Body | None, CannotPort | None]:
    """Return a copy of the body of a `tf.py_function` that takes arrays, or None, and why it is refused, or None."""
    if own.py_function is None or own.numpy is not None or own.seed_with:
        return None, None
    chosen = sizes if isinstance(make_inputs, Examples) else sizes[:1]
    examples = [tuple(map(as_array, make_inputs(size, "", np.random.default_rng(0)))) for size in chosen]
    try:
        return body_on_arrays(own.py_function, examples, needs_tape=own.differentiable != ()), None
    except CannotPort as refusal:
        return None, refusal


def _check(own: OwnOp) -> None:
    bodies = ("numpy", "py_function", "tensor", "python", "numpy_gradient", "tensor_gradient")
    for field_name in bodies:
        value = getattr(own, field_name)
        if value is not None and not callable(value):
            raise wrong(f"{field_name} is not a function", repr(value)[:80], "a function")
    if own.numpy is None and own.py_function is None:
        raise wrong("the op has no function of the current callback", "neither numpy nor py_function", "one of them")
    sized = callable(own.inputs)
    if sized != bool(own.sizes):
        raise wrong(
            "inputs and sizes do not fit each other",
            f"inputs={'a function' if sized else 'examples'}, sizes={own.sizes}",
            "a function (size, rng) with sizes, or examples without",
        )
    if any(type(size) is not int or size < 1 for size in own.sizes) or sorted({*own.sizes}) != list(own.sizes):
        raise wrong("not sizes", own.sizes, "whole numbers from 1, ascending, each once")
    if own.tolerance is not None and not (type(own.tolerance) in (int, float) and 0 <= own.tolerance < math.inf):
        raise wrong("not a tolerance", own.tolerance, "a finite number from 0 on, such as 1e-5")


def _take_by_position(own: OwnOp, arguments: Arguments) -> OwnOp:
    """Return the op with bodies that take arrays by position, and that are seeded before each call if they have to."""
    bodies = {name: getattr(own, name) for name in ("numpy", "py_function") if getattr(own, name) is not None}
    for name, body in bodies.items():
        taking = take_arrays(body, arguments) if name == "numpy" else body
        bodies[name] = seed_before_call(taking, own.seed_with) if own.seed_with else taking
    return replace(own, **bodies)


def _gradient_of(gradient: GradientBody | None, differentiable: Sequence[int], inputs: int) -> GradientBody | None:
    """Return a gradient that gives a tuple of one for each differentiable input.

    The user's may return the only one by itself, one for each input, and None for what does not matter.
    """
    if gradient is None:
        return gradient

    def of_differentiable(given: Sequence[Any], outputs: Sequence[Any], incoming: Sequence[Any]) -> tuple[Any, ...]:
        found = as_tuple(gradient(given, outputs, incoming))
        if len(found) == inputs != len(differentiable):
            found = tuple(found[place] for place in differentiable)
        if len(found) != len(differentiable):
            raise wrong(
                "the gradient does not return one gradient for each differentiable input",
                len(found),
                f"{len(differentiable)}, by inputs {', '.join(map(str, differentiable))}",
            )
        pairs = zip(found, differentiable, strict=True)
        return tuple(_zeros_like(given[place]) if one is None else one for one, place in pairs)

    setattr(of_differentiable, BODY, gradient)
    return of_differentiable


def _zeros_like(value: Any) -> Any:
    return tf.zeros_like(value) if tf.is_tensor(value) else np.zeros_like(value)


def _try_gradient(op: Op, gradient: GradientBody | None, convert: Callable[[Any], Any]) -> None:
    """Call a gradient once, so that what it returns is known to be of the right form before anything is planned."""
    if gradient is None or not op.differentiable:
        return
    inputs = tuple(as_array(one) for one in op.make_inputs(op.sizes[0], "", np.random.default_rng(0)))
    outputs = _outputs_of(op.numpy(*as_given(inputs)))
    incoming = [np.ones_like(outputs[place]) for place in op.floating_outputs]
    gradient(*([convert(one) for one in arrays] for arrays in (as_given(inputs), as_given(outputs), incoming)))


def _outputs_of(returned: Any) -> tuple[Any, ...]:
    outputs = tuple(as_array(one) for one in as_outputs(returned))
    odd = [one for one in outputs if not _is_of_tensors(one)]
    if odd or not outputs:
        raise wrong(
            "the body does not return arrays",
            f"{type(returned).__name__} {repr(returned)[:80]}",
            "an array, a number or a tuple of them, of a dtype that tensors have",
        )
    return outputs


def _is_of_tensors(array: Any) -> bool:
    """Can a callback return it? TensorFlow has bfloat16, float8, int4 and the like besides NumPy's own dtypes."""
    if array.dtype.kind == "O":
        return all(isinstance(item, bytes) for item in array.ravel())
    try:
        return not tf.as_dtype(array.dtype).is_quantized
    except TypeError:
        return False


def _on_arrays(function: Body | None) -> Body:
    assert function is not None

    def on_arrays(*inputs: Any) -> Any:
        outputs = as_tuple(function(*(tf.constant(one) for one in inputs)))
        arrays = tuple(np.asarray(one) for one in outputs)
        return arrays if len(arrays) > 1 else arrays[0]

    setattr(on_arrays, BODY, function)
    return on_arrays


def _differentiable(
    own: OwnOp, body: Body, example: Sequence[Any], outputs: Sequence[Any], *, is_on_tensors: bool
) -> tuple[int, ...]:
    floating = tuple(place for place, array in enumerate(example) if dtype_of(array) in DTYPES)
    if own.differentiable is not None:
        if not set(own.differentiable) <= set(floating):
            raise wrong("differentiable names inputs that are not floating", own.differentiable, f"some of {floating}")
        return own.differentiable
    if not floating or not any(dtype_of(array) in DTYPES for array in outputs):
        return ()
    if not is_smooth(body, example, floating):
        return ()
    has_gradient = own.tensor_gradient is not None or (own.numpy_gradient is not None and not is_on_tensors)
    if own.numpy is None and own.py_function is not None and not has_gradient:
        return _on_tape(own.py_function, example, floating)
    return floating


def _on_tape(function: Body, example: Sequence[Any], floating: Sequence[int]) -> tuple[int, ...]:
    """Return the inputs that the tape of `py_function` finds a way to: where a body takes `.numpy()`, it ends."""
    tensors = [tf.constant(array) for array in example]
    with tf.GradientTape() as tape:
        tape.watch([tensors[place] for place in floating])
        outputs = as_tuple(function(*tensors))
    # A gradient of what is no tensor does not exist either.
    on_tape = [one for one in outputs if tf.is_tensor(one) and one.dtype.is_floating]
    found = tape.gradient(on_tape, [tensors[place] for place in floating]) if on_tape else [None] * len(floating)
    return tuple(place for place, gradient in zip(floating, found, strict=True) if gradient is not None)


def _dtype_of_case(example: Sequence[Any]) -> str:
    """Return the dtype that stands for the op in ids: of the first floating input, or of the first."""
    names = [dtype_of(array) for array in example]
    return next((name for name in names if name in DTYPES), names[0])


def _tolerance(own: OwnOp, body: Body, example: Sequence[Any], outputs: Sequence[Any]) -> float:
    """Return the user's tolerance, else that of the least precise dtype, or more if the body itself rounds more.

    For example, a recursive filter in single precision may be further from the exact result than any port of it.
    """
    if own.tolerance is not None:
        return own.tolerance
    dtypes = [dtype_of(one) for one in (*example, *outputs)]
    usual = max((TOLERANCE[name] for name in dtypes if name in TOLERANCE), default=0.0)
    if "float32" not in dtypes or own.seed_with:  # in double precision it would draw other numbers
        return usual
    wide = tuple(one.astype(np.float64) if dtype_of(one) == "float32" else one for one in example)
    try:
        exact = _outputs_of(body(*as_given(wide)))
        errors = [_rounding(one, other) for one, other in zip(outputs, exact, strict=True)]
    except Exception:  # noqa: BLE001 - a body may be one for single precision alone
        return usual
    allowed = OWN_ERROR_FACTOR * max(errors, default=0.0)
    return max(usual, float(f"{allowed:.1e}")) if allowed <= MOST_ROUNDING * usual else usual


def _rounding(found: Any, exact: Any) -> float:
    """Return how far an output is from that of double precision, relative to the largest magnitude."""
    if found.dtype != np.float32 or not found.size or found.shape != exact.shape or not np.all(np.isfinite(exact)):
        return 0.0
    return float(np.max(np.abs(found - exact)) / (np.max(np.abs(exact)) or 1.0))


def _kernel_of(own: OwnOp, folder: Path) -> Path | None:
    if own.kernel is None:
        return None
    path = folder / own.kernel
    if not path.is_file():
        raise wrong("there is no such kernel", path, "a C++ file next to the file of the op")
    return path


def _first_line(body: Any) -> str:
    text = (getattr(body, "__doc__", None) or "").strip()
    return text.splitlines()[0].strip() if text else getattr(body, "__name__", "an own op")


def seed_before_call(body: Body, statement: str) -> Body:
    """Return a body before each call of which a statement is run, `{seed}` in it replaced by a number."""
    code = compile(statement.replace("{seed}", str(SEED)), "--seed-with", "exec")
    function = body
    while hasattr(function, BODY):
        function = getattr(function, BODY)
    # In the module itself, so that a generator that is a global of it can be replaced.
    scope = getattr(function, "__globals__", {})
    for name in set(code.co_names) & SCOPE.keys():
        scope.setdefault(name, SCOPE[name])

    @functools.wraps(body, updated=())
    def on_seed(*inputs: Any) -> Any:
        exec(code, scope)
        return body(*inputs)

    setattr(on_seed, BODY, body)
    return on_seed


def require_same(first: Sequence[Any], second: Sequence[Any], *, is_seeded: bool) -> None:
    """Check that two calls of a body with the same inputs gave the same outputs.

    Raises:
        BadInput: they did not; its hint says what to do.
    """
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        apart = _apart(as_array(one), as_array(other))
        if apart:
            raise BadInput(
                "the function returns different values for the same inputs: it draws random numbers "
                "or keeps state between calls" + (", even after the code that should seed it" if is_seeded else ""),
                received=f"output {place}: {apart}",
                legal="a function that returns the same values every time, so that ports can be checked",
                hint='--seed-with "np.random.seed({seed}); random.seed({seed})", or seed_with= in the file of the '
                "op, runs that before each call (names of the body's module work too); or draw outside, and pass in "
                "what was drawn",
            )


def _apart(one: Any, other: Any) -> str:
    if one.shape != other.shape:
        return f"shape {one.shape}, then {other.shape}"
    if is_rounded(one):
        first, second = in_parts(one), in_parts(other)
        scale = float(np.abs(first[np.isfinite(first)]).max(initial=0.0))
        same = np.isclose(first, second, rtol=0, atol=ROUNDING * scale, equal_nan=True).all(axis=-1)
    else:
        same = np.asarray(one == other)
    count = int(same.size - np.count_nonzero(same))
    return f"{count:,} of {same.size:,} elements differ" if count else ""


def is_smooth(body: Body, inputs: Sequence[Any], floating: Sequence[int]) -> bool:
    """Return whether the outputs of a body keep their shapes, and change half as much over half the way.

    Args:
        body: on arrays.
        inputs: where; arrays.
        floating: positions of the inputs to move, all at once.
    """
    rng = np.random.default_rng(0)
    directions = [rng.choice([-1.0, 1.0], inputs[place].shape) for place in floating]
    at = as_tuple(body(*as_given(inputs)))
    whole, half = (_change(body, inputs, dict(zip(floating, directions, strict=True)), part) for part in (1.0, 0.5))
    if whole is None or half is None:
        return False
    size = float(sum(np.abs(np.asarray(one, np.float64)).sum() for one in at if np.asarray(one).dtype.kind == "f"))
    smallest = ROUNDINGS * size * max(np.finfo(inputs[place].dtype).eps for place in floating)
    apart = sum(float(np.abs(one - 2 * other).sum()) for one, other in zip(whole, half, strict=True))
    moved = sum(float(np.abs(one).sum()) for one in whole)
    return bool(apart <= LARGEST_CHANGE * moved + smallest)


def _change(body: Body, inputs: Sequence[Any], directions: dict[int, Any], part: float) -> list[Any] | None:
    """Return how floating outputs differ between a step back and a step on.

    None if any shape or whole number does, or if the body refuses inputs that are moved.
    """
    ends = []
    for sign in (part, -part):
        moved = list(inputs)
        for place, direction in directions.items():
            x = inputs[place]
            reach = STEP[str(x.dtype.name)] * np.maximum(1.0, np.abs(x.astype(np.float64))) * direction
            moved[place] = np.asarray(x + sign * reach, x.dtype)
        try:
            ends.append([np.asarray(one) for one in as_tuple(body(*as_given(moved)))])
        except Exception:  # noqa: BLE001 - the body is the user's own, and may take no inputs but such as it was given
            return None
    above, below = ends
    if [one.shape for one in above] != [one.shape for one in below]:
        return None
    pairs = list(zip(above, below, strict=True))
    if not all(np.array_equal(one, other) for one, other in pairs if one.dtype.kind != "f"):
        return None
    return [one.astype(np.float64) - other for one, other in pairs if one.dtype.kind == "f"]
