"""What counts as left open by a body: ties and rests of rounding; a wrong port does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bodies.left_open import Compared, are_open, moved


def open_of(body: Any, found: Any, *inputs: Any) -> bool:
    arrays = [np.asarray(one) for one in inputs]

    def call(given: Any) -> list[Any]:
        return [np.asarray(body(*given))]

    return are_open(call, arrays, Compared([np.asarray(found)], call(arrays), 1e-6))


def test_the_order_of_equal_elements_is_open_and_that_of_others_is_not() -> None:
    assert open_of(np.argmax, 2, [1.1, 0.5, 1.1])
    assert not open_of(np.argmax, 2, [1.1, 0.5, 0.9])
    assert not open_of(np.argmax, np.int32(2), [1.1, 0.5, 1.1])  # of another dtype than NumPy's


def test_the_rest_of_a_difference_that_cancels_is_open() -> None:
    def scaled(x: Any) -> Any:
        return (x - x.mean()) / (x.std() + 1e-12)

    x = np.full(7, 0.1)
    assert open_of(scaled, scaled(x) + 1e-3, x)
    assert not open_of(scaled, scaled(np.arange(7.0)) + 1e-3, np.arange(7.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf, np.nan])
def test_what_is_not_a_number_is_not_excused_by_rounding(value: float) -> None:
    x = np.array([value, 1.0, 0.1])
    assert not open_of(lambda x: x - x, np.where(np.isfinite(x), np.nan, 0.0), x)
    assert not open_of(np.exp, [7.0, np.e, np.exp(0.1)], x)


def test_floats_move_by_roundings_and_integers_and_infinities_stay() -> None:
    floats, whole = np.array([1.5, -3.0, np.inf, np.nan, 0.0]), np.array([1, 2])
    for found, same in moved([floats, whole]):
        assert same is whole
        np.testing.assert_allclose(found, floats, rtol=1e-15, atol=1e-320)
        np.testing.assert_array_equal(found[1:], floats[1:])
    assert any(found[0] != 1.5 for found, _ in moved([floats, whole]))
    assert any(found[4] != 0.0 for found, _ in moved([floats, whole], whole_too=True))


def test_a_label_is_no_tie() -> None:
    assert not open_of(lambda t, p: np.where(t == 1, p, 0), [0.0, 0.5], [1.0, 0.0], [0.3, 0.5])
