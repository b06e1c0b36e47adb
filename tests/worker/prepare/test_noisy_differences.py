"""What differences cannot tell is not called wrong, and a wrong gradient is still found."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from planted_gradients import bisected
from pyopbench.worker.prepare.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE
from pyopbench.worker.prepare.gradient_check import Judged, Line, judge, line_through

STEP, TOLERANCE = DIFFERENCE_STEP["float64"], DIFFERENCE_TOLERANCE["float64"]


def cube_root(value: float) -> float:
    return float(bisected(np.array([value]), 1e-7)[0])


def line(function: Callable[[float], float], at: float, slope: float) -> Line:
    usual = (function(at + STEP) - function(at - STEP)) / (2 * STEP)
    return Line(lambda distance: float(function(at + distance)), slope, abs(usual - slope))


def judged(function: Callable[[float], float], at: float, slope: float, scale: float = 1.0) -> Judged | None:
    return judge([line(function, at, slope)], scale, STEP, "float64", TOLERANCE)


@pytest.mark.parametrize("at", [1.07, 2.9, 3.555, 6.759])
def test_the_right_gradient_of_a_bisection_is_right(at: float) -> None:
    slope = 1 / (3 * at ** (2 / 3))
    assert line(cube_root, at, slope).error > TOLERANCE * slope  # the usual differences call it wrong
    found = judged(cube_root, at, slope, slope)
    assert found is not None
    assert found.uncertainty == 0
    assert found.error < 1e-3


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.98, 1.02, 2.0, -1.0])
@pytest.mark.parametrize("at", [1.07, 2.9, 3.555, 6.759])
def test_a_gradient_of_a_bisection_that_is_a_fiftieth_off_is_found(at: float, factor: float) -> None:
    right = 1 / (3 * at ** (2 / 3))
    assert judged(cube_root, at, factor * right, right) is None


@pytest.mark.parametrize("factor", [1.00001, 1.01, 2.0])
def test_a_body_without_noise_excuses_nothing(factor: float) -> None:
    assert judged(np.sin, 1.0, factor * np.cos(1.0)) is None


@pytest.mark.parametrize("beside", [0.0, 1e-7, 1e-6, 1e-5])
def test_a_kink_is_no_noise(beside: float) -> None:
    assert judged(abs, beside, 0.5) is None


@pytest.mark.parametrize(("slope", "is_right"), [(2.0, True), (-1.0, False), (0.5, False), (2.1, False)])
def test_beside_a_kink_the_slope_to_its_own_side_is_right(slope: float, is_right: bool) -> None:
    assert (judged(lambda x: max(2 * x, -x), 1e-6, slope, 2.0) is not None) == is_right


@pytest.mark.parametrize(("slope", "is_right"), [(2.0, True), (-1.0, True), (0.5, True), (0.0, False), (2.1, False)])
def test_at_a_kink_the_slope_to_either_side_and_their_mean_are_right(slope: float, is_right: bool) -> None:
    assert (judged(lambda x: max(2 * x, -x), 0.0, slope, 2.0) is not None) == is_right


@pytest.mark.parametrize(("slope", "is_right"), [(3.0, True), (3.1, False)])
@pytest.mark.parametrize("jump", [1.0, np.nan])
def test_beside_a_jump_and_where_there_is_no_value_the_slope_to_the_other_side_is_right(
    slope: float, is_right: bool, jump: float
) -> None:
    assert (judged(lambda x: 3 * x if x >= 0 else jump, 1e-6, slope, 3.0) is not None) == is_right


@pytest.mark.parametrize(("factor", "is_right"), [(1.0, True), (1.01, False)])
def test_shorter_widths_tell_where_a_function_is_steep(factor: float, is_right: bool) -> None:
    with np.errstate(invalid="ignore"):
        found = judged(np.log, 2e-4, factor / 2e-4, 1 / 2e-4)
    assert (found is not None) == is_right


def test_noise_that_hides_the_gradient_leaves_it_unchecked_and_says_how_uncertain() -> None:
    """A body that is good to 0.1 has no gradient that differences could vouch for."""
    rng = np.random.default_rng(2)
    found = judged(lambda x: x + 0.1 * float(rng.standard_normal()), 1.0, 1.0)
    assert found is not None
    assert 0.1 < found.uncertainty <= 1


def test_where_a_body_has_no_value_around_its_input_nothing_is_known() -> None:
    assert judged(lambda x: np.nan, 1.0, 1.0) == Judged(0.0, 1.0)


def test_a_body_that_raises_beside_its_input_has_no_value_there() -> None:
    def refusing(x: np.ndarray) -> float:
        if (x < 0).any():
            raise ValueError("below 0")
        return float(x.sum())

    at = line_through(refusing, [np.zeros(2)], 0, np.ones(2))
    assert at(0.5) == 1.0
    assert np.isnan(at(-0.5))
