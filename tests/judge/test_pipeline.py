"""What to do about a callback in an input pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pipelines import ALL, BATCH, CURRENT, PARALLEL, POOL, PORT, failure, id_of, plan, rows
from pyopbench.judge.pipeline import (
    PipelineJudgement,
    TrainingStep,
    interim_analysis_of,
    judge,
    step_of,
)
from pyopbench.model.arrangement import Arrangement
from pyopbench.model.errors import NothingMeasured
from pyopbench.model.formatting import points

EFFECT = 0.03
NO_STEP = TrainingStep(32)
LOOP = Arrangement("batch_loop", "batch", "ds.batch(8).map(loop_over_batch)", 1, 8)
ALIKE = {one.key: 1e-4 for one in (CURRENT, PARALLEL, BATCH, POOL, PORT)}


def judged(seconds: Mapping[str, float], step: TrainingStep = NO_STEP, **how: Any) -> PipelineJudgement:
    return judge(rows({**ALIKE, **seconds}, **how), EFFECT, step)


@pytest.mark.parametrize(
    ("seconds", "action"),
    [
        ({}, "keep"),
        ({PARALLEL.key: 5e-5}, "parallel"),
        ({BATCH.key: 1e-5}, "batch"),
        ({POOL.key: 5e-5}, "processes"),
        ({PORT.key: 5e-5}, "port"),
        ({PORT.key: 1e-6, BATCH.key: 2e-6}, "batch"),
        ({POOL.key: 5e-5, PARALLEL.key: 5e-5}, "parallel"),
        ({PORT.key: 1e-5, POOL.key: 5e-5}, "port"),
        ({POOL.key: 5e-5, PARALLEL.key: 5.5e-5}, "parallel"),
        ({POOL.key: 5e-5, PARALLEL.key: 6.5e-5}, "processes"),
        ({one.key: 2e-4 for one in (PARALLEL, BATCH, POOL, PORT)}, "keep"),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_chosen_is_the_least_work_among_what_is_as_good_as_the_best(
    seconds: Mapping[str, float], action: str, seed: int
) -> None:
    assert judged(seconds, seed=seed).action == action


def test_the_gain_is_the_ratio_of_the_times_and_its_interval_covers_it() -> None:
    found = judged({BATCH.key: 2.5e-5}).choice.gain
    assert found is not None
    value, low, high = found.times
    assert low < 4 < high
    assert value == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(
    ("loss", "is_told"), [(0.02, True), (0.001, True), (0.0004, False), (0.0, False), (-0.01, False)]
)
def test_what_the_answer_may_cost_is_told_where_it_is_more_than_nothing(loss: float, is_told: bool) -> None:
    found = judged({BATCH.key: 2.5e-5})
    told = set(replace(found, choice=replace(found.choice, loss=loss)).sentences())
    unknown = set(replace(found, choice=replace(found.choice, loss=None)).sentences())
    (added,) = told - unknown
    assert (points(loss) in added) == is_told


def test_an_input_that_hides_behind_the_step_is_kept_whatever_there_is() -> None:
    found = judged({BATCH.key: 1e-5}, TrainingStep(32, 32 * 1.5e-4))
    assert found.is_hidden
    assert found.action == "keep"


def test_only_what_the_step_still_waits_for_is_worth_anything() -> None:
    """A port would be ten times as quick, but twice is enough for the step, and takes less work."""
    step = TrainingStep(32, 32 * 5e-5)
    found = judged({PORT.key: 1e-5, PARALLEL.key: 4.9e-5}, step)
    assert found.is_hidden is False
    assert found.action == "parallel"


@pytest.mark.parametrize("step", [NO_STEP, TrainingStep(32, 1e-6), TrainingStep(32, 10.0)])
def test_one_launch_decides_nothing(step: TrainingStep) -> None:
    stored = rows({**ALIKE, BATCH.key: 1e-5})
    found = judge(replace(stored, frame=stored.frame[stored.frame["launch"] == 0]), EFFECT, step)
    assert (found.action, found.is_hidden) == ("undecided", None)
    assert len(found.throughputs) == len(ALIKE)


def test_what_was_measured_in_one_launch_is_shown_and_not_chosen() -> None:
    stored = rows({**ALIKE, BATCH.key: 1e-5, PORT.key: 1e-6})
    is_there = (stored.frame["case"] != id_of(PORT)) | (stored.frame["launch"] == 0)
    found = judge(replace(stored, frame=stored.frame[is_there]), EFFECT, NO_STEP)
    assert found.action == "batch"
    assert PORT.key in found.by_key


@pytest.mark.nightly
def test_the_same_arrangement_twice_is_not_told_apart() -> None:
    """100 times five equals: hardly ever is it said that one is better, and seldom that it cannot be told."""
    told = [judged({}, seed=seed, noise=0.02).action for seed in range(100)]
    assert sum(one not in ("keep", "undecided") for one in told) <= 2
    assert told.count("undecided") <= 50  # what three launches of five arrangements usually differ by is not known


@pytest.mark.nightly
def test_arrangements_about_as_good_do_not_take_turns_in_noisy_launches() -> None:
    """Shares and noise as measured of `examples/input_pipeline/denoise.py` on a machine that others use too."""
    shares = {CURRENT.key: 1.0, PARALLEL.key: 0.515, LOOP.key: 0.485, POOL.key: 0.45}
    noisy = {"arrangements": (CURRENT, PARALLEL, LOOP, POOL), "noise": 0.06}
    found = [judge(rows(shares, seed=seed, **noisy), EFFECT, NO_STEP) for seed in range(50)]
    assert sum(one.action == PARALLEL.action for one in found) >= 48


def test_what_failed_in_a_launch_has_no_number_but_for_the_current_callback() -> None:
    """What that did before it failed is what all others are compared with."""
    failures = [{**failure(PORT.key), "case": id_of(PORT)}, failure(CURRENT.key)]
    found = judge(rows({**ALIKE, PORT.key: 1e-6, BATCH.key: 1e-5}, failures=failures), EFFECT, NO_STEP)
    assert found.by_key.keys() == {CURRENT.key, PARALLEL.key, BATCH.key, POOL.key}
    assert found.action == "batch"


def test_without_a_number_of_the_current_callback_there_is_nothing_to_judge() -> None:
    stored = rows(ALIKE)
    with pytest.raises(NothingMeasured):
        judge(replace(stored, frame=stored.frame[stored.frame["case"] != id_of(CURRENT)]), EFFECT, NO_STEP)


def test_the_seconds_that_processes_take_to_start_are_reported_apart() -> None:
    found = judged({})
    assert found.by_key[POOL.key].pool_start_seconds == 4.0
    assert found.by_key[POOL.key].seconds == pytest.approx(1e-4, rel=0.1)
    assert found.current.pool_start_seconds is None


def open_keys(seconds: Mapping[str, float], **planned: Any) -> set[str]:
    """Return the keys of what is measured on after an interim analysis."""
    changes = {"pipeline": plan(**planned)}
    ids = interim_analysis_of(rows({**ALIKE, **seconds}, changes=changes), 1).open
    return {one.key for one in ALL if id_of(one) in ids}


def test_what_is_far_from_the_best_is_measured_no_more_but_for_the_current_callback() -> None:
    assert open_keys({}) == {*ALIKE}
    assert open_keys({CURRENT.key: 1e-2, POOL.key: 1e-2}) == {*ALIKE} - {POOL.key}


def test_the_arrangement_of_the_program_is_measured_on_however_slow_it_is() -> None:
    """Without an interval of its own, nothing that is compared with it would have one."""
    assert POOL.key in open_keys({CURRENT.key: 1e-2, POOL.key: 1e-2}, in_program=POOL.key)


def test_what_keeps_up_with_the_training_step_is_measured_on_however_quick_the_best_is() -> None:
    assert POOL.key in open_keys({CURRENT.key: 1e-2, POOL.key: 1e-2}, step_seconds=6e-3)


def test_the_step_of_a_run_is_the_one_that_it_was_planned_for() -> None:
    assert step_of(rows(ALIKE).plan) == TrainingStep(32)
    planned = rows(ALIKE, changes={"pipeline": plan(step_seconds=1e-3, step_elements=8)}).plan
    step = step_of(planned)
    assert (step.elements, step.seconds) == (8, pytest.approx(8e-3))


def test_the_command_of_the_answer_writes_what_was_measured() -> None:
    words = ("my_op.py",)
    of_pool = judge(replace(rows({**ALIKE, POOL.key: 2e-5}), words=words), 0.03, TrainingStep(32, None))
    assert of_pool.command == ("pyopbench", "port", "my_op.py", "--to", POOL.key, "--out", "double_arranged.py")
    built_in = judge(rows({**ALIKE, POOL.key: 2e-5}), 0.03, TrainingStep(32, None))
    theirs = judge(replace(rows({**ALIKE, PORT.key: 1e-5}), words=words), 0.03, TrainingStep(32, None))
    keep = judge(replace(rows(ALIKE), words=words), 0.03, TrainingStep(32, None))
    assert (built_in.command, theirs.command, keep.command) == ((), (), ())
