"""A gradient is compared with finite differences, at a small size and once: a wrong one is found, a rough one is not.

Where finite differences cannot say, the gradient counts as not checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from planted_gradients import FAULTS, ROUGH, SMOOTH, UNCHECKED, spoiled
from pyopbench.model.errors import WrongResult
from pyopbench.worker.prepare.gradient_check import TOLERANCE, difference_error
from pyopbench.worker.prepare.prepare import prepare
from small_ops import SIZE, Put, case_of, put_in_place, refusal, square, square_with_gradient

NATIVE = case_of("native", "autodiff")
DIFFERS = "gradient of input 0 against finite differences"


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Put:
    return partial(put_in_place, monkeypatch)


def gradient_of_a_mistake(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    return (3 * inputs[0] * output_gradients[0],)


def test_a_mistake_that_variant_and_reference_share_is_found(put: Put) -> None:
    put(square(numpy_gradient=gradient_of_a_mistake, tensor_gradient=gradient_of_a_mistake))
    case = case_of("numpy_function", "custom_gradient")
    assert prepare(case).checked.gradient == 0
    assert refusal(case, finite_differences=True).startswith(DIFFERS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("variant", "gradient"), [("native", "autodiff"), ("py_function", "tape"), ("py_function_numpy", "custom_gradient")]
)
def test_a_right_gradient_passes(put: Put, variant: str, gradient: str, dtype: str) -> None:
    """`py_function_numpy` too, whose custom gradient tf.test.compute_gradient breaks by its persistent tape."""
    put(square())
    checked = prepare(case_of(variant, gradient, dtype=dtype), finite_differences=True).checked
    assert checked.finite_difference is not None
    assert checked.finite_difference <= TOLERANCE[dtype]


def test_differences_are_taken_at_a_small_size_and_once_for_all_sizes(put: Put) -> None:
    """At the smallest of at least four elements, whatever the size of the case."""
    drawn = []

    def draw(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        drawn.append(size)
        return (rng.uniform(1.0, 2.0, size).astype(dtype),)

    put(square(make_inputs=draw, sizes=(1, 3, 6, 1000)))
    prepare(replace(NATIVE, size=1000), finite_differences=True)
    assert drawn == [1000, 6]
    prepare(replace(NATIVE, size=3), finite_differences=True)
    assert drawn == [1000, 6, 3]
    put(square(make_inputs=draw, sizes=(1, 2)))
    prepare(replace(NATIVE, size=1), finite_differences=True)
    assert drawn == [1000, 6, 3, 1, 2]


def test_a_wrong_gradient_fails_at_every_size(put: Put) -> None:
    put(square(numpy_gradient=gradient_of_a_mistake, tensor=square_with_gradient(lambda x, dy: 3 * x * dy)))
    for size in (SIZE, SIZE + 1):
        assert refusal(replace(NATIVE, size=size), finite_differences=True).startswith(DIFFERS)


def test_without_a_reference_gradient_differences_are_taken_anyway(put: Put) -> None:
    """Nothing unchecked is timed."""
    put(square(numpy_gradient=None))
    checked = prepare(NATIVE).checked
    assert checked.gradient is None
    assert checked.finite_difference is not None
    put(square(numpy_gradient=None, tensor=square_with_gradient(lambda x, dy: 3 * x * dy)))
    assert refusal(NATIVE).startswith(DIFFERS)


def test_a_wrong_element_of_many_is_found(put: Put) -> None:
    def double_an_element(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
        wrong = 2 * inputs[0] * output_gradients[0]
        wrong[17] *= 2
        return (wrong,)

    put(square(numpy_gradient=double_an_element, sizes=(100,)))
    assert refusal(case_of("numpy_function", "custom_gradient", size=100), finite_differences=True)


def test_a_zero_gradient_of_one_input_is_found(put: Put) -> None:
    def multiply(x: Any, y: Any) -> Any:
        return tf.stop_gradient(x) * y + 0 * x

    def draw(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(rng.uniform(1.0, 2.0, size).astype(dtype) for _ in range(2))

    put(square(make_inputs=draw, numpy=np.multiply, tensor=multiply, numpy_gradient=None, differentiable=(0, 1)))
    assert refusal(NATIVE).startswith(DIFFERS)


def test_a_gradient_that_tensorflow_does_not_find_is_wrong(put: Put) -> None:
    put(square(tensor=lambda x: tf.stop_gradient(x * x), numpy_gradient=None))
    assert refusal(NATIVE).startswith(DIFFERS)


def nightly_after_the_first(bodies: Iterable[str]) -> list[Any]:
    """Return parameters of which `make test` takes one, and `make test-nightly` the others."""
    first, *others = bodies
    return [first, *(pytest.param(body, marks=pytest.mark.nightly) for body in others)]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("body", nightly_after_the_first(SMOOTH))
def test_each_fault_planted_into_the_gradient_of_a_smooth_body_is_found(body: str, fault: str) -> None:
    with pytest.raises(WrongResult):
        difference_error(*spoiled(SMOOTH[body], FAULTS[fault]))


@pytest.mark.parametrize("body", nightly_after_the_first(SMOOTH))
def test_the_right_gradient_of_a_smooth_body_is_checked(body: str) -> None:
    error = difference_error(*spoiled(SMOOTH[body], None))
    assert error is not None
    assert error < 1e-6


@pytest.mark.parametrize("body", ROUGH)
def test_no_right_gradient_is_called_wrong_however_rough_its_body(body: str) -> None:
    error = difference_error(*spoiled(ROUGH[body], None))
    assert (error is None) == (body in UNCHECKED)


@pytest.mark.parametrize("kinked", [np.abs, lambda x: np.maximum(x, 0)], ids=["abs", "relu"])
@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
def test_at_a_kink_no_gradient_is_called_wrong(put: Put, kinked: Any, slope: float) -> None:
    put(
        square(
            make_inputs=lambda size, dtype, rng: (np.zeros(size, dtype),),
            numpy=kinked,
            numpy_gradient=lambda inputs, outputs, incoming: (slope * incoming[0],),
        )
    )
    checked = prepare(case_of("numpy_function", "custom_gradient"), finite_differences=True).checked
    assert checked.finite_difference is None
