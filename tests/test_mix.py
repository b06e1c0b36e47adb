"""Shares of today's time by size, and the file that they come from."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from pyopbench.errors import BadInput
from pyopbench.mix import calls_in, calls_mix, even_mix, read_mix


def test_an_even_mix_is_the_trapezoid_rule_over_the_log_of_the_size() -> None:
    """By hand: decades of 1 and 2 give the weights 1/2, 3/2 and 1, over 3."""
    mix = even_mix((10, 100, 10_000))
    np.testing.assert_allclose(mix.shares, [1 / 6, 1 / 2, 1 / 3])
    assert mix.needed == mix.sizes == (10, 100, 10_000)


def test_all_of_an_even_mix_is_at_the_only_size() -> None:
    assert even_mix((7,)).shares.tolist() == [1.0]


def test_the_cost_weighs_ratios_by_todays_time() -> None:
    """By hand: a quarter of the time at each end, half in the middle; 0.25 * 1 + 0.5 * 2 + 0.25 * 4 = 2.25."""
    mix = even_mix((10, 100, 1000))
    np.testing.assert_allclose(mix.cost(np.log([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]])), [2.25, 1.0])


def test_calls_are_turned_into_time_by_the_baseline() -> None:
    """By hand: 3 calls of 1 s and 1 call of 9 s are 3 s and 9 s."""
    mix = calls_mix({100: 1, 10: 3}, {10: 1.0, 100: 9.0}, "it")
    assert mix.sizes == (10, 100)
    np.testing.assert_allclose(mix.shares, [0.25, 0.75])


def test_between_measured_sizes_everything_is_linear_in_the_logs() -> None:
    """By hand: 100 is half way from 10 to 1000, so seconds are sqrt(1 * 16) and the ratio is sqrt(2 * 8)."""
    mix = calls_mix({10: 1, 100: 1}, {10: 1.0, 1000: 16.0, 100_000: 5.0}, "it")
    np.testing.assert_allclose(mix.shares, [0.2, 0.8])
    assert mix.needed == (10, 1000)
    np.testing.assert_allclose(mix.ratios(np.log([2.0, 8.0])), [2.0, 4.0])
    np.testing.assert_allclose(mix.cost(np.log([[2.0, 8.0]])), [0.2 * 2 + 0.8 * 4])


def test_a_mix_at_measured_sizes_draws_on_no_others() -> None:
    assert calls_mix({100: 1}, {10: 1.0, 100: 2.0, 1000: 3.0}, "it").needed == (100,)
    assert calls_mix({10: 1}, {10: 1.0}, "it").needed == (10,)


@pytest.mark.parametrize("size", [9, 1001])
def test_a_size_outside_the_measured_range_is_bad_input(size: int) -> None:
    with pytest.raises(BadInput) as error:
        calls_mix({size: 1, 100: 1}, {10: 1.0, 1000: 3.0}, "py_func for sinh")
    assert error.value.received == str(size)
    assert error.value.legal == "sizes from 10 to 1000"
    assert "py_func for sinh" in error.value.what
    assert "--axis" in error.value.next_step


def test_a_mix_is_read_from_csv(tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_text("\ufeffsize, weight\r\n1000,3\n\n10 , 0.5\n1e6,2\n", encoding="utf-8")
    assert read_mix(path) == {1000: 3.0, 10: 0.5, 1_000_000: 2.0}


def test_a_shape_counts_its_elements_and_a_dtype_parts_the_calls(tmp_path: Path) -> None:
    """By hand: 4 x 5 x 3 is 60."""
    path = tmp_path / "mix.csv"
    path.write_text("shape,dtype,weight\n4x5x3,uint8,2\n500,float32,1\n60,float32,3\n", encoding="utf-8")
    calls = read_mix(path)
    assert calls == {("uint8", 60): 2.0, ("float32", 500): 1.0, ("float32", 60): 3.0}
    assert calls_in(calls, "float32") == {500: 1.0, 60: 3.0}
    assert calls_in(calls, "float64") == {}
    assert calls_in({60: 2.0}, "float64") == {60: 2.0}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("shape,weight\n4x,1\n", 2),
        ("shape,weight\n4x0,1\n", 2),
        ("shape,dtype,weight\n4,1\n", 2),
        ("shape,dtype,weight\n4,float32,1\n2x2,float32,1\n", 3),
        ("", 1),
        ("\n\n", 1),
        ("weight,size\n1,2\n", 1),
        ("10,1\n20,2\n", 1),
        ("size,weight\n", 1),
        ("size,weight\n10,1\n\n20\n", 4),
        ("size,weight\n10,1,2\n", 2),
        ("size,weight\nten,1\n", 2),
        ("size,weight\n1e-3,1\n", 2),
        ("size,weight\n10,1\n1e1,1\n", 3),
        ("size,weight\n0,1\n", 2),
        ("size,weight\n-4,1\n", 2),
        ("size,weight\n10,0\n", 2),
        ("size,weight\n10,-1\n", 2),
        ("size,weight\n10,nan\n", 2),
        ("size,weight\n10,inf\n", 2),
        ("size,weight\n10,1\n20,1\n10,1\n", 4),
    ],
)
def test_a_bad_mix_is_told_by_file_and_line(content: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "mix.csv"
    path.write_text(content)
    with pytest.raises(BadInput, match=rf"mix\.csv, line {line}: ") as error:
        read_mix(path)
    assert error.value.legal is not None


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"absent\.csv"):
        read_mix(tmp_path / "absent.csv")


def test_shares_sum_to_one() -> None:
    mix = calls_mix({20: 0.3, 30: 7, 900: 2}, {10: 1e-5, 1000: 1e-3}, "it")
    assert math.isclose(mix.shares.sum(), 1.0)
    np.testing.assert_allclose(mix.weights.sum(axis=1), 1.0)
