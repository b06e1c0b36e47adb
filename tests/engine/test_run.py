"""Runs are measured by workers that take turns; whoever follows hears how."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import stored
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import run, worker_process
from pyopbench.engine.run import COMPARISON_SWEEP_ROUNDS, Analysed, Event, Progress
from pyopbench.judge.judge import Judging
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.store.run import SAMPLES_FILE, open_run
from pyopbench.store.types import EndedLine

JUDGING = Judging("well", 0.03)
SIZES = (1, 2, 3, 4, 5)
PLACES = ("cpu", "gpu")


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the fake worker keeps the requests."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def one_core() -> Iterator[None]:
    usable = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(usable)})
    yield
    os.sched_setaffinity(0, usable)


class Clock:
    """A clock that stands still but while something is prepared or sampled: a minute for each group of a worker."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def never(launches: int, most: int) -> Any:
    """An analysis that is not to be made."""
    raise AssertionError(launches)


class Analyses:
    """Leave open what they are told to, one after another, and note after how many launches they were made."""

    def __init__(self, *left: list[str]) -> None:
        self._left = iter(map(frozenset, left))
        self.launches: list[int] = []

    def __call__(self, launches: int, most: int) -> tuple[dict[str, frozenset[str]], str]:
        self.launches.append(launches)
        return {"here": next(self._left)}, "an analysis"


def plan(folder: Path, *variants: str, sizes: tuple[int, ...] = SIZES, **settings: Any) -> None:
    plan_cases(folder, [stored.case(variant, size=size) for size in sizes for variant in variants], **settings)


def plan_cases(folder: Path, cases: list[str], **settings: Any) -> None:
    """Plan two launches of two rounds each, and no interim analysis, unless `settings` say otherwise."""
    stored.write(folder, stored.run(cases, settings={**stored.SETTINGS, **settings}), [])


def analysed(**settings: Any) -> dict[str, Any]:
    """Return settings of a run with interim analyses, the first after four rounds of each launch."""
    usual = {"until": "resolved", "launches": 3, "first_rounds": 4, "rounds": 40, "group_seconds": 60.0}
    return {**usual, **settings}


def events_of(
    folder: Path,
    *,
    analyse: Any = never,
    clock: Clock | None = None,
    stop: Callable[[Event], None] = lambda event: None,
) -> list[Event]:
    """Measure what a folder plans, and return what happens."""
    events = []
    chosen = {} if clock is None else {"clock": clock}
    for event in run.measure(open_run(folder), JUDGING, analyse=analyse, **chosen):
        events.append(event)
        stop(event)
        if clock is not None and isinstance(event, Progress):
            clock.seconds += 60.0
    return events


def measure(folder: Path, **how: Any) -> EndedLine:
    ended = events_of(folder, **how)[-1]
    assert isinstance(ended, EndedLine)
    return ended


def lines_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in stored.read_lines(folder) if line["kind"] == kind]


def requests_in(log: Path, *kinds: str) -> list[dict[str, Any]]:
    """Return the requests of some kinds that workers were sent, in order."""
    requests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [request for request in requests if request["do"] in kinds]


def measured(folder: Path) -> list[tuple[int, str]]:
    """Return the launch and group of every pass that was sampled, in order."""
    return [(line["launch"], line["group"]) for line in lines_of(folder, "group")]


def all_of(launches: int, sizes: tuple[int, ...] = SIZES) -> list[tuple[int, str]]:
    return [(launch, stored.group(size=size)) for launch in range(launches) for size in sizes]


def rounds_of(folder: Path) -> Counter[tuple[int, str]]:
    """Return how many rounds each case has in each launch."""
    return Counter(
        (line["launch"], case)
        for line in lines_of(folder, "group")
        for case, rows in line["samples"].items()
        for _ in rows
    )


def failures(folder: Path) -> list[tuple[str, str]]:
    lines = stored.read_lines(folder)
    return [(failure["case"], failure["status"]) for line in lines for failure in line.get("failures", ())]


# Turns


def test_every_group_is_sampled_by_every_launch_once_in_a_sweep(folder: Path) -> None:
    plan(folder, "well", "well_too", launches=3)
    assert measure(folder).launch == 3
    assert sorted(measured(folder)) == all_of(3)
    assert sorted(line["launch"] for line in lines_of(folder, "launch")) == [0, 1, 2]
    for line in lines_of(folder, "group"):
        assert {case.split("/")[1] for case in line["samples"]} == {"well", "well_too"}


def test_launches_take_turns_within_each_group_in_random_order(folder: Path) -> None:
    plan(folder, "well", sizes=tuple(range(1, 13)), launches=3)
    measure(folder)
    turns = [[launch for launch, _ in several] for _, several in groupby(measured(folder), lambda turn: turn[1])]
    assert len(turns) == 12, "all launches sample a group before the next one's turn"
    assert {tuple(sorted(turn)) for turn in turns} == {(0, 1, 2)}
    assert len(set(map(tuple, turns))) > 1


def test_finite_differences_are_taken_by_one_launch_for_all_groups_of_an_op(folder: Path, log: Path) -> None:
    """They are taken at one size, so that another launch would take them once more for nothing."""
    ops = ("sinh", "cube", "relu")
    cases = [stored.case("well", op=op, size=size) for op in ops for size in SIZES]
    plan_cases(folder, cases)
    measure(folder)
    checked = [request for request in requests_in(log, "prepare") if request["finite_differences"]]
    assert all(len({request["launch"] for request in checked if op in str(request)}) == 1 for op in ops)
    assert sorted(case for request in checked for case in request["cases"]) == sorted(cases)


def test_a_seed_repeats_the_order_of_groups_and_launches(tmp_path: Path) -> None:
    orders = {}
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        plan(tmp_path / name, "well", sizes=tuple(range(1, 9)), seed=seed)
        measure(tmp_path / name)
        orders[name] = measured(tmp_path / name)
    assert orders["first"] == orders["again"] != orders["other"]


def test_while_a_worker_samples_all_others_sleep(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WORKER_TIMES", str(tmp_path / "times"))
    plan(folder, "lasting", "late_crashing", "well", sizes=(1, 2, 3, 4), launches=4, rounds=6)
    measure(folder)
    requests = [json.loads(line) for line in (tmp_path / "times").read_text(encoding="utf-8").splitlines()]
    alone = [request for request in requests if request[1] == "sample"]
    assert len(alone) > 20
    for process, _, began, ended in alone:
        assert [other for other in requests if other[0] != process and other[2] < ended and began < other[3]] == []


# Sides


def plan_sides(folder: Path, *variants: str, sizes: tuple[int, ...], **settings: Any) -> None:
    """Plan a side for each variant."""
    content = stored.run([], settings={**stored.SETTINGS, **settings})
    sides = [{"label": variant, "cases": [stored.case(variant, size=size) for size in sizes]} for variant in variants]
    stored.write_sides(folder, content, [(side, []) for side in sides])


def test_sides_take_turns_and_launches_of_a_number_sample_right_after_one_another(folder: Path, log: Path) -> None:
    """A core that is slow for a while is to slow down all launches of one number."""
    names = ("well_first", "well_second", "well_third")
    plan_sides(folder, *names, sizes=tuple(range(1, 9)), launches=3)
    measure(folder)
    asked = [(request["launch"], Case.from_id(request["cases"][0])) for request in requests_in(log, "sample")]
    blocks = [asked[start : start + 3] for start in range(0, len(asked), 3)]
    assert len(blocks) == 24
    assert {len({(launch, case.size) for launch, case in block}) for block in blocks} == {1}
    assert {frozenset(case.variant for _, case in block) for block in blocks} == {frozenset(names)}
    assert len({tuple(case.variant for _, case in block) for block in blocks}) > 1
    assert {line.get("side", 0) for line in stored.read_lines(folder)} == {0, 1, 2}


def test_a_launch_that_is_lost_on_one_side_is_made_up_for_on_all(folder: Path, log: Path) -> None:
    content = stored.run([], settings={**stored.SETTINGS, "launches": 4, "rounds": 4})
    cases = [[stored.case(name, size=1) for name in names] for names in (("well",), ("late_crashing", "well"))]
    stored.write_sides(folder, content, [({"label": str(place), "cases": one}, []) for place, one in enumerate(cases)])
    measure(folder)
    whole: dict[int, set[int]] = {0: set(), 1: set()}
    for line in lines_of(folder, "group"):
        whole[line.get("side", 0)].add(line["launch"])
    assert len(whole[0] & whole[1]) >= 4


def test_sides_take_short_turns_until_the_budget_is_used(folder: Path, log: Path) -> None:
    clock = Clock()
    how = {"launches": 2, "rounds": 10**6, "first_rounds": 12, "group_seconds": 60.0, "budget_seconds": 6000}
    plan_sides(folder, "well", "well_too", sizes=(1,), **how)
    assert measure(folder, clock=clock).by == "budget"
    assert 5000 <= clock.seconds <= 6300
    rounds = {request["rounds"] for request in requests_in(log, "sample") if request["pass"]}
    assert rounds <= {*range(2, COMPARISON_SWEEP_ROUNDS + 1)}


# What fails


@pytest.mark.parametrize(
    ("variant", "status"),
    [
        ("raising", "raised"),
        ("crashing", "crashed"),
        ("exiting", "crashed"),
        ("torn", "crashed"),
        ("late_raising", "raised"),
        ("late_crashing", "crashed"),
    ],
)
def test_a_case_that_fails_is_a_row_and_the_others_are_measured(folder: Path, variant: str, status: str) -> None:
    plan(folder, "well", variant, "well_too", sizes=(1, 2), launches=4, rounds=6)
    measure(folder)
    assert sorted(failures(folder)) == [(stored.case(variant, size=size), status) for size in (1, 2)]
    rounds = rounds_of(folder)
    for case in (stored.case(name, size=size) for name in ("well", "well_too") for size in (1, 2)):
        assert sum(rounds[launch, case] == 6 for launch in range(8)) >= 2


def test_a_port_that_differs_from_process_to_process_costs_its_variant_and_not_the_run(folder: Path) -> None:
    plan(folder, "well", "porting", sizes=(1, 2))
    measure(folder)
    assert sorted(failures(folder)) == [(stored.case("porting", size=size), "unsupported") for size in (1, 2)]
    rounds = rounds_of(folder)
    assert all(rounds[launch, stored.case("well", size=size)] for launch in range(2) for size in (1, 2))


def test_a_case_that_hangs_is_a_row_and_the_others_are_measured(folder: Path) -> None:
    plan(folder, "hanging", "well", sizes=(1,), case_timeout_seconds=1.0)
    measure(folder)
    assert sorted(measured(folder)) == all_of(2, (1,))
    assert set(failures(folder)) == {(stored.case("hanging"), "timeout")}
    reasons = {failure["reason"] for line in lines_of(folder, "lost") for failure in line["failures"]}
    assert reasons == {"no sign of life for 1 s; the worker was killed"}


def test_what_is_timed_in_one_pass_with_a_lost_case_is_lost_with_it(folder: Path) -> None:
    keys = [
        f"double/{variant}/custom_gradient/{direction}/call/float32/1/cpu"
        for variant in ("crashing", "well")
        for direction in ("backward", "forward_backward")
    ]
    plan_cases(folder, keys)
    measure(folder)
    assert set(failures(folder)) == {(key, "crashed") for key in keys[:2]}
    assert {key for line in lines_of(folder, "group") for key in line["samples"]} == set(keys[2:])


@pytest.mark.usefixtures("one_core")
def test_a_variant_that_has_cost_two_workers_costs_no_third(folder: Path) -> None:
    plan(folder, "crashing", "well")
    measure(folder)
    assert len(lines_of(folder, "lost")) == 2
    assert sorted(failures(folder)) == [(stored.case("crashing", size=size), "crashed") for size in SIZES]
    assert sorted(measured(folder)) == all_of(2)


@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize(("variant", "status"), [("killed", "crashed"), ("silent", "timeout")])
def test_a_worker_that_is_killed_or_names_no_case_is_blamed_the_second_time(
    folder: Path, variant: str, status: str
) -> None:
    plan(folder, variant, sizes=(1,), case_timeout_seconds=1.0)
    measure(folder)
    assert [len(line["failures"]) for line in lines_of(folder, "lost")] == [0, 1]
    assert failures(folder) == [(stored.case(variant), status)]


def test_a_case_that_wants_too_much_memory_is_a_row(folder: Path) -> None:
    plan_cases(folder, [*(stored.case("well", size=size) for size in (1, 2, 3)), stored.case("eating", size=9)])
    measure(folder)
    assert set(failures(folder)) <= {(stored.case("eating", size=9), "raised")}
    assert set(all_of(2, (1, 2, 3))) <= set(measured(folder))


def test_what_is_refused_forward_is_not_tried_with_a_gradient(folder: Path, log: Path) -> None:
    """By no launch, because XLA refuses only after it has compiled; and it is stored as if it had been."""
    with_gradient = {"direction": "forward_backward", "gradient": "autodiff"}
    forward = {variant: stored.case(variant) for variant in ("well", "impossible", "wrong")}
    backward = {variant: stored.case(variant, **with_gradient) for variant in forward}
    plan_cases(folder, [*backward.values(), *forward.values()])
    measure(folder)
    asked = Counter(case for request in requests_in(log, "prepare") for case in request["cases"])
    assert asked[backward["well"]] == 2
    assert asked[backward["wrong"]] >= 1, "that is an error of the variant, and not a refusal"
    assert asked[backward["impossible"]] == 0
    rows = [failure for line in lines_of(folder, "prepared") for failure in line["failures"]]
    refused = {row["case"]: row["reason"] for row in rows if row["status"] == "unsupported"}
    assert refused.keys() == {forward["impossible"], backward["impossible"]}
    assert len(set(refused.values())) == 1


@pytest.mark.parametrize("budget", [None, 100.0])
def test_what_failed_once_is_not_tried_again(folder: Path, log: Path, budget: float | None) -> None:
    plan(folder, "raising", sizes=(1, 2), launches=4, budget_seconds=budget)
    measure(folder)
    assert len(requests_in(log, "prepare")) <= 4, "by the two workers that prepare at the same time"
    assert requests_in(log, "sample") == []


# Interruptions


class Interrupted(Exception):
    pass


def interrupt_at(step: int) -> Callable[[Event], None]:
    """Return what raises at so many steps of preparing or sampling."""
    left = iter(range(step))

    def stop(event: Event) -> None:
        if isinstance(event, Progress) and next(left, None) is None:
            raise Interrupted

    return stop


@pytest.mark.parametrize("step", [0, 1, 4, 5, 9, 14])
def test_an_interrupted_run_is_continued_by_new_launches_and_nothing_is_lost(folder: Path, step: int) -> None:
    plan(folder, "well", "raising")
    with pytest.raises(Interrupted):
        measure(folder, stop=interrupt_at(step))
    lines = stored.read_lines(folder)
    begun = {launch for launch, _ in measured(folder)}
    measure(folder)
    after = stored.read_lines(folder)
    assert after[: len(lines)] == lines
    assert not begun & {line["launch"] for line in after[len(lines) :] if line["kind"] == "launch"}
    assert Counter(group for _, group in set(measured(folder))) == {stored.group(size=size): 2 for size in SIZES}


def test_a_torn_line_is_cut_off_and_measured_again(folder: Path) -> None:
    plan(folder, "well")
    measure(folder)
    path = folder / SAMPLES_FILE
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-2]) + whole[-2][:-10])  # the last is that it has ended
    measure(folder)
    assert Counter(group for _, group in measured(folder)) == {stored.group(size=size): 2 for size in SIZES}
    assert not open_run(folder).torn


def test_a_run_that_is_complete_starts_no_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    measure(folder)
    lines = stored.read_lines(folder)
    monkeypatch.setattr(worker_process, "COMMAND", ("false",))
    ended = measure(folder)
    assert (ended.launch, ended.by) == (2, "launches")
    assert stored.read_lines(folder) == lines


@pytest.mark.parametrize("key", ["tensorflow", "numpy", "cpu", "cores", "python"])
def test_a_run_is_not_continued_in_another_environment(folder: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    monkeypatch.setenv("FAKE_WORKER_VERSIONS", json.dumps({key: "another"}))
    with pytest.raises(BadInput) as caught:
        measure(folder)
    assert caught.value.received == f"another now, {stored.ENVIRONMENT[key]} in run.json"
    assert open_run(folder).measured[0].lines == []


# The CPU and a GPU in one run: each launch has a process for each


def plan_both(folder: Path, *variants: str, sizes: tuple[int, ...] = SIZES, **settings: Any) -> list[str]:
    """Plan the same cases on both placements, and return their groups."""
    cases = [
        stored.case(variant, size=size, placement=place) for place in PLACES for size in sizes for variant in variants
    ]
    plan_cases(folder, cases, **settings)
    return [stored.group(size=size, placement=place) for place in PLACES for size in sizes]


def test_each_launch_has_a_worker_for_each_placement(folder: Path) -> None:
    """Those of the CPU see no GPU: the fake worker fails what another placement prepared, and a GPU that is hidden."""
    groups = plan_both(folder, "well", "well_too", launches=3)
    ended = measure(folder)
    assert (ended.launch, ended.by) == (3, "launches")
    assert failures(folder) == []
    assert sorted(measured(folder)) == sorted((launch, group) for launch in range(3) for group in groups)
    workers = [(line["launch"], line["environment"]["placement"]) for line in lines_of(folder, "launch")]
    assert sorted(workers) == [(launch, place) for launch in range(3) for place in PLACES]


def test_placements_take_turns_so_that_drift_hits_both(folder: Path) -> None:
    """In each sweep all launches sample a group on the one right after or before they sample it on the other."""
    plan_both(folder, "well", sizes=tuple(range(1, 9)), launches=3, rounds=8)
    measure(folder)
    turns = [
        [Case.from_id(next(iter(line["samples"]))) for line in several]
        for _, several in groupby(
            lines_of(folder, "group"), lambda line: (line.get("pass", 0), line["group"].rpartition("/")[0])
        )
    ]
    halves = [tuple(place for place, _ in groupby(turn, lambda case: case.placement)) for turn in turns]
    assert {len(turn) for turn in turns} == {6}
    assert set(halves) == {PLACES, PLACES[::-1]}


@pytest.mark.parametrize("step", [0, 8, 21, 27])
def test_a_run_on_both_that_was_interrupted_is_continued_and_nothing_is_lost(folder: Path, step: int) -> None:
    groups = plan_both(folder, "well", "raising")
    with pytest.raises(Interrupted):
        measure(folder, stop=interrupt_at(step))
    lines, begun = stored.read_lines(folder), {launch for launch, _ in measured(folder)}
    measure(folder)
    after = stored.read_lines(folder)
    assert after[: len(lines)] == lines
    assert not begun & {line["launch"] for line in after[len(lines) :] if line["kind"] == "launch"}
    assert Counter(group for _, group in set(measured(folder))) == dict.fromkeys(groups, 2)
    assert {key.split("/")[1] for key, _ in failures(folder)} == {"raising"}


# Interim analyses and the budget


def of(*variants: str, sizes: tuple[int, ...]) -> list[str]:
    return [stored.case(variant, size=size) for size in sizes for variant in variants]


def test_a_run_whose_first_analysis_leaves_nothing_open_ends_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(folder, "well", "well_too", **analysed())
    events = events_of(folder, analyse=Analyses([]))
    ended = events[-1]
    assert isinstance(ended, EndedLine)
    assert [event.text for event in events if isinstance(event, Analysed)] == ["an analysis"]
    assert (ended.launch, ended.by, ended.looks) == (3, "look", 1)
    assert set(rounds_of(folder).values()) == {4}
    (line,) = lines_of(folder, "ended")
    assert (line["by"], line["looks"], line["launch"]) == ("look", 1, 3)
    monkeypatch.setattr(worker_process, "COMMAND", ("false",))
    assert measure(folder).by == "look", "and stays ended"


def test_after_an_analysis_the_same_workers_go_on_with_what_is_open(folder: Path, log: Path) -> None:
    plan(folder, "well", "well_too", "third", sizes=(1, 2, 3), **analysed())
    kept, last = of("well", "third", sizes=(1, 3)), of("well", sizes=(3,))
    analyses = Analyses(kept, last, last, last)
    assert measure(folder, analyse=analyses).by == "launches"
    assert 2 <= len(analyses.launches) <= 4
    assert len(requests_in(log, "prepare")) == 9
    rounds = rounds_of(folder)
    for launch in range(3):
        closed = [case for case in of("well", "well_too", "third", sizes=(1, 2, 3)) if case not in kept]
        assert {rounds[launch, case] for case in closed} == {4}
        assert {rounds[launch, case] for case in kept if case not in last} < {*range(5, 40)}
        assert rounds[launch, last[0]] == 40


def test_a_run_is_analysed_four_times_at_most_however_long_it_is(folder: Path) -> None:
    """Each analysis has a chance of a false verdict, and docs/statistics.md counts four."""
    plan(folder, "well", sizes=(1,), **analysed(rounds=5000))
    kept = [stored.case("well", size=1)]
    analyses = Analyses(*[kept] * 9)
    measure(folder, analyse=analyses)
    assert len(analyses.launches) == 4


def test_a_resumed_run_goes_on_with_what_the_last_analysis_left_open(folder: Path, log: Path) -> None:
    """What was checked against finite differences is not checked again."""
    plan(folder, "well", "well_too", sizes=(1, 2), **analysed(launches=6))
    kept = of("well", sizes=(2,))
    analyses = Analyses(kept, kept, kept, kept)
    with pytest.raises(Interrupted):
        measure(folder, analyse=analyses, stop=interrupt_at(20))
    before, asked = len(lines_of(folder, "group")), len(requests_in(log, "prepare"))
    measure(folder, analyse=analyses)
    assert not any(request["finite_differences"] for request in requests_in(log, "prepare")[asked:])
    assert {case for line in lines_of(folder, "group")[before:] for case in line["samples"]} == set(kept)


def test_two_launches_sample_everything_once_whatever_the_budget(folder: Path) -> None:
    plan(folder, "well", **analysed(launches=6, budget_seconds=1.0))
    ended = measure(folder, clock=Clock())
    assert (ended.launch, ended.by) == (2, "budget")
    assert sorted(measured(folder)) == all_of(2)


@pytest.mark.parametrize("minutes", [60, 100])
def test_the_budget_is_used_and_hardly_passed(folder: Path, minutes: int) -> None:
    clock = Clock()
    plan(folder, "well", **analysed(until="end", rounds=10_000, group_seconds=1.0, budget_seconds=60.0 * minutes))
    assert measure(folder, clock=clock).by == "budget"
    assert minutes - 5 <= clock.seconds / 60 <= minutes + 3


def test_a_worker_that_is_lost_late_does_not_end_the_run_before_its_budget(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rounds that are gone with it say nothing of how long another batch takes."""
    sample = run.Launch.sample

    def lose_one(launch: run.Launch, group: str, rounds: int, sweep: int) -> Any:
        if launch.number == 0 and sweep == 3 and launch._worker is not None:
            os.kill(launch._worker.process, signal.SIGKILL)
        return sample(launch, group, rounds, sweep)

    monkeypatch.setattr(run.Launch, "sample", lose_one)
    clock = Clock()
    plan(folder, "well", **analysed(until="end", launches=6, rounds=10_000, budget_seconds=60.0 * 250))
    assert measure(folder, clock=clock).launch == 6
    assert clock.seconds / 60 > 150


def test_launches_of_a_comparison_have_as_many_rounds_though_most_of_it_is_settled_early(folder: Path) -> None:
    """With fewer cases a round is short: the time that is left makes further launches, and no longer ones."""
    clock = Clock()
    how = {"launches": 10**6, "rounds": 10**6, "first_rounds": 12, "budget_seconds": 24_000}
    plan_sides(folder, "well", "well_too", sizes=tuple(range(1, 9)), **analysed(**how))

    def leave(launches: int, most: int) -> Any:
        return {name: frozenset(of(name, sizes=(1,))) for name in ("well", "well_too")}, ""

    assert measure(folder, analyse=leave, clock=clock).by == "budget"
    case = stored.case("well", size=1)
    rounds = {launch: made for (launch, name), made in rounds_of(folder).items() if name == case}
    assert len(rounds) >= 6
    assert min(rounds.values()) >= 0.7 * max(rounds.values())


@pytest.mark.parametrize("minutes", [250, 400])
def test_batches_have_as_many_turns_though_later_ones_have_fewer_cases(folder: Path, minutes: int) -> None:
    plan(folder, "well", sizes=tuple(range(1, 7)), **analysed(launches=9, rounds=10**6, budget_seconds=60.0 * minutes))
    kept = of("well", sizes=(1, 2))
    measure(folder, analyse=Analyses(*[kept] * 9), clock=Clock())
    turns = Counter(launch for launch, group in measured(folder) if group == stored.group(size=1))
    assert len(turns) > 3
    assert min(turns.values()) >= 0.7 * max(turns.values())


def test_a_third_worker_has_to_leave_most_of_the_budget(folder: Path) -> None:
    """Each takes ten minutes to prepare eleven groups, two of them at a time."""
    for minutes, workers in ((40, 2), (120, 3)):
        plan(folder / str(minutes), "well", sizes=tuple(range(1, 12)), launches=3, budget_seconds=60.0 * minutes)
        steps = [event for event in events_of(folder / str(minutes), clock=Clock()) if isinstance(event, Progress)]
        assert next(step.workers for step in steps if step.doing == "sampling") == workers


def test_a_launch_that_is_lost_is_made_up_for_until_there_are_two_whatever_the_budget(folder: Path) -> None:
    plan(folder, "well", "late_crashing", sizes=(1, 2), launches=6, budget_seconds=1.0)
    assert measure(folder, clock=Clock()).launch >= 2


def test_a_run_that_was_killed_before_it_could_say_that_it_ended_says_so_when_it_is_resumed(folder: Path) -> None:
    """Else a shard of it would never count as measured to the end."""
    plan(folder, "well", sizes=(1,))
    measure(folder)
    path = folder / SAMPLES_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert lines_of(folder, "ended") == []
    assert measure(folder).by == "launches"
    assert len(lines_of(folder, "ended")) == 1


def test_a_worker_that_is_killed_while_it_starts_is_started_again_once(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan(folder, "well", sizes=(1,))
    killed = tmp_path / "killed"
    starting = (
        f"import os, runpy, sys\nif not os.path.exists({str(killed)!r}):\n    open({str(killed)!r}, 'w').close()\n"
    )
    starting += "    os.kill(os.getpid(), 9)\nrunpy.run_path(sys.argv[1], run_name='__main__')\n"
    command = (sys.executable, "-c", starting, FAKE_WORKER_COMMAND[-1])
    monkeypatch.setattr(worker_process, "COMMAND", command)
    assert measure(folder).launch == 2


def test_a_resumed_run_is_analysed_when_its_data_have_grown(folder: Path) -> None:
    """Each analysis makes all verdicts stricter, so that interrupts must not use them up."""
    plan(folder, "well", sizes=(1, 2), **analysed(launches=6))
    kept = of("well", sizes=(1, 2))
    with pytest.raises(Interrupted):
        measure(folder, analyse=Analyses(kept, kept, kept, kept), stop=interrupt_at(10))
    held, made = len(lines_of(folder, "look")), sum(rounds_of(folder)[launch, kept[0]] for launch in range(6))
    assert held == 1
    rounds: list[int] = []

    def note(launches: int, most: int) -> Any:
        rounds.append(sum(rounds_of(folder).values()) // 2)
        return {"here": frozenset(kept)}, ""

    measure(folder, analyse=note)
    assert rounds
    assert rounds[0] >= 2 * made
