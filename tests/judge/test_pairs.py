"""Controls against what they are made from, where differences are known; and the run effect that is certified."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from certificates import certificate
from frames import NODE, Bench, run_of
from pyopbench.judge.compared import compared, run_effect_for
from pyopbench.judge.decision import Verdict
from pyopbench.judge.pairs import shares_of_pairs
from pyopbench.model.case import Case
from pyopbench.stats.launch_model import RUN_EFFECT

TODAY = "py_function_numpy"
PAIRS = {"xla": "native", "py_function": TODAY, "py_func": "numpy_function"}
"""Each stands for a control of what it is paired with: a copy of a port, of the current callback, of another one."""
COSTS = {TODAY: 1e-4, "py_function": 1e-4, "numpy_function": 5e-5, "py_func": 5e-5, "native": 1e-6, "xla": 1e-6}


def verdicts(costs: dict[str, float], **changes: Any) -> dict[str, Verdict]:
    """Return the verdict on each control of a run of one size, by its name."""
    bench = Bench(costs, sizes=(10,), mode=NODE, launches=8, rounds=40, within=0.002, between=0.001, **changes)
    run = run_of(bench)
    run.settings = structs.replace(run.settings, pairs=PAIRS)
    found = compared(run, TODAY, 0.03)  # type: ignore[arg-type]
    assert not found.comparisons
    return {Case.from_id(verdict.case).variant: verdict for verdict in found.verdicts}


def test_identical_pairs_are_equal() -> None:
    found = verdicts(COSTS)
    assert {name: verdict.outcome for name, verdict in found.items()} == dict.fromkeys(PAIRS, "equivalent")
    assert {Case.from_id(verdict.baseline).variant for verdict in found.values()} == set(PAIRS.values())


def test_a_port_differs_by_points_of_the_current_callbacks_time() -> None:
    """Half a microsecond more is half of the port, and half a point of today's 100 us; 5 us more are 5 points."""
    near = verdicts({**COSTS, "xla": 1.5e-6})["xla"]
    assert (near.outcome, near.ratio) == ("equivalent", pytest.approx(1.005, abs=0.002))
    far = verdicts({**COSTS, "xla": 6e-6})["xla"]
    assert (far.outcome, far.ratio) == ("slower", pytest.approx(1.05, abs=0.003))


def test_a_callback_differs_by_points_of_the_current_ones_time() -> None:
    """A tenth of 50 us is 5 points of 100 us."""
    found = verdicts({**COSTS, "py_func": 5.5e-5, "py_function": 1.05e-4})
    assert (found["py_func"].outcome, found["py_func"].ratio) == ("slower", pytest.approx(1.05, abs=0.01))
    assert (found["py_function"].outcome, found["py_function"].ratio) == ("slower", pytest.approx(1.05, abs=0.01))
    assert found["xla"].outcome == "equivalent"


def test_on_a_busy_machine_a_copy_is_no_cheaper_than_its_original() -> None:
    """Blocks vary by so much that the callback costs less than nothing in many rounds, which have no ratio."""
    bench = Bench(COSTS, sizes=(10,), mode=NODE, launches=40, rounds=200, within=0.4, between=0.0, copies=1, seed=3)
    run = run_of(bench)
    run.settings = structs.replace(run.settings, pairs={"py_function": TODAY})
    (verdict,) = compared(run, TODAY, 0.03).verdicts  # type: ignore[arg-type]
    (estimate,) = compared(run, TODAY, 0.03).estimates  # type: ignore[arg-type]
    assert verdict.ratio == pytest.approx(1.0, abs=3 * estimate.standard_error)
    assert estimate.standard_error < 0.06


def test_of_skewed_noise_a_slowdown_is_found_in_full() -> None:
    """Costs vary by a lognormal of 0.8 to the right, and so do those of the slowed copy, which are 10% more each.

    The median of differences would find 8.6%.
    """
    rng, launches, rounds = np.random.default_rng(5), 40, 4_000
    shape = (launches, rounds)
    today, slowed = (factor * np.exp(rng.normal(0.0, 0.8, shape)) for factor in (1.0, 1.1))
    at = np.indices(shape).reshape(2, -1)
    frame = pd.concat(
        pd.DataFrame({"case": case, "tool": "", "run": "", "launch": at[0], "round": at[1], "seconds": costs.ravel()})
        for case, costs in (("today", today), ("slowed", slowed))
    )
    found = shares_of_pairs(frame, {"slowed": "today"}, {"slowed": "today"})["slowed"]
    assert found.values.mean() == pytest.approx(0.1, abs=0.007)


def test_no_run_effect_lies_between_two_of_a_pair() -> None:
    """Both cross the same bridge. An ordinary run of the same cases allows for one in what ports cost."""
    bench = Bench(COSTS, sizes=(10,), mode=NODE, launches=8, rounds=40)
    paired, ordinary = run_of(bench), run_of(bench)
    paired.settings = structs.replace(paired.settings, pairs=PAIRS)
    assert {estimate.shared for estimate in compared(paired, TODAY, 0.03).estimates} == {0.0}  # type: ignore[arg-type]
    assert max(estimate.shared for estimate in compared(ordinary, TODAY, 0.03).estimates) > 0  # type: ignore[arg-type]


def test_a_pair_without_the_current_callback_has_no_verdict() -> None:
    run = run_of(Bench({name: COSTS[name] for name in ("native", "xla", "numpy_function", "py_func")}, sizes=(10,)))
    run.settings = structs.replace(run.settings, pairs=PAIRS)
    found = {Case.from_id(one.case).variant: one for one in compared(run, TODAY, 0.03).verdicts}  # type: ignore[arg-type]
    assert {name: verdict.launches for name, verdict in found.items()} == {"xla": 0, "py_func": 0}
    assert {verdict.outcome for verdict in found.values()} == {"unresolved"}


def test_intervals_allow_for_the_run_effect_that_is_certified() -> None:
    made = certificate()
    assert made.run_effect is not None
    for stored, expected in (
        (None, RUN_EFFECT),
        (certificate(run_effect=None), RUN_EFFECT),
        (made, made.run_effect.allowed),
    ):
        assert run_effect_for(SimpleNamespace(certificate=stored)) == expected  # type: ignore[arg-type]
    run = run_of(Bench(COSTS, sizes=(10,), mode=NODE))
    run.certificate = certificate(run_effect=replace(made.run_effect, allowed=0.5))
    found = compared(run, TODAY, 0.03)  # type: ignore[arg-type]
    assert found.model.run_effect == 0.5
    port = next(one for one, verdict in zip(found.estimates, found.verdicts, strict=True) if "/native/" in verdict.case)
    assert port.shared == pytest.approx((0.5 * 0.01) ** 2, rel=0.1)
