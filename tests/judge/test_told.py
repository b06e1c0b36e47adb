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
from frames import Bench, run_of
from histories import stepped, write_commits
from judgements import decision
from pairs import cases, write_run
from pipelines import BATCH, CURRENT, PARALLEL, POOL
from pyopbench.judge import concurrency, pipeline
from pyopbench.judge.comparison import diff, gate
from pyopbench.judge.comparison.history import read_history
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.judge.decision import Decision, standing_text
from pyopbench.judge.devices import DeviceComparison, DeviceSummary, OnDevice
from pyopbench.judge.evidence import baseline_failure, beyond_measured, notes_of
from pyopbench.judge.latencies import Hole, op_of, with_pipeline
from pyopbench.judge.noise import UNKNOWN_STATE, MachineState, machine_state
from pyopbench.judge.ports import Attempt, port_path
from pyopbench.judge.verdicts import Controls, identical_text
from pyopbench.model.case import THREADS, Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.stats import estimate
from pyopbench.stats.costs import round_costs
from pyopbench.stats.estimate import UNIT
from pyopbench.stats.unpaired import unpaired
from pyopbench.store.own_runs import run_of as run_of_side
from pyopbench.store.types import PortLine, ProgramFacts
from revision_runs import DIFFERENT, revision, write_revisions
from shares import comparison_by_hand, contrasts_by_hand

CASES = cases()


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
    assert (state.is_quiet, bool(told)) == (not large, bool(large))
    assert [fact for fact in ("4.1", "1.1%", "9.0", "50%") if fact in told] == large
    assert ("pyopbench 'my run'" in told) == bool(large)
    assert ("without other VMs" in told) == ((stolen or 0.0) > 0.01)
    assert has(state.text(), *large)
    assert (state.text() == UNKNOWN_STATE.text()) == (load is None)


def test_the_load_is_the_median_of_groups_and_what_was_stolen_a_share_of_all_cores() -> None:
    """By hand: 1 of 4 s and 2 of 6 s on two cores; a group that does not know what was stolen does not count."""
    rows = [(4.0, 1.0, 0.5), (6.0, 2.0, 9.0), (50.0, math.nan, 1.5)]
    run = Bench({"native": 1.0}, launches=1).run()
    run.noise = pd.DataFrame(rows, columns=["wall_seconds", "steal_seconds", "load"])
    state = machine_state([run])  # type: ignore[list-item]
    assert (state.load, state.steal_share, state.cores) == (1.5, pytest.approx(3 / 20), 2)
    run.noise, run.environment = run.noise.iloc[:0], {}
    assert machine_state([run]) == UNKNOWN_STATE  # type: ignore[list-item]


# Input pipelines


def judged(seconds: dict[str, float], step: float | None = None, **changes: Any) -> pipeline.PipelineJudgement:
    every = {**{one.key: 1e-4 for one in pipelines.ALL}, **seconds}
    how = {name: changes.pop(name) for name in ("noise", "seed") if name in changes}
    rows = replace(pipelines.rows(every, **how), **changes)
    return pipeline.judge(rows, 0.03, pipeline.TrainingStep(10, step))


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_a_step_takes_some_time(seconds: float) -> None:
    with pytest.raises(BadInput):
        pipeline.TrainingStep(32, seconds)


def test_an_answer_names_what_to_change_to_and_what_goes_with_it() -> None:
    found = judged({POOL.key: 2e-5}, words=("my_op.py",))
    told = " ".join(found.sentences())
    assert has(found.answer_text(), POOL.code)
    assert has(told, found.why_text(), "pyopbench port my_op.py", "4.00 s", "10 elements")
    assert [one.seconds for one in found.throughputs] == sorted(one.seconds for one in found.throughputs)
    assert found.current.rate == pytest.approx(1e4, rel=0.05)
    assert found.input_seconds == pytest.approx([10 * end for end in (1e-4, 1e-4, 1e-4)], rel=0.1)
    kept = judged({})
    assert CURRENT.code not in kept.answer_text()
    assert not has(" ".join(kept.sentences()), "4.00 s")
    others = judged({POOL.key: 2.0e-5, BATCH.key: 2.0e-5, PARALLEL.key: 2.0e-5})
    assert has(" ".join(others.sentences()), *others.choice.as_good)
    assert len(others.choice.as_good) == 2


def test_a_pipeline_of_a_program_is_named_and_whether_its_values_were_compared() -> None:
    facts = ProgramFacts(name="train.py:data", stage="train.py:7", step_elements=1, is_repeatable=True)
    rows = pipelines.rows({one.key: 1e-4 for one in pipelines.ALL})
    told = []
    for program in (facts, structs.replace(facts, is_repeatable=False)):
        of = pipeline.judge(
            replace(rows, plan=structs.replace(rows.plan, program=program)), 0.03, pipeline.step_of(rows.plan)
        )
        assert of.program == program
        told.append(of.sentences()[0])
    assert all(has(one, "train.py:data", "train.py:7") for one in told)
    assert told[0] in told[1] != told[0]


@pytest.mark.parametrize(
    ("step", "is_hidden", "facts"),
    [(None, None, []), (2e-3, True, ["2.00 ms", "50%", "2.00×"]), (1e-3, None, ["100%"]), (5e-4, False, ["200%"])],
)
def test_an_input_is_told_against_the_step(step: float | None, is_hidden: bool | None, facts: list[str]) -> None:
    found = judged({}, step, noise=1e-9)
    exact = replace(found, current=replace(found.current, seconds=1e-4))
    assert found.is_hidden == is_hidden or step == 1e-3
    assert has(replace(exact, is_hidden=is_hidden).sentences()[-1], "1.00 ms", *facts)
    assert found.step.seconds_per_element == pytest.approx((step or 0.0) / 10)


def test_an_input_as_long_as_the_step_is_hidden_and_one_launch_counts_as_it_is() -> None:
    rows = pipelines.rows({one.key: 1e-4 for one in pipelines.ALL}, noise=0.01)
    alone = replace(rows, frame=rows.frame[rows.frame["launch"] == 0])
    seconds = pipeline.judge(alone, 0.03, pipeline.TrainingStep(1)).current.seconds
    for factor, is_hidden in ((1.0, True), (1.001, True), (0.999, False)):
        step = pipeline.TrainingStep(1, seconds * factor)
        assert pipeline.judge(alone, 0.03, step).is_hidden == is_hidden


@pytest.mark.parametrize(("seconds", "minutes"), [(0.0, 1), (15.0, 1), (15.1, 2), (31.0, 3)])
def test_one_launch_asks_for_four_and_for_as_many_minutes_as_they_take(seconds: float, minutes: int) -> None:
    rows = pipelines.rows({one.key: 1e-4 for one in pipelines.ALL})
    alone = replace(rows, frame=rows.frame[rows.frame["launch"] == 0], launch_seconds=seconds)
    told = pipeline.judge(alone, 0.03, pipeline.TrainingStep(1)).why_text()
    assert has(told, f"--launches 4 --budget {minutes}m")


def test_nobody_is_asked_for_more_than_two_hundred_launches_and_a_failed_callback_for_none() -> None:
    near = {PARALLEL.key: 9.7e-5}
    assert has(judged(near, noise=0.05, seed=4).why_text(), "at least 200 launches")
    failed = Failure(pipelines.id_of(CURRENT), "raised", "no", 0)
    assert "--launches" not in judged(near, noise=0.05, seed=4, failures=(failed,)).why_text()


@pytest.mark.parametrize(
    ("best", "near", "far"),
    [(1e-4, 1.99e-4, 2.01e-4), (1e-6, 1.09e-5, 1.11e-5)],  # twice the best; a tenth of today's time more than it
)
def test_what_is_measured_on_is_within_twice_the_best_or_a_tenth_of_todays_time(
    best: float, near: float, far: float
) -> None:
    seconds = {CURRENT.key: 1e-4, PARALLEL.key: best, BATCH.key: best, POOL.key: near, pipelines.PORT.key: far}
    found = pipeline.interim_analysis_of(pipelines.rows(seconds, noise=0.0), 3)
    assert found.open == {pipelines.id_of(one) for one in (CURRENT, PARALLEL, BATCH, POOL)}
    assert has(found.text, "3 launches", "4 of 5")


def test_cases_in_a_pipeline_are_compared_among_all_others() -> None:
    run: Any = run_of_side(pipelines.side({one.key: 1e-4 for one in pipelines.ALL}))
    whole = with_pipeline(run)
    assert (set(whole.cases), len(whole.frame)) == (set(run.pipeline.cases), len(run.pipeline.frame))
    assert (whole.failures, whole.pipeline) == (run.pipeline.failures, None)
    plain: Any = SimpleNamespace(pipeline=None)
    assert with_pipeline(plain) is plain


# Two sides


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
    assert "faster" not in two.summary()
    processors, unpaired, corrected, reach = diff.notes_of(two)
    assert has(processors.text(), "a processor in A", "b in B", processors.heading)
    assert has(unpaired.text(), "3%")
    assert has(corrected.text(), "5%")
    assert has(reach.text(), diff.reach_text(two.smallest or 0.0))
    assert reach.text() == reach.sentence
    assert has(diff.notes_of(replace(two, among=3))[2].text(), "3 comparisons")
    one_launch = replace(two, smallest=None)
    assert diff.reach_of(one_launch).kind == "no_interval"
    assert len(diff.notes_of(one_launch)) == 3
    assert diff.reach_text(0.5) != diff.reach_text(3.0)
    unsure, fast = (replace(worst, verdict=replace(worst.verdict, ratio=ratio)) for ratio in (math.nan, 0.5))
    assert sorted([fast, unsure, worst], key=diff.badness)[0] is worst


def test_the_smallest_slowdown_is_what_nine_of_ten_runs_show_by_the_first_of_holms_steps(two: diff.Comparison) -> None:
    """Half an interval corrected for six above the minimum effect, and what luck takes in nine of ten."""
    frames = [side.frame for side in (two.sides.first, two.sides.second)]
    launches = [estimate.launches_by_case(estimate.launch_logs(round_costs(frame, UNIT))) for frame in frames]
    found = unpaired(*(estimate.moderated(list(one.values())) for one in launches))
    reach = [stats.t(one.degrees).ppf([1 - 0.05 / 6 / 2, 0.9]).sum() * one.standard_error for one in found]
    assert two.smallest == pytest.approx(1.03 * math.exp(np.median(reach)) - 1)


@pytest.mark.parametrize("kind", ["failed", "not_reached", "not_measured"])
def test_a_case_of_one_side_names_the_other(kind: Any) -> None:
    told = [diff.UnmatchedCase("x", side, kind, "crashed", "signal 11").text() for side in ("A", "B")]  # type: ignore[arg-type]
    assert has(told[0], "in B")
    assert has(told[1], "in A")
    assert has(told[0], "crashed", "signal 11") == (kind == "failed")


# Revisions


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> gate.Gate:
    factors = {CASES[-1]: 1.2}, {CASES[-1]: 1.5, CASES[-2]: 1.1}
    folder = write_revisions(
        tmp_path_factory.mktemp("gate"), {}, *factors, {}, problems={3: "no setup.py"}, different={1: DIFFERENT}
    )
    return gate.read_gate(folder, fail_on=0.05)


def test_a_gate_names_what_fails_the_worst_first(gated: gate.Gate) -> None:
    assert [label for label, _ in gated.slower] == ["r2", "r1", "r2"]
    ratios = [one.verdict.ratio for _, one in gated.slower_bodies]
    assert ratios == sorted(ratios, reverse=True)
    bodies = len(ratios)
    assert has(gated.answer_text(), "1 input", "1 side", "3 cases", "5%", f"{bodies} bod")
    assert gated.cases == 12
    assert gated.smallest == max(one.smallest or 0.0 for one in gated.comparisons.values())
    assert replace(gated, fail_on=None).slower == replace(gated, fail_on=None).slower_bodies == ()
    ((label, difference),) = gated.differences
    assert has(gate.difference_text(label, difference), "r1", "double", "10", DIFFERENT.reason)
    (broken,) = gated.broken
    assert has(gated.broken_text(broken), "r3", "no setup.py") == has(gate.problem_text(broken), "r3", "no setup.py")
    busy = replace(gated, machine=MachineState(99.0, None, 1), command=("pyopbench", "gate"))
    assert (gated.warning_text(), has(busy.warning_text(), "99.0", "pyopbench gate")) == ("", True)


@pytest.mark.parametrize(("smallest", "told"), [(0.049, True), (0.05, False), (0.06, False)])
def test_a_gate_says_which_slowdown_fails_where_one_of_that_size_is_found(
    gated: gate.Gate, smallest: float, *, told: bool
) -> None:
    alike = {label: replace(one, smallest=smallest) for label, one in gated.comparisons.items()}
    found = replace(gated, comparisons=alike)
    assert has(found.reach_text(), diff.reach_text(smallest))
    assert (found.reach_text() != diff.reach_text(smallest)) == told
    assert replace(found, fail_on=None).reach_text() == diff.reach_text(smallest)
    nothing = replace(gated, comparisons={})
    assert nothing.reach_text() not in (None, "", found.reach_text())


def test_a_revision_is_named_as_asked_with_its_hash_and_subject(gated: gate.Gate) -> None:
    by_name = gate.name_text(gated.first)
    assert has(by_name, "r0", "0" * 10, "change 0")
    dirty = structs.replace(gated.first, revision=structs.replace(revision("r0", 0), dirty=True))
    assert len(gate.name_text(dirty)) > len(by_name)
    hashed = structs.replace(gated.first, label="0" * 10)
    assert gate.name_text(hashed).count("0" * 10) == 1
    assert gate.name_text(structs.replace(gated.first, revision=None)) == "r0"


# Histories


def test_a_history_counts_series_moments_changes_and_the_alarms_to_expect(tmp_path: Path) -> None:
    found = read_history(write_commits(tmp_path, stepped(14, 8, 1.3)))
    assert has(found.title(), "6 series", "14 commits")
    assert has(found.summary(), "1 ")
    assert replace(found, changes=()).summary() not in (None, found.summary())
    assert has(found.alarm_text(), "0.06 ", "1%", "6 series")
    (change,) = found.changes
    ends = [math.log(end / change.ratio) for end in (change.low, change.high)]
    of = next(one for one in found.series[change.number].found.changes)
    assert ends == pytest.approx([-1.95996 * of.error, 1.95996 * of.error], rel=1e-5)
    assert change.ratio == pytest.approx(math.exp(of.step))
    series = found.series[change.number]
    assert has(series.measure_text(), series.anchor)
    named = replace(series, environment=(("tensorflow", "2.16"), ("cpu", "fast")))
    assert has(named.name, series.case, "TensorFlow 2.16", "fast")
    assert series.name == series.case


@pytest.mark.parametrize(("ports", "changed", "is_told"), [(3, 3, True), (2, 2, False), (5, 3, True), (6, 3, False)])
def test_an_anchor_is_suspected_where_three_and_most_of_its_series_change(
    tmp_path: Path, ports: int, changed: int, *, is_told: bool
) -> None:
    names = ["native", "xla", "traced", "autograph", "custom_op", "py_func"][:ports]
    keys = cases(["py_function_numpy", *names])[::2]
    paths = [
        write_run(
            tmp_path / f"run-{number:02}",
            keys,
            seed=number,
            factors=dict.fromkeys(keys[1 : changed + 1], 1.5 if number >= 8 else 1.0),
            environment={**stored.ENVIRONMENT, "commit": f"{number:02x}" * 20},
            created=f"2026-01-{number + 1:02}T10:00:00+00:00",
        )
        for number in range(14)
    ]
    found = read_history(paths)
    assert len(found.changes) == changed
    told = [note.text() for note in found.notes if note.kind == "anchor_changed"]
    assert [has(one, keys[0], f"{changed} of the {ports}") for one in told] == [True] * is_told


# Decisions and what goes with them


def test_answers_that_are_not_the_whole_story_are_counted() -> None:
    usual = decision("x")
    made: list[Decision] = [replace(usual, action="undecided"), *[replace(usual, is_provisional=True)] * 2]
    assert has(standing_text(made), "3 answers", "1 is", "2 are", "3 differ")
    assert standing_text([replace(usual, ranges=usual.ranges[:1])]) == ""


def test_a_decision_notes_the_sizes_without_an_answer_and_that_it_differs_by_size() -> None:
    run: Any = Bench({"native": 1.0}, sizes=(1_000, 10_000)).run()
    made = replace(decision("sinh"), mode="call", dtype="float32")
    assert [has(note, "10k") for note in notes_of(made, run)] == [True, False]
    assert len(notes_of(replace(made, ranges=()), run)) == 1
    assert notes_of(replace(made, ranges=(), seconds=()), run) == ()


def test_a_callback_without_a_number_has_its_gravest_reason() -> None:
    contrasts = contrasts_by_hand({})
    failure = Failure("any", "crashed", "signal 11", 0)
    made = comparison_by_hand(contrasts, [], baseline="today", failures={("today", 10): failure, ("xla", 1): failure})
    found = baseline_failure(made)
    assert (found.kind, has(found.sentence, "today", "crashed at 10", "signal 11")) == ("baseline_failed", True)
    noisy = baseline_failure(replace(made, too_noisy={("today", 1_000): 7}))
    assert (noisy.kind, noisy.launches, has(noisy.sentence, "1k", "7 launches")) == ("baseline_too_noisy", 7, True)
    assert baseline_failure(replace(made, failures={("xla", 1): failure})).kind == "baseline_not_measured"
    for sizes, kind in (([10, 99], "failed_beyond"), ([99], "beyond_measured")):
        beyond = beyond_measured(made, sizes)
        assert (beyond.kind, beyond.sizes, has(beyond.sentence, "today", "99")) == (kind, tuple(sizes), True)


def test_devices_are_told_by_ranges_of_sizes_and_ratios_by_their_ends() -> None:
    def one(size: int, ratio: float, device: Any) -> DeviceComparison:
        on = OnDevice("native", 1.0, 3)
        return DeviceComparison("sinh", "forward", "call", "float32", size, on, on, ratio, None, None, device)

    sizes = (one(10, 3.0, "cpu"), one(1_000, 2.0, "cpu"), one(10_000, 1.0, None), one(100_000, 0.5, "gpu"))
    found = DeviceSummary("sinh", "forward", "call", "float32", sizes)
    assert found.devices_text() == "cpu at 10 to 1k, unclear at 10k, gpu at 100k"
    assert found.ratios_text() == "0.500× to 3.00×"
    assert replace(found, sizes=sizes[1:2] * 2).ratios_text() == "2.00×"


def test_holes_ports_and_controls_name_what_they_are_of() -> None:
    key = Case("sinh", "xla", "none", "forward", "call", "float32", 10).id
    assert has(Hole("raised", "no kernel", (key, "suite.time_it")).text(), "2 cases raised", "sinh", "no kernel")
    assert (op_of(key), op_of("suite.time_it")) == ("sinh", "suite.time_it")
    port = PortLine(launch=0, op="a" * 200, variant="processes batch=32", dtype="float32", text="", function="f")
    assert port_path(port) == f"ports/{'a' * 150}_processes_batch_32_float32.py"
    works = Attempt("mine", "traced", True, 0.9, 0.8, "")
    assert has(works.text(80), "90%", "80%")
    assert replace(works, saved=None).text(80) not in ("", works.text(80))
    for reason in (replace(works, reason="no such size"), replace(works, works=False, reason="no such size")):
        assert has(reason.text(80), "no such size")
        assert len(reason.text(9)) <= 9
    pairs = [SimpleNamespace(outcome=name, ratio=ratio) for name, ratio in (("faster", 0.9), ("equivalent", 1.01))]
    pairs += [SimpleNamespace(outcome="unresolved", ratio=math.nan)] * 2
    told = identical_text(pairs, 0.03)  # type: ignore[arg-type]
    assert has(told, "1 found different", "1 equal", "3%", "2 unresolved", "10%")
    controls = Controls(tuple(pairs), 0.03)  # type: ignore[arg-type]
    assert has(controls.text(), "4 callbacks", told)
    assert [one.outcome for one in controls.differing] == ["faster"]


def test_numbers_of_threads_ascend_and_what_could_never_be_called_is_no_failure() -> None:
    run: Any = run_of(*(Bench({"native": 1.0}, sizes=(10,), mode=f"{THREADS}:{many}") for many in (4, 1, 2)), Bench({}))
    assert concurrency.thread_numbers(run) == (1, 2, 4)
    lost, never = (Failure(run.cases[0], "raised", "no", launch) for launch in (0, None))
    plain = Failure(stored.case("native"), "raised", "no", 0)
    run.failures = (never, plain, lost)
    assert concurrency.thread_failures(run) == (lost,)
