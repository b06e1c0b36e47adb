"""A body that several cases run is judged by all of them together, and as seldom wrongly as is promised."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import special

from pyopbench.judge.comparison.bodies import (
    FEWEST_FOR_WEIGHTS,
    BodyKey,
    body_estimates,
    shared_bodies,
    weights_of,
)
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.judge.comparison.sides import BLOCK
from pyopbench.judge.verdicts import verdicts_on
from pyopbench.model.case import Case
from pyopbench.stats.estimate import UNKNOWN, Estimate, Launches, Spread, moderated, usual_spread
from revision_runs import write_revisions

KEY = BodyKey("op", "numpy", "callback")
SPREAD = 0.03
ERROR = 0.05


def drawn(rng, blocks, cases, common, slower=0.0, unlike=0.5):
    """Return log ratios `(blocks, cases)`: each case with a spread of its own, a share of the variance in common."""
    scales = np.exp(unlike * rng.standard_normal(cases))
    own, shared = rng.standard_normal((blocks, cases)), rng.standard_normal((blocks, 1))
    return SPREAD * scales * (math.sqrt(common) * shared + math.sqrt(1 - common) * own) + math.log1p(slower)


def estimated(values):
    (found,) = moderated([Launches(values @ weights_of(values))])
    return found


def told_apart(values, minimum_effect):
    return verdicts_on([estimated(values)], minimum_effect, ERROR)[0].outcome


def most_often(rate, series):
    """Return what a count exceeds in one of 10,000 simulations at a rate, by the binomial distribution."""
    counts = np.arange(series + 1)
    return int(counts[special.bdtr(counts, series, rate) >= 1 - 1e-4][0])


@pytest.mark.nightly
@pytest.mark.parametrize(("cases", "blocks"), [(10, 2), (20, 2), (6, 3)])
def test_cases_that_agree_by_chance_all_at_once_make_no_body_sure_of_itself(cases, blocks):
    """Launches that differ by 10%, of which cases share nine tenths, at the error and minimum effect of a gate."""
    rng, many, false = np.random.default_rng([cases, blocks]), 1000, 0
    names = [f"case {number}" for number in range(cases)]
    bodies = {KEY: tuple(names)}
    for _ in range(many):
        values = drawn(rng, blocks, cases, 0.9, unlike=0.0) * (0.1 / SPREAD)
        usual = usual_spread([Launches(column) for column in values.T])
        pairs = pd.DataFrame(
            [
                {"run": "r", BLOCK: block, "case": name, "value": values[block, number], "error": 0.0}
                for block in range(blocks)
                for number, name in enumerate(names)
            ]
        )
        (verdict,) = verdicts_on(body_estimates(pairs, bodies, usual), 0.05 / 3, 0.005)
        false += verdict.outcome in ("slower", "faster")
    assert false <= most_often(0.005, many)


@pytest.mark.nightly
@pytest.mark.parametrize("blocks", [3, 6])
@pytest.mark.parametrize("common", [0.0, 0.9])
def test_noise_that_cases_have_in_common_makes_no_more_false_verdicts(blocks, common):
    rng = np.random.default_rng([blocks, int(10 * common)])
    many = 400
    false = sum(told_apart(drawn(rng, blocks, 8, common), 1e-9) in ("slower", "faster") for _ in range(many))
    assert false <= most_often(ERROR, many)


def test_cases_that_are_pooled_as_if_they_were_launches_make_far_more():
    """So that the test above could fail: eight cases of a launch are not eight launches."""
    rng = np.random.default_rng(4)
    many = 200
    false = sum(
        verdicts_on([Estimate.of(drawn(rng, 3, 8, 0.9).ravel())], 1e-9, ERROR)[0].outcome in ("slower", "faster")
        for _ in range(many)
    )
    assert false > 3 * most_often(ERROR, many)


def test_a_slowdown_that_no_case_shows_is_shown_by_all_of_them():
    rng = np.random.default_rng(5)
    found, alone = 0, 0
    for _ in range(100):
        values = drawn(rng, 4, 8, 0.1, slower=0.1)
        found += told_apart(values, 0.05 / 3) == "slower"
        each = verdicts_on([Estimate.of(column) for column in values.T], 0.05 / 3, ERROR)
        alone += any(one.outcome == "slower" for one in each)
    assert found >= 85
    assert alone < found


def test_weights_are_equal_for_few_blocks_and_less_for_what_scatters_more():
    rng = np.random.default_rng(6)
    values = rng.standard_normal((FEWEST_FOR_WEIGHTS, 3)) * [1.0, 1.0, 10.0]
    assert weights_of(values[:-1]) == pytest.approx([1 / 3] * 3)
    assert weights_of(values[:-1, :1]) == weights_of(np.ones_like(values[:, :1])) == [1.0]
    assert not weights_of(np.zeros((0, 0))).size  # of a body whose sides never met in a launch
    weights = weights_of(values)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[2] < 0.7 * min(weights[:2])


def test_blocks_that_lack_a_case_are_left_out():
    values = pd.DataFrame(
        [("a", 0, 0, 0.1), ("b", 0, 0, 0.3), ("a", 0, 1, 0.2), ("b", 0, 1, 0.4), ("a", 0, 2, 9.0)],
        columns=["case", "run", "block", "value"],
    )
    (found,) = body_estimates(values.assign(tool="pyopbench", error=0.01), {KEY: ("a", "b")}, UNKNOWN)
    assert (found.n, found.mean) == (2, pytest.approx(0.25))


def test_blocks_of_a_body_that_agree_are_taken_to_differ_by_five_percent_as_far_as_four_degrees_go():
    values = pd.DataFrame(
        [(case, 0, block, 0.02) for case in "ab" for block in range(4)], columns=["case", "run", "block", "value"]
    )
    quiet = Spread(1e-8)
    (found,) = body_estimates(values.assign(tool="pyopbench", error=0.0), {KEY: ("a", "b")}, quiet)
    assert found.standard_error == pytest.approx(math.sqrt(4 / 7 * 0.05**2 / 4))


def test_a_gate_fails_on_a_body_and_says_which(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {})
    found = read_gate(folder, 0.03, 0.05).comparisons["r1"]
    slower = {name: 1.08 for body in found.bodies for name in body.cases}
    gate = read_gate(write_revisions(tmp_path / "slower", {}, slower), 0.03, 0.05)
    assert [str(body.key) for _, body in gate.slower_bodies] == [str(body.key) for body in found.bodies]
    assert gate.exit_code == 1


def test_a_body_has_the_cases_of_callbacks_and_none_of_ports(tmp_path: Path) -> None:
    sides = read_gate(write_revisions(tmp_path, {}, {}), 0.03, 0.05).comparisons["r1"].sides
    catalogue = sides.first.run.catalogue
    bodies = shared_bodies(catalogue, sorted(set(sides.first.frame["case"])))
    for key, names in bodies.items():
        variants = {Case.from_id(name).variant for name in names}
        assert {(catalogue.variant(one).body, catalogue.variant(one).kind) for one in variants} == {
            (key.body, key.kind)
        }
    assert bodies
