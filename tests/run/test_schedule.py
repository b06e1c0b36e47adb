"""Launches, groups and what is lost: every group of every launch once, whatever happens in between.

The worker measures nothing (fake_worker.py); a variant is named after how it behaves.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import stored
from fake_worker import FAILURES, LIMITS
from places import FAKE_WORKER
from pyopbench.core.errors import BadInput
from pyopbench.core.model import Case
from pyopbench.results import store
from pyopbench.run import budget, schedule, worker_process
from pyopbench.run.budget import Progress
from pyopbench.run.schedule import Ended
from pyopbench.run.settings import Settings

SIZES = (1, 2, 3, 4, 5)


def settings(**changes: Any) -> Settings:
    """Return how to measure; without a look in between, unless `first_look` is given."""
    chosen = {name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__}
    return Settings(**{**chosen, "first_look": changes.get("launches", chosen["launches"]), **changes})


def ignore(progress: Progress) -> None:
    pass


def never(launches: int) -> frozenset[str]:
    """A look that is not to be taken."""
    raise AssertionError(launches)


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the worker keeps the requests."""
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, str(FAKE_WORKER)))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def plan(folder: Path, *variants: str, sizes: tuple[int, ...] = SIZES, **changes: Any) -> None:
    cases = [stored.case(variant, size=size) for size in sizes for variant in variants]
    store.create(folder, stored.run(cases, **changes))


def lines_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in store.read_lines(folder)[0] if line["kind"] == kind]


def requests_in(log: Path, *kinds: str) -> list[dict[str, Any]]:
    """Return the requests of some kinds that workers were sent, in order."""
    requests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [request for request in requests if request["do"] in kinds]


def measured(folder: Path) -> list[tuple[int, str]]:
    """Return the launch and group of every group that was measured, in order."""
    return [(line["launch"], line["group"]) for line in lines_of(folder, "group")]


def all_once(launches: int, sizes: tuple[int, ...] = SIZES) -> list[tuple[int, str]]:
    return [(launch, stored.group(size=size)) for launch in range(launches) for size in sizes]


def failures(folder: Path) -> list[tuple[str, str]]:
    return [
        (failure["case"], failure["status"])
        for line in store.read_lines(folder)[0]
        for failure in line.get("failures", ())
    ]


def test_runs_measured_together_take_turns_in_random_order(tmp_path: Path, log: Path) -> None:
    """One launch of each before the next of any; not always in the same order; one that is done stops no other."""
    tasks = []
    for name, launches in (("one", 8), ("two", 8), ("short", 2)):
        plan(tmp_path / name, f"well_{name}", sizes=(1,))
        tasks.append(schedule.Task(tmp_path / name, settings(launches=launches), never))
    ended = schedule.measure_together(tasks, ignore)
    assert [one.launches for one in ended] == [8, 8, 2]
    asked = [Case.from_id(request["cases"][0]).variant for request in requests_in(log, "measure")]
    assert sorted(asked[:3]) == sorted(asked[3:6]) == ["well_one", "well_short", "well_two"]
    pairs = [tuple(asked[place : place + 2]) for place in range(6, 18, 2)]
    assert {frozenset(pair) for pair in pairs} == {frozenset({"well_one", "well_two"})}
    assert len(set(pairs)) == 2, "both orders"


def test_every_group_of_every_launch_is_measured_once(folder: Path) -> None:
    plan(folder, "well", "well_too")
    assert schedule.measure(folder, settings(launches=3), ignore, never).launches == 3
    assert sorted(measured(folder)) == all_once(3)
    assert [line["launch"] for line in lines_of(folder, "launch")] == [0, 1, 2]
    for line in lines_of(folder, "group"):
        assert {case.split("/")[1] for case in line["samples"]} == {"well", "well_too"}


def test_the_worker_is_told_what_to_do(folder: Path, log: Path) -> None:
    plan(folder, "well", sizes=(1,))
    schedule.measure(folder, settings(seed=5, rounds=3, block_seconds=0.25, group_seconds=0.75), ignore, never)
    same = {
        "do": "measure",
        "cases": [stored.case("well")],
        "seed": 5,
        "rounds": 3,
        "block_seconds": 0.25,
        "group_seconds": 0.75,
    }
    assert requests_in(log, "measure") == [
        {**same, "launch": 0, "finite_differences": True},
        {**same, "launch": 1, "finite_differences": False},
    ]


def orders(folder: Path, seed: int) -> list[tuple[int, str]]:
    plan(folder, "well", sizes=tuple(range(1, 9)))
    schedule.measure(folder, settings(seed=seed), ignore, never)
    return measured(folder)


def test_a_seed_repeats_the_order_of_groups(tmp_path: Path) -> None:
    first = orders(tmp_path / "first", 1)
    assert orders(tmp_path / "again", 1) == first
    assert orders(tmp_path / "other", 2) != first


def test_every_launch_has_an_order_of_its_own(tmp_path: Path) -> None:
    order = orders(tmp_path / "run", 1)
    assert [group for launch, group in order if launch == 0] != [group for launch, group in order if launch == 1]


@pytest.mark.parametrize(
    ("variant", "status"), [("raising", "raised"), ("crashing", "crashed"), ("exiting", "crashed"), ("torn", "crashed")]
)
def test_a_case_that_fails_is_a_row_and_the_others_are_measured(folder: Path, variant: str, status: str) -> None:
    plan(folder, "well", variant, "well_too", sizes=(1, 2))
    schedule.measure(folder, settings(), ignore, never)
    assert sorted(measured(folder)) == all_once(2, (1, 2))
    for line in lines_of(folder, "group"):
        assert {case.split("/")[1] for case in line["samples"]} == {"well", "well_too"}
    assert sorted(failures(folder)) == [(stored.case(variant, size=size), status) for size in (1, 2)]


def test_a_case_that_hangs_is_a_row_and_the_others_are_measured(folder: Path) -> None:
    plan(folder, "hanging", "well", sizes=(1,))
    schedule.measure(folder, settings(case_timeout_seconds=1.0), ignore, never)
    assert measured(folder) == all_once(2, (1,))
    assert failures(folder) == [(stored.case("hanging"), "timeout")]
    (lost,) = lines_of(folder, "lost")
    assert lost["launch"] == 0
    assert lost["failures"][0]["reason"] == "no sign of life for 1 s; the worker was killed"


def test_what_is_timed_in_one_pass_with_a_lost_case_is_lost_with_it(folder: Path) -> None:
    keys = [
        f"double/{variant}/custom_gradient/{direction}/call/float32/1/cpu"
        for variant in ("crashing", "well")
        for direction in ("backward", "forward_backward")
    ]
    store.create(folder, stored.run(keys))
    schedule.measure(folder, settings(), ignore, never)
    assert sorted(failures(folder)) == [(key, "crashed") for key in keys[:2]]
    assert {key for line in lines_of(folder, "group") for key in line["samples"]} == set(keys[2:])


def test_the_floor_of_a_lost_variant_is_given_up_with_it_in_every_group(folder: Path) -> None:
    crashing = stored.case("crashing")
    floor = [stored.case("crashing_floor", size=2), stored.case("crashing", op="floor_produce", size=10_000)]
    others = [stored.case("well"), stored.case("well", op="floor_produce", size=10_000)]
    store.create(folder, stored.run([crashing, *floor, *others]))
    schedule.measure(folder, settings(seed=0), ignore, never)
    assert sorted(failures(folder)) == sorted((key, "crashed") for key in (crashing, *floor))
    assert len(lines_of(folder, "lost")) == 1
    assert {key for line in lines_of(folder, "group") for key in line["samples"]} == set(others)


def test_a_variant_that_has_cost_two_workers_costs_no_third(folder: Path) -> None:
    plan(folder, "crashing", "well")
    schedule.measure(folder, settings(), ignore, never)
    assert len(lines_of(folder, "lost")) == 2
    assert sorted(failures(folder)) == [(stored.case("crashing", size=size), "crashed") for size in SIZES]
    assert sorted(measured(folder)) == all_once(2)


def test_a_worker_that_somebody_kills_is_blamed_on_nobody_the_first_time(folder: Path) -> None:
    plan(folder, "killed", "well", sizes=(1,))
    schedule.measure(folder, settings(), ignore, never)
    assert [len(line["failures"]) for line in lines_of(folder, "lost")] == [0, 1]
    assert failures(folder) == [(stored.case("killed"), "crashed")]
    assert measured(folder) == all_once(2, (1,))


def test_a_worker_in_which_something_is_left_working_is_given_up_after_the_group(folder: Path) -> None:
    """Its samples are kept, with what was left; one that only has a thread waiting is asked on."""
    plan(folder, "leaving", sizes=(1, 2))
    schedule.measure(folder, settings(launches=1), ignore, never)
    assert [line["left_behind"]["cores"] for line in lines_of(folder, "group")] == [1.0, 1.0]
    assert len(lines_of(folder, "launch")) == 2
    plan(folder.with_name("other"), "waiting", sizes=(1, 2))
    schedule.measure(folder.with_name("other"), settings(launches=1), ignore, never)
    assert [line["left_behind"]["threads"] for line in lines_of(folder.with_name("other"), "group")] == [1, 1]
    assert len(lines_of(folder.with_name("other"), "launch")) == 1


def test_the_worker_is_given_its_memory_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int | None] = []
    whole = worker_process.Worker

    def worker(timeout_seconds: float, python: Path | None, limit_bytes: int | None) -> worker_process.Worker:
        given.append(limit_bytes)
        return whole(timeout_seconds, python, limit_bytes)

    monkeypatch.setattr(schedule, "Worker", worker)
    plan(folder, "well", sizes=(1,))
    schedule.measure(folder, settings(memory_limit_bytes=1 << 31), ignore, never)
    assert given == 2 * [1 << 31]


def test_a_group_that_loses_its_worker_before_any_case_is_given_up_the_second_time(folder: Path) -> None:
    plan(folder, "silent", sizes=(1,))
    schedule.measure(folder, settings(case_timeout_seconds=1.0), ignore, never)
    assert [len(line["failures"]) for line in lines_of(folder, "lost")] == [0, 1]
    assert failures(folder) == [(stored.case("silent"), "timeout")]
    assert measured(folder) == []


def test_what_failed_once_is_not_tried_again(folder: Path, log: Path) -> None:
    plan(folder, "raising", sizes=(1, 2))
    assert schedule.measure(folder, settings(launches=4), ignore, never).launches == 4
    assert len(requests_in(log, "measure")) == 2
    assert [line["launch"] for line in lines_of(folder, "launch")] == [0]


class Interrupted(Exception):
    pass


def interrupt_at(step: int) -> Iterator[None]:
    """Yield so many times, then raise."""
    for _ in range(step):
        yield
    raise Interrupted


@pytest.mark.parametrize("step", [0, 1, 4, 5, 9])
def test_an_interrupted_run_is_continued_with_every_group_once(folder: Path, step: int) -> None:
    plan(folder, "well", "crashing")
    steps = interrupt_at(step)
    with pytest.raises(Interrupted):
        schedule.measure(folder, settings(), lambda progress: next(steps), never)
    before = measured(folder)
    assert len(before) < len(SIZES) * 2
    schedule.measure(folder, settings(), ignore, never)
    assert measured(folder)[: len(before)] == before
    assert sorted(measured(folder)) == all_once(2)
    assert len(failures(folder)) == len(set(failures(folder))) == len(SIZES)


def test_a_resumed_run_keeps_the_order_that_it_would_have_had(tmp_path: Path) -> None:
    whole = orders(tmp_path / "whole", 3)
    plan(tmp_path / "parts", "well", sizes=tuple(range(1, 9)))
    steps = interrupt_at(5)
    with pytest.raises(Interrupted):
        schedule.measure(tmp_path / "parts", settings(seed=3), lambda progress: next(steps), never)
    schedule.measure(tmp_path / "parts", settings(seed=3), ignore, never)
    assert measured(tmp_path / "parts") == whole


def test_a_torn_line_is_cut_off_and_measured_again(folder: Path) -> None:
    plan(folder, "well")
    schedule.measure(folder, settings(), ignore, never)
    path = folder / store.SAMPLES_FILE
    path.write_bytes(path.read_bytes()[:-10])
    schedule.measure(folder, settings(), ignore, never)
    assert sorted(measured(folder)) == all_once(2)
    assert store.read_lines(folder)[1] == []


def test_a_run_that_is_complete_starts_no_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    schedule.measure(folder, settings(), ignore, never)
    monkeypatch.setattr(worker_process, "COMMAND", ("false",))
    assert schedule.measure(folder, settings(), ignore, never).launches == 2


@pytest.mark.parametrize("key", ["tensorflow", "numpy", "cpu"])
def test_a_run_is_not_continued_in_another_environment(folder: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    monkeypatch.setenv("FAKE_WORKER_VERSIONS", json.dumps({key: "another"}))
    with pytest.raises(BadInput) as caught:
        schedule.measure(folder, settings(), ignore, never)
    assert caught.value.received == f"another now, {stored.ENVIRONMENT[key]} in run.json"
    assert store.read_lines(folder) == ([], [])


def test_a_group_is_on_the_disk_before_the_next_is_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    events: list[str] = []
    fsync = os.fsync

    def spy(descriptor: int) -> None:
        fsync(descriptor)
        events.append(f"{len(measured(folder))} on disk")

    monkeypatch.setattr(os, "fsync", spy)
    schedule.measure(folder, settings(launches=1), lambda progress: events.append(f"begin {progress.done}"), never)
    begun = [[f"begin {place}", f"{place + 1} on disk"] for place in range(len(SIZES))]
    # The launch and the limits of the machine come first.
    assert events == ["0 on disk", "0 on disk", *(event for pair in begun for event in pair)]


# What the machine can do at most


def test_the_limits_are_asked_for_once_in_each_launch_before_its_groups(folder: Path, log: Path) -> None:
    plan(folder, "well", sizes=(1, 2))
    schedule.measure(folder, settings(), ignore, never)
    asked = [request["do"] for request in requests_in(log, "limits", "measure")]
    assert asked == 2 * ["limits", "measure", "measure"]
    assert lines_of(folder, "limits") == [{"kind": "limits", "launch": launch, **LIMITS} for launch in (0, 1)]


def test_a_launch_that_is_continued_has_its_limits(folder: Path, log: Path) -> None:
    plan(folder, "well")
    steps = interrupt_at(3)
    with pytest.raises(Interrupted):
        schedule.measure(folder, settings(), lambda progress: next(steps), never)
    schedule.measure(folder, settings(), ignore, never)
    assert [line["launch"] for line in lines_of(folder, "limits")] == [0, 1]
    assert len(requests_in(log, "limits")) == 2


@pytest.mark.parametrize(
    ("behaviour", "reason", "workers"),
    [
        ("raising", FAILURES["raising"][1], [0, 1]),
        ("crashing", "the worker process ended by signal SIGKILL, from outside or for want of memory", [0, 0, 1]),
        ("hanging", "no sign of life for 1 s; the worker was killed", [0, 0, 1]),
    ],
)
def test_limits_that_cannot_be_measured_cost_nothing_else_and_are_not_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, reason: str, workers: list[int]
) -> None:
    monkeypatch.setenv("FAKE_WORKER_LIMITS", behaviour)
    plan(folder, "well")
    chosen = settings(case_timeout_seconds=1.0)
    assert schedule.measure(folder, chosen, ignore, never) == Ended(2, "launches")
    assert lines_of(folder, "limits") == [stored.limits_line(0, reason)]
    assert [line["launch"] for line in lines_of(folder, "launch")] == workers
    assert sorted(measured(folder)) == all_once(2)
    assert failures(folder) == []


class Clock:
    """Stands for the module `time`: a minute passes with every group. `told` is what was said to be left before it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.told: list[float | None] = []

    def monotonic(self) -> float:
        return self.seconds

    def pass_a_minute(self, progress: Progress) -> None:
        self.seconds += 60.0
        self.told.append(progress.seconds_left)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(schedule, "time", clock)
    monkeypatch.setattr(budget, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("budget_seconds", "launches"),
    [(None, 6), (1.0, 2), (600.0, 2), (899.0, 2), (900.0, 3), (1200.0, 4), (1799.0, 5), (1800.0, 6), (1e6, 6)],
)
def test_no_launch_is_begun_that_would_end_after_the_budget(
    folder: Path, clock: Clock, budget_seconds: float | None, launches: int
) -> None:
    """A launch takes five minutes here; two are made whatever the budget, because one gives no interval."""
    plan(folder, "well")
    chosen = settings(launches=6, budget_seconds=budget_seconds)
    assert schedule.measure(folder, chosen, clock.pass_a_minute, never).launches == launches
    assert sorted(measured(folder)) == all_once(launches)


def test_the_time_left_is_told_from_the_pace(folder: Path, clock: Clock) -> None:
    plan(folder, "well")
    schedule.measure(folder, settings(), clock.pass_a_minute, never)
    assert clock.told[0] is None
    assert clock.told[1:] == pytest.approx([60.0 * left for left in range(9, 0, -1)])


def test_the_time_left_ends_with_the_budget_but_not_before_two_launches(folder: Path, clock: Clock) -> None:
    """Six launches of five minutes, and a budget for two and a half: the third is never begun."""
    plan(folder, "well")
    assert (
        schedule.measure(folder, settings(launches=6, budget_seconds=750.0), clock.pass_a_minute, never).launches == 2
    )
    assert clock.told[1:] == pytest.approx([60.0 * left for left in (11.5, 10.5, 9.5, 8.5, 7.5, 6.5, 5.5, 4.5, 3.5)])


def test_the_time_left_of_a_resumed_run_is_told_from_its_own_pace(folder: Path, clock: Clock) -> None:
    plan(folder, "well")
    steps = interrupt_at(4)
    with pytest.raises(Interrupted):
        schedule.measure(folder, settings(), lambda progress: next(steps), never)
    schedule.measure(folder, settings(), clock.pass_a_minute, never)
    assert clock.told[0] is None
    assert clock.told[1:] == pytest.approx([60.0 * left for left in range(5, 0, -1)])


class Looks:
    """Leaves open what it is told to, by the number of launches, and notes when it was asked."""

    def __init__(self, **open_after: list[str]) -> None:
        self.open = {int(name.removeprefix("after_")): frozenset(cases) for name, cases in open_after.items()}
        self.asked: list[int] = []

    def __call__(self, launches: int) -> frozenset[str]:
        self.asked.append(launches)
        return self.open[launches]


def of(*variants: str, sizes: tuple[int, ...]) -> list[str]:
    return [stored.case(variant, size=size) for size in sizes for variant in variants]


def looked(folder: Path) -> list[tuple[int, list[str]]]:
    return [(line["launch"], line["open"]) for line in lines_of(folder, "look")]


def test_a_run_whose_first_look_leaves_nothing_open_ends_there(folder: Path) -> None:
    plan(folder, "well", "well_too")
    ended = schedule.measure(folder, settings(launches=8, first_look=3), ignore, Looks(after_3=[]))
    assert ended == Ended(3, "look")
    assert sorted(measured(folder)) == all_once(3)
    assert looked(folder) == [(3, [])]


def test_later_launches_measure_what_is_open_and_nothing_else(folder: Path) -> None:
    plan(folder, "well", "well_too", "third", sizes=(1, 2, 3))
    looks = Looks(after_3=of("well", "third", sizes=(1, 3)), after_5=of("well", "well_too", sizes=(2,)))
    ended = schedule.measure(folder, settings(launches=8, first_look=3), ignore, looks)
    assert ended == Ended(8, "launches")
    assert looks.asked == [3, 5]
    work = [(line["launch"], case) for line in lines_of(folder, "group") for case in line["samples"]]
    expected = [(launch, of("well", "well_too", "third", sizes=(1, 2, 3))) for launch in (0, 1, 2)]
    expected += [(launch, of("well", "third", sizes=(1, 3))) for launch in (3, 4)]
    expected += [(launch, of("well", "well_too", sizes=(2,))) for launch in (5, 6, 7)]
    assert sorted(work) == sorted((launch, case) for launch, cases in expected for case in cases)


def test_what_comes_from_the_same_pass_is_measured_along(folder: Path) -> None:
    keys = [
        f"double/{variant}/custom_gradient/{direction}/call/float32/1/cpu"
        for variant in ("well", "well_too")
        for direction in ("backward", "forward_backward")
    ]
    store.create(folder, stored.run(keys))
    schedule.measure(folder, settings(launches=2, first_look=1), ignore, Looks(after_1=keys[3:]))
    assert [list(line["samples"]) for line in lines_of(folder, "group")] == [keys, keys[2:]]


def test_more_rounds_are_allowed_once_the_data_have_been_looked_at(folder: Path, log: Path) -> None:
    plan(folder, "well", sizes=(1,))
    chosen = settings(launches=3, first_look=2, rounds=5)
    schedule.measure(folder, chosen, ignore, Looks(after_2=of("well", sizes=(1,))))
    assert [request["rounds"] for request in requests_in(log, "measure")] == [5, 5, 5 * schedule.LATER_ROUNDS]


@pytest.mark.parametrize("step", [2, 6, 7, 9, 10])
def test_a_run_that_is_interrupted_around_a_look_goes_on_as_it_would_have(tmp_path: Path, step: int) -> None:
    """The look that was taken is not taken again: what is resolved by now could be another case."""
    chosen = settings(launches=5, first_look=3, seed=3)
    kept = {"after_3": of("well", "well_too", sizes=(1, 2))}

    def lines(folder: Path) -> list[dict[str, Any]]:
        return [line for line in store.read_lines(folder)[0] if line["kind"] != "launch"]

    plan(tmp_path / "whole", "well", "well_too", sizes=(1, 2, 3))
    schedule.measure(tmp_path / "whole", chosen, ignore, Looks(**kept))
    folder = tmp_path / "parts"
    plan(folder, "well", "well_too", sizes=(1, 2, 3))
    steps = interrupt_at(step)
    first, again = Looks(**kept), Looks(**kept)
    with pytest.raises(Interrupted):
        schedule.measure(folder, chosen, lambda progress: next(steps), first)
    assert schedule.measure(folder, chosen, ignore, again) == Ended(5, "launches")
    assert sorted(first.asked + again.asked) == [3]
    assert lines(folder) == lines(tmp_path / "whole")


def test_a_run_that_a_look_ended_stays_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well", "well_too")
    chosen = settings(launches=8, first_look=3)
    schedule.measure(folder, chosen, ignore, Looks(after_3=[]))
    monkeypatch.setattr(worker_process, "COMMAND", ("false",))
    assert schedule.measure(folder, chosen, ignore, never) == Ended(3, "look")


@pytest.mark.parametrize(
    ("budget_seconds", "launches"), [(899.0, 2), (900.0, 3), (1079.0, 3), (1080.0, 4), (1439.0, 5), (1440.0, 6)]
)
def test_a_launch_of_what_is_open_is_begun_if_it_fits_into_the_budget(
    folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, budget_seconds: float, launches: int
) -> None:
    """A worker is ready after a minute, and a group takes another: 360 s a launch of all five, 180 s of two."""

    class SlowWorker(worker_process.Worker):
        def __init__(self, timeout_seconds: float, python: Path | None, limit_bytes: int | None) -> None:
            super().__init__(timeout_seconds, python, limit_bytes)
            clock.seconds += 60.0

    monkeypatch.setattr(schedule, "Worker", SlowWorker)
    plan(folder, "well", "well_too")
    chosen = settings(launches=6, first_look=2, budget_seconds=budget_seconds)
    kept = frozenset(of("well", "well_too", sizes=(1, 2)))
    ended = schedule.measure(folder, chosen, clock.pass_a_minute, lambda launches: kept)
    assert ended == Ended(launches, "budget" if launches < 6 else "launches")
    assert clock.seconds <= budget_seconds


@pytest.mark.parametrize(("budget_seconds", "launches"), [(1079.0, 2), (1080.0, 3)])
def test_the_time_that_limits_take_belongs_to_a_launch(
    folder: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, budget_seconds: float, launches: int
) -> None:
    """They take a minute here, and each of five groups another: 360 s a launch."""

    class SlowWorker(worker_process.Worker):
        def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
            clock.seconds += 60.0 * (request["do"] == "limits")
            return super().ask(request)

    monkeypatch.setattr(schedule, "Worker", SlowWorker)
    plan(folder, "well")
    chosen = settings(launches=3, budget_seconds=budget_seconds)
    assert schedule.measure(folder, chosen, clock.pass_a_minute, never).launches == launches


def test_the_time_a_look_takes_counts(folder: Path, clock: Clock) -> None:
    plan(folder, "well")

    def look_for_an_hour(launches: int) -> frozenset[str]:
        clock.seconds += 3600.0
        return frozenset(of("well", sizes=SIZES))

    chosen = settings(launches=4, first_look=2, budget_seconds=3600.0)
    assert schedule.measure(folder, chosen, clock.pass_a_minute, look_for_an_hour) == Ended(2, "budget")
    assert looked(folder) == [(2, of("well", sizes=SIZES))]


def test_progress_counts_the_groups_that_are_open_of_those_that_were_planned(folder: Path) -> None:
    plan(folder, "well", "well_too")
    told: list[tuple[int, int, int, int]] = []
    chosen = settings(launches=2, first_look=1)
    schedule.measure(
        folder,
        chosen,
        lambda step: told.append((step.launch, step.done, step.total, step.planned)),
        Looks(after_1=of("well", "well_too", sizes=(2, 4))),
    )
    assert told == [*((0, done, 5, 5) for done in range(5)), (1, 0, 2, 5), (1, 1, 2, 5)]
