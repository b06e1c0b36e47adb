"""Pairs of turns in different states of the machine are discarded, by what the system reports and never by times."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

from pyopbench.judge.comparison.gate import read_gate
from pyopbench.judge.noise import LEAST_BLOCKS, MachineState, are_unlike, unlike_turns
from pyopbench.report import gate as report
from revision_runs import write_revisions
from simulated_states import LEVEL, STATES, gates, turns

MANY = 300


def most_often(rate: float) -> int:
    """Return what a count of `MANY` exceeds in one of 10,000 simulations at a rate, by the binomial distribution."""
    counts = np.arange(MANY + 1)
    return int(counts[special.bdtr(counts, MANY, rate) >= 1 - 1e-4][0])


@pytest.mark.parametrize("state", [state for state in STATES if state != "second side"])
@pytest.mark.parametrize(("blocks", "sweeps"), [(8, 1), (12, 1), (8, 3)])
def test_identical_code_is_told_apart_as_seldom_as_is_promised(state: str, blocks: int, sweeps: int) -> None:
    for judged in gates(state, blocks, sweeps, MANY):
        assert judged.told_apart <= most_often(1 - LEVEL)


def test_a_side_that_always_has_the_slow_core_looks_slower_only_without_the_rule() -> None:
    """So that the test above could fail."""
    every, kept = gates("second side", 8, 30, MANY)
    assert every.told_apart > most_often(1 - LEVEL) >= kept.told_apart


@pytest.mark.parametrize("state", ["random", "second half"])
@pytest.mark.parametrize(("blocks", "sweeps", "narrower"), [(8, 1, 0.6), (12, 1, 0.6), (8, 3, 0.9)])
def test_slow_cores_in_some_halves_no_longer_blur_a_slowdown(
    state: str, blocks: int, sweeps: int, narrower: float
) -> None:
    every, kept = gates(state, blocks, sweeps, MANY)
    assert kept.width < narrower * every.width
    assert kept.found > every.found


def test_nothing_is_discarded_if_states_do_not_differ() -> None:
    rng = np.random.default_rng(0)
    for blocks in (8, 12, 100):
        assert not are_unlike(turns(rng, "alike", blocks, 1)[1]).any()
        assert not are_unlike(np.zeros((blocks, 3))).any()
        assert not are_unlike(np.full((blocks, 3), np.nan)).any(), "a system that reports nothing"


def test_what_the_code_itself_does_is_no_other_state() -> None:
    differences = np.random.default_rng(0).normal([0.3, -0.2, 0.1], 0.001, (20, 3))
    assert not are_unlike(differences).any()
    differences[7, 1] += 0.1
    assert np.flatnonzero(are_unlike(differences)).tolist() == [7]


def test_where_most_pairs_differ_or_there_are_few_none_is_discarded() -> None:
    spread = np.random.default_rng(0).normal(0.0, 0.3, (20, 3))
    assert not are_unlike(spread).any()
    few = np.zeros((LEAST_BLOCKS - 1, 3))
    few[0] = 1.0
    assert not are_unlike(few).any()


def noise(**changes: list[float]) -> pd.DataFrame:
    many = LEAST_BLOCKS
    usual = {
        "run": ["r"] * many, "block": range(many), "group": ["g"] * many, "sweep": [0] * many,
        "wall_seconds": [1.0] * many, "steal_seconds": [0.0] * many, "mhz_low": [3e3] * many, "mhz_high": [3e3] * many,
    }  # fmt: skip
    return pd.DataFrame({**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"steal_seconds": [0.0] * 7 + [0.1]}, [7]),
        ({"steal_seconds": [0.0] * 7 + [0.02]}, []),
        ({"steal_seconds": [0.0] * 7 + [0.01], "wall_seconds": [0.02] * 8}, []),
        ({"mhz_low": [3e3] * 7 + [2.9e3]}, [7]),
        ({"mhz_high": [3.1e3] + [3e3] * 7}, [0]),
        ({"mhz_high": [3.01e3] + [3e3] * 7}, []),
        ({"mhz_low": [math.nan] * 8, "mhz_high": [math.nan] * 8, "steal_seconds": [math.nan] * 8}, []),
        ({"wall_seconds": [1.0] * 7 + [9.0]}, []),
    ],
)
def test_a_pair_is_unlike_by_stolen_time_and_clock_rate_and_not_by_how_long_it_took(
    changes: dict[str, Any], expected: list[int]
) -> None:
    for sides in ((noise(**changes), noise()), (noise(), noise(**changes))):
        found, many = unlike_turns(*sides, 2)
        assert (found["block"].tolist(), many) == (expected, LEAST_BLOCKS)


SLOW = {0: {1: 0.6, 5: 0.6}, 1: {3: 0.6, 7: 0.6, 9: 0.6}}
"""Place of a side -> its launches on a slow core."""


def test_a_gate_discards_them_and_says_how_many(tmp_path: Path) -> None:
    told, silent = (
        read_gate(write_revisions(tmp_path / str(one), {}, {}, launches=12, clocks=SLOW, are_told=one), 0.03, 0.05)
        for one in (True, False)
    )
    assert told.machine is not None
    assert silent.machine is not None
    assert (told.machine.turns, told.machine.discarded) == (24, 10)
    assert (silent.machine.turns, silent.machine.discarded) == (24, 0)
    assert {one.verdict.launches for one in told.comparisons["r1"].cases} == {7}
    assert {one.verdict.launches for one in silent.comparisons["r1"].cases} == {12}
    assert told.smallest is not None
    assert silent.smallest is not None
    assert told.smallest < silent.smallest / 5
    assert f"{told.machine.discarded:,} of {told.machine.turns:,}" in report.comment(told)


@pytest.mark.parametrize(
    ("changes", "is_quiet"),
    [({}, True), ({"load": 2.0}, True), ({"load": 11.7}, False), ({"steal_seconds": 0.1}, False)],
)
def test_a_gate_on_a_busy_machine_is_not_to_be_trusted(
    tmp_path: Path, changes: dict[str, float], is_quiet: bool
) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}, noise=changes), 0.03, 0.05)
    assert gate.machine is not None
    assert gate.machine.is_quiet is is_quiet
    assert bool(gate.warning_text()) is not is_quiet
    assert (gate.warning_text() in report.comment(gate).replace("\\", "")) or is_quiet
    assert gate.warning_text().endswith("pyopbench run" if not is_quiet else "")
    assert f'"is_quiet": {str(is_quiet).lower()}' in report.as_json(gate)
    assert gate.outcome == "passed"


def test_what_a_system_does_not_report_is_beyond_no_limit() -> None:
    unknown = MachineState(8, 0, None, None, 2)
    assert unknown.is_quiet
    assert unknown.text()
