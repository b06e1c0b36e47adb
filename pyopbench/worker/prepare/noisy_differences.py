"""How well differences can tell a slope: by their disagreement over several widths, and by the noise of the body.

A bisection that stops at 1e-7 gives values that jump by as much: differences over 1e-5 are off by a hundredth, whatever
its gradient. A steep function needs a shorter step than usual; beside a kink or a jump the slope is that to one side.
So differences are taken over widths from far below to far above the usual step, and to either side. Where neighbouring
widths agree, their slope is known as well as they agree (the error estimate of Ridders, "Accurate computation of F'(x)
and F'(x)F''(x)", Advances in Engineering Software 4 (1982), 75-76, here without extrapolation, which noise would
enlarge). Where none agree, differences cannot tell whether a gradient is right, and do not call it wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
