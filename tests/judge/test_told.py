"""What sentences name: the numbers, sides and cases that they are about, and no others. None holds how it is said."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from scipy import stats

import pipelines
import stored
from frames import Bench
from histories import stepped, write_commits
from judgements import decision
from pairs import cases, write_run
from pipelines import BATCH, CURRENT, PARALLEL, POOL
from pyopbench.judge import pipeline
from pyopbench.judge.comparison import diff, gate
from pyopbench.judge.comparison.history import read_history
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.judge.decision import standing_text
from pyopbench.judge.evidence import notes_of
from pyopbench.judge.latencies import Hole, op_of, without_number_text
from pyopbench.judge.noise import UNKNOWN_STATE, MachineState, machine_state
from pyopbench.judge.ports import Attempt, pays_text, port_path
from pyopbench.judge.verdicts import Controls
from pyopbench.model.case import Failure
from pyopbench.stats import estimate
from pyopbench.stats.costs import round_costs
from pyopbench.stats.unpaired import unpaired
from pyopbench.store.types import PortLine
from revision_runs import DIFFERENT, revision, write_revisions

CASES = cases()
EVERY = {one.key: 1e-4 for one in pipelines.ALL}


def has(text: str, *facts: object) -> bool:
    return all(str(fact) in text for fact in facts)


# The machine


@pytest.mark.parametrize(
    ("load", "stolen", "large"),
    [(None, None, []), (4.0, 0.01, []), (4.1, 0.01, ["4.1"]), (4.0, 0.011, ["1.1%"]), (9.0, 0.5, ["9.0", "50%"])],
)
def test_a_machine_is_busy_with_more_load_than_cores_or_more_than_a_percent_stolen(
    load: float | None, stolen: float | None, large: list[str]
) -> None:
    state = MachineState(load, stolen, 4)
    told = state.warning_text(("pyopbench", "my run"))
    assert [fact for fact in ("4.1", "1.1%", "9.0", "50%") if fact in told] == large
    assert (state.is_quiet, "pyopbench 'my run'" in told) == (not large, bool(large))
    assert has(state.text(), *large)
    assert (state.text() == UNKNOWN_STATE.text()) == (load is None)


def test_the_load_is_the_median_of_groups_and_what_was_stolen_a_share_of_all_cores() -> None:
    """By hand: 1 of 4 s and 2 of 6 s on two cores; a group that does not know what was stolen does not count."""
    run: Any = Bench({"native": 1.0}, launches=1).run()
    rows = [(4.0, 1.0, 0.5), (6.0, 2.0, 9.0), (50.0, math.nan, 1.5)]
    run.noise = pd.DataFrame(rows, columns=["wall_seconds", "steal_seconds", "load"])
    assert machine_state([run]) == MachineState(1.5, pytest.approx(3 / 20), 2)  # type: ignore[arg-type]
    run.noise, run.environment = run.noise.iloc[:0], {}
    assert machine_state([run]) == UNKNOWN_STATE


# Input pipelines


def judged(seconds: dict[str, float], step: float | None = None, **how: Any) -> pipeline.PipelineJudgement:
    changes = {name: how.pop(name) for name in ("words", "failures", "launch_seconds") if name in how}
    rows = replace(pipelines.rows({**EVERY, **seconds}, **how), **changes)
    return pipeline.judge(rows, 0.03, pipeline.TrainingStep(10, step))


def test_an_answer_names_what_to_change_to_and_what_goes_with_it() -> None:
    found = judged({POOL.key: 2e-5}, words=("my_op.py",))
    assert has(found.answer_text(), POOL.code)
    assert has(" ".join(found.sentences()), found.why_text(), "pyopbench port my_op.py", "4.00 s", "10 elements")
    assert [one.seconds for one in found.throughputs] == sorted(one.seconds for one in found.throughputs)
    assert found.current.rate == pytest.approx(1e4, rel=0.05)
    kept = judged({})
    assert not has(kept.answer_text(), CURRENT.code)
    assert not has(" ".join(kept.sentences()), "4.00 s")
    for step, facts in ((2e-3, ["2.00 ms", "50%", "2.00×"]), (5e-4, ["500 µs", "200%"])):
        against = judged({}, step, noise=1e-9)
        exact = replace(against, current=replace(against.current, seconds=1e-4))
        assert (has(exact.sentences()[-1], "1.00 ms", *facts), against.is_hidden) == (True, step == 2e-3)
    others = judged({POOL.key: 2.0e-5, BATCH.key: 2.0e-5, PARALLEL.key: 2.0e-5})
    assert has(" ".join(others.sentences()), *others.choice.as_good)
    assert len(others.choice.as_good) == 2


@pytest.mark.parametrize(("seconds", "minutes"), [(0.0, 1), (15.0, 1), (15.1, 2), (31.0, 3)])
def test_one_launch_asks_for_four_in_as_many_minutes_as_they_take(seconds: float, minutes: int) -> None:
    rows = pipelines.rows(EVERY)
    alone = replace(rows, frame=rows.frame[rows.frame["launch"] == 0], launch_seconds=seconds)
    assert has(pipeline.judge(alone, 0.03, pipeline.TrainingStep(1)).why_text(), f"--launches 4 --budget {minutes}m")


def test_nobody_is_asked_for_more_than_two_hundred_launches_and_a_failed_callback_for_none() -> None:
    near: dict[str, Any] = {"seconds": {PARALLEL.key: 9.7e-5}, "noise": 0.05, "seed": 4}
    assert has(judged(**near).why_text(), "at least 200 launches")
    failed = Failure(pipelines.id_of(CURRENT), "raised", "no", 0)
    assert not has(judged(**near, failures=(failed,)).why_text(), "--launches")


def test_what_is_measured_on_is_within_twice_the_best_or_a_tenth_of_todays_time() -> None:
    for best, near, far in ((1e-4, 1.99e-4, 2.01e-4), (1e-6, 1.09e-5, 1.11e-5)):
        seconds = {CURRENT.key: 1e-4, PARALLEL.key: best, BATCH.key: best, POOL.key: near, pipelines.PORT.key: far}
        found = pipeline.interim_analysis_of(pipelines.rows(seconds, noise=0.0), 3)
        assert found.open == {pipelines.id_of(one) for one in (CURRENT, PARALLEL, BATCH, POOL)}
        assert has(found.text, "3 launches", "4 of 5")


# Two sides, and revisions


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> diff.Comparison:
    folder = tmp_path_factory.mktemp("two")
    write_run(folder / "a", CASES, seed=1)
    write_run(folder / "b", CASES, seed=2, factors={CASES[3]: 3.0}, environment={**stored.ENVIRONMENT, "cpu": "b"})
    return diff.compare_sides(read_sides(folder / "a", folder / "b"))


def test_a_comparison_names_its_sides_counts_and_notes(two: diff.Comparison) -> None:
    worst = two.cases[0]
    assert has(worst.text(), CASES[3], "3.0")
    assert has(two.title(), two.sides.first.label, two.sides.second.label, "pyopbench")
    assert has(two.summary(), "6 cases", "1 slower", "5 unresolved")
    processors, widened, corrected, reach = (note.text() for note in diff.notes_of(two))
    assert has(processors, "a processor in A", "b in B", diff.notes_of(two)[0].heading)
    assert [has(widened, "3%"), has(corrected, "5%")] == [True, True]
    assert reach == diff.reach_text(two.smallest or 0.0) not in (diff.reach_text(0.5), diff.reach_text(3.0))
    assert has(diff.notes_of(replace(two, among=3))[2].text(), "3 comparisons")
    assert [note.kind for note in diff.notes_of(replace(two, smallest=None))[2:]] == ["no_interval"]
    unsure, fast = (replace(worst, verdict=replace(worst.verdict, ratio=ratio)) for ratio in (math.nan, 0.5))
    assert min([fast, unsure, worst], key=diff.badness) is worst
    for side, other in (("A", "in B"), ("B", "in A")):
        told = [diff.UnmatchedCase("x", side, kind, "crashed", "signal 11").text()  # type: ignore[arg-type]
                for kind in ("failed", "not_reached", "not_measured")]  # fmt: skip
        assert all(has(one, other) for one in told)
        assert [has(one, "crashed", "signal 11") for one in told] == [True, False, False]


def test_the_smallest_slowdown_is_what_nine_of_ten_runs_show_by_the_first_of_holms_steps(two: diff.Comparison) -> None:
    """Half an interval corrected for six above the minimum effect, and what luck takes in nine of ten."""
    frames = [side.frame for side in (two.sides.first, two.sides.second)]
    launches = [estimate.launches_by_case(estimate.launch_logs(round_costs(one, estimate.UNIT))) for one in frames]
    found = unpaired(*(estimate.moderated(list(one.values())) for one in launches))
    reach = [stats.t(one.degrees).ppf([1 - 0.05 / 6 / 2, 0.9]).sum() * one.standard_error for one in found]
    assert two.smallest == pytest.approx(1.03 * math.exp(np.median(reach)) - 1)


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> gate.Gate:
    factors = {CASES[-1]: 1.2}, {CASES[-1]: 1.5, CASES[-2]: 1.1}
    told: dict[str, Any] = {"problems": {3: "no setup.py"}, "different": {1: DIFFERENT}}
    return gate.read_gate(write_revisions(tmp_path_factory.mktemp("gate"), {}, *factors, {}, **told), fail_on=0.05)


def test_a_gate_names_what_fails_the_worst_first(gated: gate.Gate) -> None:
    assert [label for label, _ in gated.slower] == ["r2", "r1", "r2"]
    ratios = [one.verdict.ratio for _, one in gated.slower_bodies]
    assert ratios == sorted(ratios, reverse=True)
    assert has(gated.answer_text(), "1 input", "1 side", "3 cases", "5%", f"{len(ratios)} bod")
    assert (gated.cases, gated.smallest) == (12, max(one.smallest or 0.0 for one in gated.comparisons.values()))
    assert replace(gated, fail_on=None).slower == replace(gated, fail_on=None).slower_bodies == ()
    ((label, difference),), (broken,) = gated.differences, gated.broken
    assert has(gate.difference_text(label, difference), "r1", "double", "10", DIFFERENT.reason)
    assert has(gated.broken_text(broken), "r3", "no setup.py")
    assert has(gated.reach_text(), diff.reach_text(gated.smallest or 0.0))
    for smallest in (0.049, 0.05, 0.06):
        alike = replace(gated, comparisons={"r1": replace(gated.comparisons["r1"], smallest=smallest)})
        assert has(alike.reach_text(), diff.reach_text(smallest))
        assert (alike.reach_text() != diff.reach_text(smallest)) == (smallest < 0.05)
        assert replace(alike, fail_on=None).reach_text() == diff.reach_text(smallest)
    assert gated.reach_text() != replace(gated, comparisons={}).reach_text() not in ("", None)
    busy = replace(gated, machine=MachineState(99.0, None, 1), command=("pyopbench", "gate"))
    assert (gated.warning_text(), has(busy.warning_text(), "99.0", "pyopbench gate")) == ("", True)
    dirty = structs.replace(gated.first, revision=structs.replace(revision("r0", 0), dirty=True))
    names = [gate.name_text(one) for one in (gated.first, dirty, structs.replace(gated.first, label="0" * 10))]
    assert [(has(name, "change 0"), name.count("0" * 10)) for name in names] == [(True, 1)] * 3
    assert names[0] != names[1]
    assert gate.name_text(structs.replace(gated.first, revision=None)) == "r0"


# Histories


def test_a_history_counts_series_moments_changes_and_the_alarms_to_expect(tmp_path: Path) -> None:
    found = read_history(write_commits(tmp_path, stepped(14, 8, 1.3)))
    assert has(found.title(), "6 series", "14 commits")
    assert has(found.summary(), "1 ")
    assert has(found.alarm_text(), "0.06 ", "1%", "6 series")
    (change,) = found.changes
    series = found.series[change.number]
    (of,) = series.found.changes
    assert math.log(change.ratio) == pytest.approx(of.step)
    assert math.log(change.high / change.ratio) == pytest.approx(1.95996 * of.error, rel=1e-5)
    assert change.low * change.high == pytest.approx(change.ratio**2)
    assert has(series.measure_text(), series.anchor)
    named = replace(series, environment=(("tensorflow", "2.16"), ("cpu", "fast")))
    assert has(named.name, series.case, "TensorFlow 2.16", "fast")


# Decisions, and what goes with them


def test_answers_that_are_not_the_whole_story_are_counted_and_noted() -> None:
    usual, run = decision("sinh", mode="call", dtype="float32"), Bench({"native": 1.0}, sizes=(1_000, 10_000)).run()
    made = [replace(usual, action="undecided"), *[replace(usual, is_provisional=True)] * 2]
    assert has(standing_text(made), "3 answers", "1 is", "2 are", "3 differ")
    assert standing_text([replace(usual, ranges=usual.ranges[:1])]) == ""
    told = [notes_of(one, run) for one in (usual, replace(usual, ranges=()), replace(usual, ranges=(), seconds=()))]  # type: ignore[arg-type]
    assert [[has(note, "10k") for note in one] for one in told] == [[True, False], [True], []]


def test_holes_ports_and_controls_name_what_they_are_of() -> None:
    key = stored.case("xla", "sinh")
    assert has(Hole("raised", "no kernel", (key, "suite.time_it")).text(), "2 cases raised", "sinh", "no kernel")
    assert (op_of(key), op_of("suite.time_it")) == ("sinh", "suite.time_it")
    assert has(without_number_text({"wrong": 1, "timeout": 6}), "7 cases", "1 wrong", "6 timeout")
    assert has(without_number_text({"wrong": 1}), "1 wrong case")
    port = PortLine(launch=0, op="a" * 200, variant="processes batch=32", dtype="float32", text="", function="f")
    assert port_path(port) == f"ports/{'a' * 150}_processes_batch_32_float32.py"
    works = Attempt("mine", "traced", True, 0.9, 0.8, "")
    assert has(works.text(80), "90%", "80%")
    partly, never = (replace(works, works=works_at, reason="no such size") for works_at in (True, False))
    assert never.text(80) == "no such size" != partly.text(80)
    assert has(partly.text(80), "no such size")
    assert has(pays_text({10: 0.8, 99: 0.09}), "0.090 to 0.80", "10, 99", "keep")
    assert [has(pays_text({7: ratio}), "keep") for ratio in (0.99, 1.0)] == [True, False]
    pairs: Any = [SimpleNamespace(outcome=name, ratio=one) for name, one in (("faster", 0.9), ("equivalent", 1.01))]
    controls = Controls((*pairs, *[SimpleNamespace(outcome="unresolved", ratio=math.nan)] * 2), 0.03)  # type: ignore[arg-type]
    assert has(controls.text(), "4 callbacks", "1 found different", "1 equal", "3%", "2 unresolved", "10%")
    assert controls.differing == (pairs[0],)
