"""A gradient is held against central differences, at a small size and once, where no reference vouches for it.

What differences cannot tell is not called wrong, and a wrong gradient is still found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from planted_gradients import FAULTS, HIDDEN, ROUGH, SMOOTH, bisected, spoiled
from pyopbench.model.errors import WrongResult
from pyopbench.worker.prepare import gradient_check
from pyopbench.worker.prepare.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE
from pyopbench.worker.prepare.gradient_check import (
    Judged,
    Line,
    ScalarFunction,
    judge,
    judge_at,
    require_slope,
)
from pyopbench.worker.prepare.prepare import prepare
from small_ops import (
    SIZE,
    Put,
    case_of,
    compared_with_differences,
    differing_from_differences,
    put_in_place,
    refusal,
    square,
    square_with_gradient,
)

NATIVE = case_of("native", "autodiff")


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Put:
    return partial(put_in_place, monkeypatch)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    return compared_with_differences(monkeypatch)


def gradient_of_a_mistake(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    return (3 * inputs[0] * output_gradients[0],)


def test_finite_differences_catch_a_gradient_that_is_wrong_everywhere_alike(
    put: Put, compared: list[tuple[Any, ...]]
) -> None:
    """Variant and reference agree, so that nothing else would."""
    put(square(numpy_gradient=gradient_of_a_mistake, tensor_gradient=gradient_of_a_mistake))
    case = case_of("numpy_function", "custom_gradient")
    assert prepare(case).checked.gradient == 0
    told = refusal(case, finite_differences=True)
    assert told == differing_from_differences(compared[-1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("variant", "gradient"),
    [("native", "autodiff"), ("py_function", "tape"), ("py_function_numpy", "custom_gradient")],
)
def test_finite_differences_pass_what_is_right(put: Put, variant: str, gradient: str, dtype: str) -> None:
    """`py_function_numpy` too, whose custom gradient tf.test.compute_gradient breaks by its persistent tape."""
    put(square())
    checked = prepare(case_of(variant, gradient, dtype=dtype), finite_differences=True).checked
    assert checked.finite_difference is not None
    assert checked.finite_difference <= gradient_check.DIFFERENCE_TOLERANCE[dtype]


def test_finite_differences_are_taken_at_a_small_size(put: Put) -> None:
    """At the smallest of at least four elements, whatever the size of the case."""
    drawn = []

    def draw(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        drawn.append(size)
        return (rng.uniform(1.0, 2.0, size).astype(dtype),)

    put(square(make_inputs=draw, sizes=(1, 3, 6, 1000)))
    prepare(replace(NATIVE, size=1000), finite_differences=True)
    assert drawn == [1000, 6]
    put(square(make_inputs=draw, sizes=(1, 2)))
    prepare(replace(NATIVE, size=1), finite_differences=True)
    assert drawn == [1000, 6, 1, 2]


def test_finite_differences_are_taken_once_for_all_sizes_unless_they_failed(
    put: Put, compared: list[tuple[Any, ...]]
) -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(tuple(x.shape))
        return tf.square(x)

    put(square(tensor=counted))
    eager = replace(NATIVE, mode="eager")
    first = prepare(eager, finite_differences=True).checked.finite_difference
    taken = len(calls)
    assert prepare(replace(eager, size=SIZE + 1), finite_differences=True).checked.finite_difference == first
    assert len(calls) - taken < taken, "the second size evaluated the op at every moved point again"
    put(square(numpy_gradient=gradient_of_a_mistake, tensor=square_with_gradient(lambda x, dy: 3 * x * dy)))
    for size in (SIZE, SIZE + 1):
        compared.clear()
        told = refusal(replace(NATIVE, size=size), finite_differences=True)
        assert [told] == list(map(differing_from_differences, compared))


def test_without_a_reference_gradient_finite_differences_are_taken_anyway(
    put: Put, compared: list[tuple[Any, ...]]
) -> None:
    """Nothing unchecked is timed."""
    put(square(numpy_gradient=None))
    checked = prepare(NATIVE).checked
    assert checked.gradient is None
    assert checked.finite_difference is not None
    put(square(numpy_gradient=None, tensor=square_with_gradient(lambda x, dy: 3 * x * dy)))
    told = refusal(NATIVE)
    assert told == differing_from_differences(compared[-1])


def calls_of_mechanisms(put: Put, elements: int, **changes: Any) -> list[int]:
    """Return how often each of two mechanisms calls the body of an op with that many elements."""
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return x * x

    taken = []
    put(square(numpy=counted, sizes=(elements,), **changes))
    for variant in ("py_function_numpy", "numpy_function"):
        before = len(calls)
        prepare(case_of(variant, "custom_gradient", size=elements), finite_differences=True)
        taken.append(len(calls) - before)
    return taken


def test_one_mechanism_element_by_element_vouches_for_the_reference_of_all(put: Put) -> None:
    first, second = calls_of_mechanisms(put, 100)
    assert first >= 2 * 100
    assert second < 100
    first, second = calls_of_mechanisms(put, gradient_check.MOST_VOUCHED)
    assert second >= 2 * gradient_check.MOST_VOUCHED, "few elements are all moved"


def test_a_wrong_reference_gradient_of_many_elements_is_found_out_by_every_mechanism(put: Put) -> None:
    def one_wrong(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
        (right,) = _gradient_of_square(inputs, output_gradients)
        wrong = np.array(right)
        wrong[17] *= 2
        return (wrong,)

    put(square(numpy_gradient=one_wrong, sizes=(100,)))
    for variant in ("py_function_numpy", "numpy_function"):
        with pytest.raises(WrongResult):
            prepare(case_of(variant, "custom_gradient", size=100), finite_differences=True)


def _gradient_of_square(inputs: Any, output_gradients: Any) -> Any:
    return (2 * inputs[0] * output_gradients[0],)


X = np.random.default_rng(0).uniform(0.5, 2, (40, 50))


def cubes(dtype: str) -> ScalarFunction:
    """Return the sum of the cubes of x, with its value rounded as a body of that dtype would."""
    return ScalarFunction(lambda x, y: float(np.sum((x**3).astype(np.float64))), [X.astype(dtype), np.ones(2)], 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_gradient_is_found_right(dtype: str) -> None:
    """By hand: the derivative of x**3 is 3 x**2."""
    assert require_slope("it", (3 * X**2).astype(dtype), cubes(dtype)).error < 1e-3


def half_gone(gradient: Any) -> Any:
    return gradient * (np.arange(gradient.size).reshape(gradient.shape) % 2)


@pytest.mark.parametrize(
    "spoil",
    [lambda g: g * 1.02, lambda g: -g, lambda g: g[::-1], lambda g: g * 0, half_gone],
    ids=["scale", "sign", "order", "nothing", "every other"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_wrong_gradient_is_found_out(spoil: Any, dtype: str) -> None:
    wrong = np.ascontiguousarray(spoil(3 * X**2)).astype(dtype)
    with pytest.raises(WrongResult):
        require_slope("it", wrong, cubes(dtype))


@pytest.mark.parametrize("wrong", [None, X[:1], X.astype(np.float32)], ids=["none", "shape", "dtype"])
def test_no_gradient_and_one_of_another_kind_are_wrong(wrong: Any) -> None:
    with pytest.raises(WrongResult):
        require_slope("it", wrong, cubes("float64"))


def gradient_times(factor: float) -> Any:
    return lambda inputs, outputs, incoming: (factor * incoming[0] / (3 * np.cbrt(inputs[0]) ** 2),)


@pytest.mark.parametrize("size", [SIZE, 600])
def test_a_body_with_noise_keeps_its_gradient_and_a_wrong_one_is_found(put: Put, size: int) -> None:
    """Element by element, and along directions; the gradient is that of the cube root itself."""
    case = case_of("numpy_function", "custom_gradient", size=size)
    put(square(numpy=lambda x: bisected(x, 1e-7), numpy_gradient=gradient_times(1.0), sizes=(size,)))
    found = prepare(case, finite_differences=True).checked.finite_difference
    assert found is not None
    assert found < 1e-3
    put(square(numpy=lambda x: bisected(x, 1e-7), numpy_gradient=gradient_times(1.02), sizes=(size,)))
    assert refusal(case, finite_differences=True)


def logarithms(smallest: float) -> tuple[Any, ScalarFunction]:
    """Return inputs down to a small one, and the sum of their logarithms."""
    x = np.concatenate([[smallest], np.linspace(0.5, 1.5, 600)])
    return x, ScalarFunction(lambda x: float(np.log(x).sum()), [x], 0)


def nightly_after_the_first(bodies: Iterable[str]) -> list[Any]:
    """Return parameters of which `make test` takes one, and `make test-nightly` the others."""
    first, *others = bodies
    return [first, *(pytest.param(one, marks=pytest.mark.nightly) for one in others)]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("body", nightly_after_the_first(SMOOTH))
@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_each_fault_that_is_planted_into_the_gradient_of_a_smooth_body_is_found(body: str, fault: str) -> None:
    with pytest.raises(WrongResult):
        judge_at(*spoiled(SMOOTH[body], FAULTS[fault]))


@pytest.mark.parametrize("body", [*nightly_after_the_first(SMOOTH), *nightly_after_the_first(ROUGH)])
@pytest.mark.filterwarnings("ignore:invalid value encountered in log")
def test_no_right_gradient_is_called_wrong_however_rough_its_body(body: str) -> None:
    found = judge_at(*spoiled({**SMOOTH, **ROUGH}[body], None))
    assert found.error <= 1e-2
    assert body in ROUGH or found.uncertainty == 0


@pytest.mark.parametrize("fault", ["sign", "factor 2"])
@pytest.mark.parametrize("body", nightly_after_the_first(one for one in ROUGH if one not in HIDDEN))
def test_a_gradient_that_is_wrong_by_its_own_size_is_found_of_rough_bodies_too(body: str, fault: str) -> None:
    with pytest.raises(WrongResult):
        judge_at(*spoiled(ROUGH[body], FAULTS[fault]))


@pytest.mark.parametrize("body", HIDDEN)
def test_a_gradient_that_differences_cannot_tell_is_neither_right_nor_wrong(body: str) -> None:
    assert judge_at(*spoiled(ROUGH[body], None)).uncertainty == 1


def test_what_cannot_be_checked_is_said_with_its_number(put: Put) -> None:
    def rough(x: Any) -> Any:
        return x + 0.1 * np.sin(1e9 * x * x)

    put(square(numpy=rough, numpy_gradient=lambda inputs, outputs, incoming: (incoming[0],)))
    checked = prepare(case_of("numpy_function", "custom_gradient"), finite_differences=True).checked
    assert checked.difference_uncertainty == 1
    put(square())
    assert prepare(NATIVE, finite_differences=True).checked.difference_uncertainty is None


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


def test_noise_that_hides_the_gradient_leaves_it_unchecked_and_says_how_uncertain() -> None:
    """A body that is good to 0.1 has no gradient that differences could vouch for."""
    rng = np.random.default_rng(2)
    found = judged(lambda x: x + 0.1 * float(rng.standard_normal()), 1.0, 1.0)
    assert found is not None
    assert 0.1 < found.uncertainty <= 1


def test_where_a_body_has_no_value_around_its_input_nothing_is_known() -> None:
    assert judged(lambda x: np.nan, 1.0, 1.0) == Judged(0.0, 1.0)
