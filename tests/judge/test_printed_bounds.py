"""No bound that is printed contradicts an estimate that is printed near it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from frames import VARIANTS, Bench
from pyopbench.judge import judge
from pyopbench.judge.judge import Judgement

pytestmark = pytest.mark.nightly


def contradictions(judged: Judgement) -> list[str]:
    """Return which bounds that a report prints are contradicted by an estimate that it prints as well."""
    found = []
    for decision, (_, made) in zip(judged.decisions, judged.choices, strict=True):
        gains = {} if made is None else {gain.label: gain.saved for gain in made[0].gains}
        if decision.loss is not None and gains:
            lost = max(gains.values()) - gains.get(decision.choice or "", 0.0)
            found += ["loss"] if lost > decision.loss + 1e-9 else []
        ends = [(decision.saved_low, decision.saved, decision.saved_high)]
        ends += [(part.saved_low, part.saved, math.inf) for part in decision.ranges]
        found += [
            "interval" for low, saved, high in ends if None not in (low, saved, high) and not low <= saved <= high
        ]
    return found


def noisy_judgement(seed: int) -> Judgement:
    """Return a made-up judgement in which costs inside a graph are about as uncertain as they are large."""
    rng = np.random.default_rng(seed)
    curves = {
        name: float(cost) for name, cost in zip(VARIANTS, np.exp(rng.uniform(-13, -8, len(VARIANTS))), strict=True)
    }
    bench = Bench(
        curves,
        sizes=(10, 1000),
        mode=("call", "node")[seed % 2],
        launches=int(rng.integers(2, 5)),
        within=float(rng.uniform(0.01, 0.4)),
        between=float(rng.uniform(0.01, 0.3)),
        seed=seed,
    )
    run = bench.run()
    return judge.judge_run(run)


def test_no_bound_that_is_printed_contradicts_an_estimate_that_is_printed() -> None:
    """A gain of "at most 1.48 times" is not printed near 2.8 times."""
    assert [(seed, found) for seed in range(40) if (found := contradictions(noisy_judgement(seed)))] == []


def test_a_printed_bound_that_an_estimate_contradicts_is_found() -> None:
    made_up = map(noisy_judgement, range(40))
    judged = next(one for one in made_up if one.decisions[0].saved is not None)
    (made,) = judged.decisions
    assert made.saved is not None
    assert contradictions(judged) == []
    for planted, kind in ((replace(made, loss=-1.0), "loss"), (replace(made, saved_low=made.saved + 0.1), "interval")):
        assert kind in contradictions(replace(judged, decisions=(planted,))), planted
