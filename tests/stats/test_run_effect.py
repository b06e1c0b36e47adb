"""What runs differ by beyond what their launches show: numbers by hand."""

from __future__ import annotations

import math

import numpy as np
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


def test_intervals_allow_for_what_few_runs_tell_badly() -> None:
    """As many times the deviation as Student's quantile of one degree, 12.7062, is the normal one, 1.95996."""
    found = run_effect(APART)
    assert found is not None
    assert found.allowed == pytest.approx(math.sqrt(0.02) * 12.7062 / 1.95996, rel=1e-4)


def test_intervals_that_are_all_run_effect_hold_the_truth_as_often_as_they_say() -> None:
    """With 30,000 sets of three runs; the estimate itself, without what is allowed for, holds it in 81%."""
    rng = np.random.default_rng(0)
    effects = rng.normal(0.0, 0.05, (30_000, 4))
    factor = run_effect([{"a": (math.exp(at), 1e-9)} for at in (-0.1, 0.0, 0.1)])
    assert factor is not None
    deviations = effects[:, :3].std(axis=1, ddof=1)
    held = {
        name: float(np.mean(np.abs(effects[:, 3]) <= 1.959964 * deviations * allowed))
        for name, allowed in (("estimate", 1.0), ("allowed", factor.allowed / factor.deviation))
    }
    assert held == {"estimate": pytest.approx(0.81, abs=0.01), "allowed": pytest.approx(0.95, abs=0.005)}


def test_runs_that_agree_by_chance_leave_something_to_allow_for() -> None:
    """Logs of -0.01 and 0.01 vary by 0.0002, which errors of 0.02 explain with their 0.0004."""
    found = run_effect([{"a": (math.exp(at), 0.02 * math.exp(at))} for at in (-0.01, 0.01)])
    assert found is not None
    assert found.deviation == 0.0
    assert found.allowed == pytest.approx(math.sqrt(0.0002 * (12.7062 / 1.95996) ** 2 - 0.0002), rel=1e-4)


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
