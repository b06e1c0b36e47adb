"""What runs differ by beyond what their launches show: numbers by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from pyopbench.stats.launch_model import RUN_EFFECT
from pyopbench.stats.run_effect import run_effect
from pyopbench.store.certificate import RunEffect

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


def test_where_errors_explain_what_was_seen_intervals_allow_for_what_is_usual() -> None:
    """Logs of -0.01 and 0.01 vary by 0.0002, which errors of 0.02 explain with their 0.0004."""
    found = run_effect([{"a": (math.exp(at), 0.02 * math.exp(at))} for at in (-0.01, 0.01)])
    assert found is not None
    assert (found.deviation, found.low, found.allowed) == (0.0, 0.0, RUN_EFFECT)
    noise = 1.959964 * math.sqrt(2) * 0.0004
    assert found.high == pytest.approx(math.sqrt((0.0002 - 0.0004 + noise) / 0.000982069), rel=1e-4)


def test_an_effect_that_is_not_above_the_noise_of_errors_is_not_shown() -> None:
    """It varies by 0.02 here, of which errors explain 0.01 and may well explain all."""
    found = run_effect([{"a": (math.exp(at), 0.1 * math.exp(at))} for at in (-0.1, 0.1)])
    assert found is not None
    assert found.deviation == pytest.approx(0.1)
    assert (found.low, found.allowed) == (0.0, RUN_EFFECT)


def simulated(rng: np.random.Generator, effect: float, errors: Sequence[float]) -> RunEffect:
    """Return what three runs show, of ports with such errors that all shift alike from run to run."""
    runs = []
    for _ in range(3):
        shift = rng.normal(0.0, effect)
        runs.append({str(port): (math.exp(shift + rng.normal(0.0, error)), error) for port, error in enumerate(errors)})
    found = run_effect(runs)
    assert found is not None
    return found


@pytest.mark.parametrize("effect", [0.0, 0.04, 0.1])
def test_the_interval_holds_the_truth_whatever_the_errors(effect: float) -> None:
    """Ports of which few are known well: 60 of 5 to 15%, and 10 of 1%."""
    rng = np.random.default_rng(1)
    errors = [*rng.uniform(0.05, 0.15, 60), *[0.01] * 10]
    found = [simulated(rng, effect, errors) for _ in range(400)]
    assert np.mean([one.low <= effect <= one.high for one in found]) >= 0.93
    variance = np.mean([one.deviation**2 for one in found])
    assert variance == pytest.approx(effect**2, abs=0.2 * effect**2 + 0.0001)


def test_what_is_known_badly_does_not_hide_what_is_known_well() -> None:
    """Sixty ports of 20% say nothing of an effect of 4%, and four of 1% do, wherever they stand."""
    rng = np.random.default_rng(2)
    alone = [simulated(rng, 0.04, [0.01] * 4).deviation ** 2 for _ in range(300)]
    hidden = [simulated(rng, 0.04, [*[0.2] * 60, *[0.01] * 4]).deviation ** 2 for _ in range(300)]
    assert np.std(hidden) <= 1.2 * np.std(alone)


def test_what_errors_explain_is_taken_off() -> None:
    """Relative errors of 0.04 and 0.02 have the mean square 0.001."""
    first, second = {"a": (1.0, 0.04)}, {"a": (math.exp(0.1), 0.02 * math.exp(0.1))}
    found = run_effect([first, second])
    assert found is not None
    assert found.deviation == pytest.approx(math.sqrt(0.005 - 0.001))
    assert run_effect([first, first]).deviation == 0.0  # type: ignore[union-attr]


def test_only_what_every_run_knows_well_is_counted() -> None:
    first, second = APART
    vague = {**second, "b": (1.0, 0.21)}
    assert run_effect([first, vague]).cases == 1  # type: ignore[union-attr]
    assert run_effect([first, {"c": (1.0, 0.01)}]) is None
    assert run_effect([first]) is None
    assert run_effect([]) is None
