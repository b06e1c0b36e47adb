"""What runs differ by beyond what their launches show: numbers by hand."""

from __future__ import annotations

import math

import pytest

from pyopbench.stats.run_effect import run_effect

APART = (
    {"a": (math.exp(-0.1), 1e-9), "b": (math.exp(-0.1), 1e-9)},
    {"a": (math.exp(0.1), 1e-9), "b": (math.exp(0.1), 1e-9)},
)


def test_what_errors_do_not_explain_is_the_effect() -> None:
    """Logs of -0.1 and 0.1 have the variance 0.02; chi squared of one degree has 0.95 between 0.000982 and 5.024."""
    found = run_effect(APART)
    assert found is not None
    assert found.deviation == pytest.approx(math.sqrt(0.02))
    assert (found.runs, found.cases) == (2, 2)
    assert found.low == pytest.approx(math.sqrt(0.02 / 5.02389), rel=1e-4)
    assert found.high == pytest.approx(math.sqrt(0.02 / 0.000982069), rel=1e-4)


def test_what_errors_explain_is_taken_off() -> None:
    """Relative errors of 0.04 and 0.02 have the mean square 0.001."""
    first, second = {"a": (1.0, 0.04)}, {"a": (math.exp(0.1), 0.02 * math.exp(0.1))}
    found = run_effect([first, second])
    assert found is not None
    assert found.deviation == pytest.approx(math.sqrt(0.005 - 0.001))
    assert run_effect([first, first]).deviation == 0.0  # type: ignore[union-attr]


def test_only_what_every_run_knows_well_is_counted() -> None:
    first, second = APART
    vague = {**second, "b": (1.0, 0.06)}
    assert run_effect([first, vague]).cases == 1  # type: ignore[union-attr]
    assert run_effect([first, {"c": (1.0, 0.01)}]) is None
    assert run_effect([first]) is None
    assert run_effect([]) is None
