"""Gradients against central differences, for what no reference vouches for, or as a second witness.

Small inputs are moved element by element; large ones along a few directions, which takes two calls each, whatever the
size. Where there is a reference gradient every mechanism is held against it element by element, so that one mechanism
whose differences were right vouches for the reference, and of the others some elements are moved.

How well differences know a slope is seen from their disagreement over several widths, and from the noise of the body.

A bisection that stops at 1e-7 gives values that jump by as much: differences over 1e-5 are off by a hundredth, whatever
its gradient. A steep function needs a shorter step than usual; beside a kink or a jump the slope is that to one side.
So differences are taken over widths from far below to far above the usual step, and to either side. Where neighbouring
widths agree, their slope is known as well as they agree (the error estimate of Ridders, "Accurate computation of F'(x)
and F'(x)F''(x)", Advances in Engineering Software 4 (1982), 75-76, here without extrapolation, which noise would
enlarge). Where none agree, differences cannot tell whether a gradient is right, and do not call it wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import (
    DIFFERENCE_STEP,
    DIFFERENCE_TOLERANCE,
    Checked,
    Reference,
    central_differences,
    dense,
    reference_of,
    require_equal,
)
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap

LARGEST_JUMP = 0.25
"""Share of all that the function changes by over the widest width. A jump above that is a step of the function: it says
nothing of how good its values are elsewhere."""

NOISES = 3.0
"""Jumps of the body that a difference may be off by, over its half step: of noise, one jump is a sample."""

WIDER = 4.0
"""Each width is this many times the one before."""

NARROWEST = 2.0**-8
"""Of the widths, in steps of the usual differences: there rounding is most of what is left of a difference."""

WIDEST = 0.25
"""Of the widths, in reaches: there a function of order one bends."""

PLACES = 17
"""Values over the widest width from which the place of a jump is told, by how far they are from a polynomial."""

DEGREE = 6
"""Of that polynomial: what is left of a smooth function is then below the jumps of an iteration that ends at 1e-7."""

HALVINGS = 20
"""Of the distance between two such values, in search of a jump: 1e-8 in float64, a few roundings in float32."""

STAYS = 0.5
"""Share of a change that is still there after four halvings, of which a continuous function would have 1/16."""

NEAR = 4.0
"""Times the least width over which differences are exact, up to which others that are exact count as well."""

SAFETY = 3.0
"""Times the disagreement of neighbouring widths that a difference may be off by: what they have in common they cannot
show, and a disagreement is small now and then by chance."""

LARGEST_DOUBT = {"float32": 2e-2, "float64": 5e-3}
"""Errors of differences, relative to the largest magnitude of the gradient, beyond which a gradient that is a little
wrong would be taken for right: then it was not checked."""

HOPELESS = 1.0
"""The largest uncertainty that is said: differences do not tell the sign of the gradient."""

LOOKED_AT = 4
"""Lines along which jumps are looked for, those with the largest errors."""

MOST_LINES = 32
"""Lines that are looked at, those with the largest errors: each takes some 20 calls of the body."""


@dataclass(frozen=True)
class Line:
    """A function along a line through its inputs.

    Attributes:
        at: its value at a number of reaches from where the gradient is checked.
        slope: what the gradient says that it is.
        error: how far the usual difference is from that.
        reach: what one reach is; above 1 for an element that is, so that a step moves it.
    """

    at: Callable[[float], float]
    slope: float
    error: float
    reach: float = 1.0


@dataclass(frozen=True)
class Judged:
    """What differences say of a gradient that they do not call wrong, relative to its largest magnitude.

    Attributes:
        error: its largest distance from differences that are good enough to tell.
        uncertainty: of differences that are not, the most that any may be off by; 0 where all are good enough.
    """

    error: float = 0.0
    uncertainty: float = 0.0


@dataclass(frozen=True)
class _Slope:
    """A slope by differences over a width, and by how much it may be off.

    `side` is 0 for central differences, 1 and -1 for those to a side.
    """

    side: int
    width: float
    value: float
    doubt: float


def _best_of_each(slopes: Sequence[_Slope]) -> list[_Slope]:
    """Return the slope of least doubt by central differences, and by those to either side."""
    return [min((one for one in slopes if one.side == side), key=lambda one: one.doubt) for side in (0, 1, -1)]


def judge(lines: Sequence[Line], scale: float, step: float, dtype: str, tolerance: float) -> Judged | None:
    """Return what differences over several widths say of a gradient that the usual ones say is off.

    Args:
        lines: along which they say so.
        scale: what errors are relative to: the largest magnitude of the gradient; above 0.
        step: half the distance of the usual differences.
        dtype: of the input.
        tolerance: relative error of the usual differences.

    Returns:
        How far off it is, or how uncertain that is; None where it is wrong along any line.
    """
    worst = sorted(lines, key=lambda line: -line.error)[:MOST_LINES]
    noise = max(_jump_along(line) for line in worst[:LOOKED_AT])
    error, uncertainty = 0.0, 0.0
    for line in worst:
        known = list(_slopes(line, step, noise, float(np.finfo(dtype).eps)))
        # Where they are exact, those over the least widths: wider ones may reach beyond a kink, and agree there.
        exact = [one for one in known if one.doubt <= tolerance * scale]
        least = min((one.width for one in exact), default=0.0)
        near = [one for one in exact if one.width <= least * NEAR] or _best_of_each(known)
        best = min(near, key=lambda one: one.doubt)
        telling = [one for one in near if one.doubt <= LARGEST_DOUBT[dtype] * scale]
        errors = [abs(one.value - line.slope) for one in telling if _fits(one, line, tolerance * scale)]
        if errors:
            error = max(error, min(errors) / scale)
        elif best not in telling and _fits(best, line, tolerance * scale):
            uncertainty = max(uncertainty, min(best.doubt / scale, HOPELESS))
        else:
            return None
    return Judged(error, uncertainty)


def _fits(slope: _Slope, line: Line, tolerance: float) -> bool:
    return not abs(slope.value - line.slope) > tolerance + slope.doubt  # nothing is known of one that is NaN


def _jump_along(line: Line) -> float:
    """Return the height of a jump of the function, 0 where none is found that may be one of many.

    An iteration that goes on until it is good to some digits has a slope of its own between the places where it takes
    one more round; only the jump there tells how far that slope is from the one that it is after.
    """
    places = np.linspace(-WIDEST, WIDEST, PLACES)
    values = np.array([line.at(float(place)) for place in places])
    if not np.isfinite(values).all():
        return 0.0
    smooth = np.polynomial.Polynomial.fit(places, values, DEGREE)
    rest = values - smooth(places)
    begin = int(np.argmax(np.abs(np.diff(rest))))
    ends = [(float(places[place]), float(rest[place])) for place in (begin, begin + 1)]
    changes = []
    for _ in range(HALVINGS):
        middle = (ends[0][0] + ends[1][0]) / 2
        between = (middle, float(line.at(middle) - smooth(middle)))
        ends = max(([ends[0], between], [between, ends[1]]), key=lambda one: abs(one[1][1] - one[0][1]))
        changes.append(abs(ends[1][1] - ends[0][1]))
    is_jump = STAYS * changes[-5] <= changes[-1] <= LARGEST_JUMP * float(np.ptp(values))
    return changes[-1] if is_jump else 0.0


def _slopes(line: Line, step: float, noise: float, eps: float) -> Iterator[_Slope]:
    """Yield the slopes over all widths, by central differences and by those to either side."""
    count = int(np.log(WIDEST / (NARROWEST * step)) / np.log(WIDER)) + 1
    widths = NARROWEST * step * WIDER ** np.arange(count)
    here = line.at(0.0)
    above, below = (np.array([line.at(float(sign * width)) for width in widths]) for sign in (1.0, -1.0))
    # What rounding of the value, and of the place that the dtype has for it, may change; beside the noise of the body.
    rounding = eps * (abs(here) + abs(line.slope) * line.reach)
    least = (NOISES * noise + rounding) / (widths * line.reach)
    with np.errstate(invalid="ignore", over="ignore"):
        yield from _with_doubt(0, widths, (above - below) / (2 * widths * line.reach), least)
        for values, sign in ((above, 1), (below, -1)):
            near = sign * (values - here) / (widths * line.reach)
            # Of the parabola through here and two points to one side.
            side = (WIDER * near[:-1] - near[1:]) / (WIDER - 1)
            yield from _with_doubt(sign, widths[:-1], side, 4 * least[:-1])


def _with_doubt(side: int, widths: Any, slopes: Any, least: Any) -> Iterator[_Slope]:
    """Yield slopes with the most by which those over the next widths differ from them, beside what noise does."""
    change = np.abs(np.diff(slopes))
    doubt = SAFETY * np.maximum(change[:-1], change[1:]) + least[1:-1]
    doubt[~np.isfinite(doubt)] = np.inf
    for place, most in enumerate(doubt, 1):
        yield _Slope(side, float(widths[place]), float(slopes[place]), float(most))


def line_through(
    scalar: Callable[..., float], inputs: Sequence[Any], position: int, unit: Any
) -> Callable[[float], float]:
    """Return a function of arrays along a line.

    Args:
        scalar: of arrays.
        inputs: the arrays at 0.
        position: the input that is moved.
        unit: by how much per reach, of the shape of that input; float64.
    """

    def at(distance: float) -> float:
        moved = list(inputs)
        x = inputs[position]
        moved[position] = (x + distance * unit).astype(x.dtype)
        try:
            return scalar(*moved)
        except Exception:  # noqa: BLE001 - the body is the user's own, and may take no inputs but such as it was given
            return np.nan

    return at


DIRECTIONS = 4
"""Directions that a gradient is looked at along: the first moves every element, the others a random part."""

ELEMENTS = 512
"""Elements that the other directions move: few enough for an error in half of them to stand out."""

ROUNDINGS = 8.0
"""Roundings of the function's value that a difference may be off by, beside what is relative to the slope."""


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function of arrays, the point at which its gradient is checked, and which input to move.

    `scalar` takes arrays and returns a float, `inputs` are the arrays there.
    """

    scalar: Callable[..., float]
    inputs: Sequence[Any]
    position: int


def require_slope(what: str, got: Any, function: ScalarFunction) -> Judged:
    """Check a gradient against central differences along directions.

    Each direction goes along the sign of the gradient, so that its elements add up and do not cancel, and somewhere
    where the gradient is 0. What a difference differs by from the sum over the gradient is taken relative to the sum
    of magnitudes.

    Args:
        what: names the gradient in the error.
        got: the gradient, of the shape and dtype of the input; None is none.
        function: what it is the gradient of.

    Returns:
        The largest error, and how uncertain differences are where they cannot tell.

    Raises:
        WrongResult: it is None, or of another shape or dtype, or a slope differs.
    """
    x = function.inputs[function.position]
    if got is None:
        raise WrongResult(f"{what} is None: TensorFlow found no gradient for it")
    gradient = np.asarray(got)
    if (gradient.shape, gradient.dtype) != (x.shape, x.dtype):
        raise WrongResult(f"{what}: expected {x.dtype} {x.shape}, got {gradient.dtype} {gradient.shape}")
    rng = np.random.default_rng([x.size, function.position])
    found = [_judged_along(what, gradient, function, _direction(gradient, rng, part)) for part in range(DIRECTIONS)]
    return Judged(max(one.error for one in found), max(one.uncertainty for one in found))


def _direction(gradient: Any, rng: np.random.Generator, part: int) -> Any:
    sign = np.where(gradient == 0, rng.choice([-1.0, 1.0], gradient.shape) if part else 1.0, np.sign(gradient))
    moved = np.ones(gradient.size, bool)
    if part:
        moved[:] = False
        moved[rng.choice(gradient.size, ELEMENTS, replace=False)] = True
    return sign * rng.uniform(0.5, 1.5, gradient.shape) * moved.reshape(gradient.shape)


@dataclass(frozen=True)
class _Along:
    """What a function does along a direction, and what its gradient says.

    Attributes:
        change: by how much the function changes.
        told: by how much the gradient says that it does.
        scale: the sum of the magnitudes of what that is made of.
        rounding: what the change may be off by through rounding.
    """

    change: float
    told: float
    scale: float
    rounding: float

    @property
    def error(self) -> float:
        return abs(self.change - self.told)

    def is_right(self, tolerance: float) -> bool:
        return self.error <= tolerance * self.scale + self.rounding


def _along(gradient: Any, function: ScalarFunction, reach: Any) -> _Along:
    x = function.inputs[function.position]
    above, below = (x + reach).astype(x.dtype), (x - reach).astype(x.dtype)
    values = [_value_at(function, moved) for moved in (above, below)]
    # The distance that the dtype could really represent, not the one asked for.
    steps = gradient.astype(np.float64) * (above.astype(np.float64) - below.astype(np.float64))
    rounding = ROUNDINGS * float(np.finfo(x.dtype).eps) * max(map(abs, values))
    scale = float(np.abs(steps).sum()) or float(np.abs(reach).sum())
    return _Along(values[0] - values[1], float(steps.sum()), scale, rounding)


def _judged_along(what: str, gradient: Any, function: ScalarFunction, direction: Any) -> Judged:
    x = function.inputs[function.position]
    dtype = str(x.dtype.name)
    step, tolerance = DIFFERENCE_STEP[dtype], DIFFERENCE_TOLERANCE[dtype]
    unit = np.maximum(1.0, np.abs(x.astype(np.float64))) * direction
    found = _along(gradient, function, step * unit)
    if found.is_right(tolerance):
        return Judged(max(0.0, found.error - found.rounding) / found.scale)
    slopes = gradient.astype(np.float64) * unit
    along = line_through(function.scalar, function.inputs, function.position, unit)
    line = Line(along, float(slopes.sum()), found.error / (2 * step))
    # Of a gradient that is 0 everywhere, what the function does instead.
    scale = float(np.abs(slopes).sum()) or abs(found.change) / (2 * step)
    judged = judge([line], scale, step, dtype, tolerance)
    if judged is None:
        raise WrongResult(
            f"{what}: along one direction the function changes by {found.change:.6g}, but the gradient says "
            f"{found.told:.6g} (relative error {found.error / found.scale:.2g}, tolerance {tolerance:.2g})"
        )
    return judged


def _value_at(function: ScalarFunction, moved: Any) -> float:
    """Return the function with another array in the place of the input that is moved."""
    inputs = list(function.inputs)
    inputs[function.position] = moved
    return function.scalar(*inputs)


DIFFERENCE_SIZE = 4
"""Gradients are checked by finite differences at the smallest size of the op that is at least this."""

MOST_ELEMENTS = 512
"""An input with more of them is moved along a few directions, and not element by element: two calls each."""

MOST_VOUCHED = 32
"""Elements that are moved of a mechanism that is held against a reference that another one has vouched for: hundreds of
calls for each mechanism of an op of one's own took most of the time of a run. One by one, because a step along many at
once crosses a kink of one of them."""

_checked_differences: dict[tuple[str, ...], Judged] = {}
"""What came of it by op, variant, mechanism, mode and dtype. They are taken at one small size whatever the size of the
case, so that once in a process is enough; what failed is not in here, and fails again."""

_vouched: set[tuple[str, str]] = set()
"""Ops and dtypes whose reference gradient a mechanism agrees with whose differences were right."""


def _judged(got: Any, expected: Any, function: ScalarFunction, dtype: str) -> Judged | None:
    """Return what differences over several widths say of the elements of a gradient that the usual ones call off."""
    found = np.asarray(got)
    if found.shape != expected.shape or found.dtype != expected.dtype or not np.isfinite(found).all():
        return None
    x, tolerance = function.inputs[function.position], DIFFERENCE_TOLERANCE[dtype]
    errors = np.nan_to_num(np.abs(found.astype(np.float64) - expected.astype(np.float64)), nan=np.inf)
    finite = np.abs(expected[np.isfinite(expected)])
    # Of a gradient that is 0 everywhere, what the differences are instead.
    scale = float(np.abs(found).max()) or float(finite.max(initial=0.0))
    lines = []
    for index in map(tuple, np.argwhere(errors > tolerance * scale)):
        unit = np.zeros(x.shape)
        unit[index] = reach = max(1.0, abs(float(x[index])))
        along = line_through(function.scalar, function.inputs, function.position, unit)
        lines.append(Line(along, float(found[index]), float(errors[index]), reach))
    # The usual differences are relative to the largest of themselves, which noise may have made too large or too small.
    return judge(lines, scale, DIFFERENCE_STEP[dtype], dtype, tolerance) if scale else Judged()


def check_differences(checked: Checked, op: Op, variant: Variant, case: Case) -> Checked:
    """Return what was checked of a case, with its gradient checked by differences at a small size.

    Raises:
        WrongResult: it is larger than differences are off by.
    """
    key = (case.op, case.variant, case.gradient, case.mode, case.dtype)
    if key not in _checked_differences:
        # A function of its own: one that has been traced for a second shape takes longer to call.
        function = wrap(variant.build(op, case), variant, case.mode)
        vouched = (case.op, case.dtype)
        _checked_differences[key], has_reference = _judged_at(op, function, case.dtype, is_vouched=vouched in _vouched)
        if has_reference:
            _vouched.add(vouched)
    return with_differences(checked, _checked_differences[key])


def with_differences(checked: Checked, judged: Judged) -> Checked:
    """Return what was checked, with what differences say of the gradient."""
    return replace(
        checked,
        finite_difference=judged.error,
        difference_uncertainty=judged.uncertainty if judged.uncertainty else None,
    )


def small_size(op: Op) -> int:
    """Return the size that an op is looked at where small is enough: the least from `DIFFERENCE_SIZE` on."""
    return min((size for size in op.sizes if size >= DIFFERENCE_SIZE), default=max(op.sizes))


def _some_places(x: Any) -> list[tuple[int, ...]]:
    """Return the indices of elements of an array, drawn without regard to order: the same in every process."""
    drawn = np.random.default_rng(x.size).permutation(x.size)[:MOST_VOUCHED]
    return [tuple(int(part) for part in np.unravel_index(place, x.shape)) for place in drawn]


def _judged_at(op: Op, function: Body, dtype: str, *, is_vouched: bool) -> tuple[Judged, bool]:
    """Return what differences say, with few elements moved where the reference is vouched for; is there a reference?"""
    reference = reference_of(op.name, small_size(op), dtype)
    return judge_at(op, function, reference, dtype, is_vouched=is_vouched), reference.gradients is not None


def judge_at(op: Op, function: Body, reference: Reference, dtype: str, *, is_vouched: bool = False) -> Judged:
    """Return what central differences at the inputs of a reference say of a gradient: how far off, how uncertain.

    Args:
        op: says which inputs are moved.
        function: the wrapped body of a variant, on tensors.
        reference: the inputs, and what flows into the floating outputs.
        dtype: of the case.
        is_vouched: move few elements, because another mechanism with the same gradient was right.

    Raises:
        WrongResult: it is larger than differences are off by.
    """
    forward, backward = forward_and_backward(
        op, function, constants(reference.inputs), constants(reference.output_gradients)
    )
    forward()
    found = dense(backward())

    def scalar(*arrays: Any) -> float:
        outputs = as_tuple(function(*constants(arrays)))
        floating = [outputs[i].numpy().astype(np.float64) for i in op.floating_outputs]
        if [one.shape for one in floating] != [one.shape for one in reference.output_gradients]:
            return np.nan  # an input that moved over a threshold gives outputs of other lengths
        return float(
            sum((output * weight).sum() for output, weight in zip(floating, reference.output_gradients, strict=True))
        )

    def judged_input(position: int, got: Any) -> Judged:
        what = f"gradient of input {position} against finite differences"
        if got is None and op.is_own:  # where it is not known which inputs matter, no path is a gradient of 0
            got = np.zeros_like(reference.inputs[position])
        x = reference.inputs[position]
        if x.size > MOST_ELEMENTS and not is_vouched:
            return require_slope(what, got, ScalarFunction(scalar, reference.inputs, position))
        places = _some_places(x) if is_vouched else list(np.ndindex(x.shape))
        expected = central_differences(scalar, reference.inputs, position, DIFFERENCE_STEP[dtype], places)
        if got is not None and len(places) < x.size and got.shape == x.shape:
            moved = np.zeros(x.shape, bool)
            moved[tuple(np.transpose(places))] = True
            got = np.where(moved, got, np.zeros_like(got))
        try:
            return Judged(require_equal(what, got, expected, DIFFERENCE_TOLERANCE[dtype]))
        except WrongResult:
            function_of_input = ScalarFunction(scalar, reference.inputs, position)
            judged = None if got is None else _judged(got, expected, function_of_input, dtype)
            if judged is None:
                raise
            return judged

    judged = [judged_input(position, got) for position, got in zip(op.differentiable, found, strict=True)]
    return Judged(max(one.error for one in judged), max(one.uncertainty for one in judged))
