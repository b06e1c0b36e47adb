"""Runs are measured, and a listener hears how."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import stored
from commands import planned
from fake_worker import FAILURES
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import budget, measure, sweeps, warming, worker_process
from pyopbench.engine import launch as launches
from pyopbench.engine import plan as planning
from pyopbench.engine import settings as usual
from pyopbench.engine.budget import Progress, Tell
from pyopbench.engine.measure import Listener
from pyopbench.engine.settings import Settings
from pyopbench.judge.interim_analysis import InterimAnalysis
from pyopbench.judge.judge import Judging, judge
from pyopbench.model.case import Axes, Case
from pyopbench.model.errors import BadInput, PyopbenchError
from pyopbench.store import run_folder, run_sides
from pyopbench.store.line_types import GroupLine
from pyopbench.store.run_folder import open_side
from pyopbench.store.run_sides import OpenRun, open_run

__all__ = ["planned"]
ENDS_AT_ONCE = (sys.executable, "-c", "raise SystemExit(3)")
JUDGING = Judging("py_function_numpy", 0.03)
LOOK = InterimAnalysis(frozenset({"a case"}), launches=2, verdicts=2, resolved=1, reachable=1, unneeded=0, most=8)


class Told(Listener):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.busy_with: list[str] = []
        self.sentences: list[str] = []
        self.problems: list[tuple[str, str]] = []
        self.steps: list[Progress] = []

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        self.busy_with.append(what)
        yield self.busy_with.append

    @contextmanager
    def sampling(self) -> Iterator[Tell]:
        yield self.steps.append

    def say(self, text: str, *, whole: bool = False) -> None:
        self.sentences.append(text)

    def problem(self, error: PyopbenchError, what: str = "") -> None:
        self.problems.append((what, error.message))


@pytest.fixture
def begun(planned: Callable[..., None], tmp_path: Path) -> Callable[..., tuple[OpenRun, Told]]:
    def begin(**settings: Any) -> tuple[OpenRun, Told]:
        planned("native")
        told = Told()
        request = planning.Request(
            Axes(ops=("double",)),
            replace(usual.QUICK, launches=2, **settings),
            JUDGING.baseline,
            ("made", "up"),
        )
        return measure.begin(tmp_path / "run", request, told), told

    return begin


def test_a_run_is_planned_and_measured_and_its_listener_told(begun: Callable[..., tuple[OpenRun, Told]]) -> None:
    run, told = begun(until="end")
    assert told.busy_with[0].startswith("planning")
    assert told.sentences == [f"2 cases to try, 1 not supported; results in {run.folder}"]
    ended = measure.measure(run, JUDGING, told)
    assert ended is not None
    assert (ended.launches, ended.by) == (2, "launches")
    assert told.steps[-1].doing == "sampling"
    assert told.busy_with[1:] == ["starting"]
    assert told.problems == []


OPENED: list[str] | None = None
"""The files that this process opens to read, while it is a list."""


def _note_opened(event: str, arguments: tuple[Any, ...]) -> None:
    if OPENED is not None and event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        OPENED.append(os.path.basename(os.fsdecode(arguments[0])) if not isinstance(arguments[0], int) else "")


def test_what_was_written_is_held_and_never_read_by_who_has_written_it(
    begun: Callable[..., tuple[OpenRun, Told]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the lock, which opens run.json and reads nothing of it."""
    monkeypatch.setattr(sys.modules[__name__], "OPENED", [])
    sys.addaudithook(_note_opened)  # it stays, and notes nothing later
    run, told = begun(until="end")
    measure.measure(run, JUDGING, told)
    judge([run], JUDGING)
    assert OPENED is not None
    assert OPENED.count(run_folder.RUN_FILE) == 1
    assert OPENED.count(run_folder.SAMPLES_FILE) == 0
    again = open_run(run.folder)
    assert OPENED.count(run_folder.SAMPLES_FILE) == 1, "a reader is noticed"
    (held,), (stored_side,) = run.measured, again.measured
    assert (held.content, held.lines, held.size) == (stored_side.content, stored_side.lines, stored_side.size)
    assert sum(isinstance(line, GroupLine) for line in held.lines) > 1


def test_looks_and_the_end_of_the_budget_are_told(
    begun: Callable[..., tuple[OpenRun, Told]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = begun(budget_seconds=3.0)
    whole = measure.measure_runs

    def spend(tasks: Any, tell: Tell, look: Any = None) -> Any:
        tasks[0].look(2, 2)
        return [replace(ended, by="budget") for ended in whole(tasks, tell, look)]

    monkeypatch.setattr(measure, "measure_runs", spend)
    monkeypatch.setattr(measure.judge, "interim_analysis", lambda folder, options, launches, most: LOOK)
    measure.measure(run, JUDGING, told)
    assert LOOK.text() in told.sentences
    assert told.sentences[-1] == "the budget of 3 s is spent after 2 of at most 2 launches"


def test_a_worker_that_does_not_start_is_told_with_the_way_on(
    begun: Callable[..., tuple[OpenRun, Told]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = begun()
    monkeypatch.setattr(worker_process, "COMMAND", ENDS_AT_ONCE)
    assert measure.measure(run, JUDGING, told) is None
    assert [what for what, _ in told.problems] == [""]
    assert told.sentences[-1] == f"  resume: pyopbench resume {run.folder}"
    assert not any(line.get("samples") for line in stored.read_lines(run.folder))


def test_nobody_need_listen(begun: Callable[..., tuple[OpenRun, Told]]) -> None:
    run, _ = begun(until="end")
    assert measure.measure(run, JUDGING, Listener()) is not None


def test_a_run_on_one_version_has_one_part(tmp_path: Path) -> None:
    assert not run_sides.is_here(tmp_path)


SIZES = (1, 2, 3, 4, 5)


def settings(**changes: Any) -> Settings:
    """Return how to measure: two launches of two rounds, and no look, unless `changes` say otherwise."""
    chosen = {name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__}
    return Settings(**{**chosen, **changes})


def ignore(progress: Progress) -> None:
    pass


def never(launches: int, most: int) -> frozenset[str]:
    """A look that is not to be taken."""
    raise AssertionError(launches)


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the worker keeps the requests; there is memory for three workers, and two cores."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setattr(warming, "usable_cores", lambda: frozenset({0, 1}))
    monkeypatch.setattr(warming.memory, "available_bytes", lambda sources=None: 1 << 40)
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


def plan(folder: Path, *variants: str, sizes: tuple[int, ...] = SIZES, **changes: Any) -> None:
    cases = [stored.case(variant, size=size) for size in sizes for variant in variants]
    stored.write(folder, stored.run(cases, **changes), [])


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
    return [
        (failure["case"], failure["status"])
        for line in stored.read_lines(folder)
        for failure in line.get("failures", ())
    ]


# Turns


def test_every_group_is_sampled_by_every_launch_once_in_a_sweep(folder: Path) -> None:
    plan(folder, "well", "well_too")
    ended = measure.measure_run(open_side(folder), settings(launches=3), ignore, never)
    assert (ended.launches, ended.by, ended.looks) == (3, "launches", 0)
    assert sorted(measured(folder)) == all_of(3)
    assert sorted(line["launch"] for line in lines_of(folder, "launch")) == [0, 1, 2]
    for line in lines_of(folder, "group"):
        assert {case.split("/")[1] for case in line["samples"]} == {"well", "well_too"}


def test_launches_take_turns_within_each_group_in_random_order(folder: Path) -> None:
    plan(folder, "well", sizes=tuple(range(1, 13)))
    measure.measure_run(open_side(folder), settings(launches=3), ignore, never)
    turns = [[launch for launch, _ in several] for _, several in groupby(measured(folder), lambda one: one[1])]
    assert len(turns) == 12, "all launches sample a group before the next one's turn"
    assert {tuple(sorted(turn)) for turn in turns} == {(0, 1, 2)}
    assert len(set(map(tuple, turns))) > 1


def test_further_sweeps_go_on_with_the_rounds_of_the_first(folder: Path) -> None:
    plan(folder, "well", sizes=(1, 2))
    measure.measure_run(open_side(folder), settings(rounds=23, group_seconds=60.0), ignore, never)
    lines = lines_of(folder, "group")
    for launch, group in all_of(2, (1, 2)):
        passes = [line for line in lines if (line["launch"], line["group"]) == (launch, group)]
        assert [line.get("pass", 0) for line in passes] == list(range(len(passes)))
        assert len(passes) > 2
        numbers = [row[0] for line in passes for rows in line["samples"].values() for row in rows]
        assert numbers == list(range(23))
    sweep = [(line.get("pass", 0), line["group"]) for line in lines]
    assert [number for number, _ in sweep] == sorted(number for number, _ in sweep), "sweep by sweep"


@pytest.mark.parametrize("further", [True, False])
def test_the_worker_is_told_what_to_do(folder: Path, log: Path, *, further: bool) -> None:
    plan(folder, "well", sizes=(1,))
    chosen = settings(seed=5, rounds=3, first_rounds=3, block_seconds=0.25, group_seconds=0.75, further=further)
    measure.measure_run(open_side(folder), chosen, ignore, never)
    same = {"cases": [stored.case("well")], "seed": 5}
    prepared = sorted(requests_in(log, "prepare"), key=lambda one: int(one["launch"]))
    checks = [bool(one.pop("finite_differences")) for one in prepared]
    assert prepared == [{"do": "prepare", **same, "launch": launch, "further": further} for launch in (0, 1)]
    assert sorted(checks) == [False, True], "whichever came to it first"
    sampled = requests_in(log, "sample")
    how = {"rounds": 3, "first_round": 0, "block_seconds": 0.25, "group_seconds": 0.75, "pass": 0}
    assert sorted(sampled, key=lambda one: int(one["launch"])) == [
        {"do": "sample", **same, "launch": launch, **how} for launch in (0, 1)
    ]


def test_finite_differences_are_taken_by_one_launch_for_all_groups_of_an_op(folder: Path, log: Path) -> None:
    """They are taken at one size, so that another launch would take them once more for nothing."""
    ops = ("sinh", "cube", "relu")
    cases = [stored.case("well", op=op, size=size) for op in ops for size in SIZES]
    stored.write(folder, stored.run(cases), [])
    measure.measure_run(open_side(folder), settings(), ignore, never)
    prepared = requests_in(log, "prepare")
    checked = {op: {one["launch"] for one in prepared if one["finite_differences"] and op in str(one)} for op in ops}
    assert all(len(launches) == 1 for launches in checked.values())
    assert sorted(case for one in prepared if one["finite_differences"] for case in one["cases"]) == sorted(cases)


def test_what_is_refused_forward_is_not_tried_with_a_gradient(folder: Path, log: Path) -> None:
    """By no launch; and it is stored as if it had been."""
    with_gradient = {"direction": "forward_backward", "gradient": "autodiff"}
    forward = {variant: stored.case(variant) for variant in ("well", "impossible", "wrong")}
    backward = {variant: stored.case(variant, **with_gradient) for variant in forward}
    stored.write(folder, stored.run([*backward.values(), *forward.values()]), [])
    measure.measure_run(open_side(folder), settings(), ignore, never)
    asked = Counter(case for one in requests_in(log, "prepare") for case in one["cases"])
    assert asked[backward["well"]] == 2
    assert asked[backward["wrong"]] >= 1, "that is an error of the variant, and not a refusal"
    assert asked[backward["impossible"]] == 0
    rows = [failure for line in lines_of(folder, "prepared") for failure in line["failures"]]
    expected = [(of[variant], *FAILURES[variant]) for variant in ("impossible", "wrong") for of in (forward, backward)]
    assert sorted((row["case"], row["status"], row["reason"]) for row in rows) == sorted(expected)


@pytest.mark.parametrize("seed", range(8))
def test_forward_groups_are_prepared_before_those_with_gradients(folder: Path, log: Path, seed: int) -> None:
    """In an order that is random otherwise."""
    directions = [("forward", "none"), ("forward_backward", "autodiff")]
    cases = [stored.case("well", size=size, gradient=way, direction=name) for size in SIZES for name, way in directions]
    stored.write(folder, stored.run(cases), [])
    measure.measure_run(open_side(folder), settings(seed=seed), ignore, never)
    for launch in (0, 1):
        keys = [Case.from_id(one["cases"][0]) for one in requests_in(log, "prepare") if one["launch"] == launch]
        assert len(keys) == 2 * len(SIZES)
        for size in SIZES:
            assert [key.direction for key in keys if key.size == size] == ["forward", "forward_backward"]


def orders(folder: Path, seed: int) -> list[tuple[int, str]]:
    plan(folder, "well", sizes=tuple(range(1, 9)))
    measure.measure_run(open_side(folder), settings(seed=seed), ignore, never)
    return measured(folder)


def test_a_seed_repeats_the_order_of_groups_and_launches(tmp_path: Path) -> None:
    first = orders(tmp_path / "first", 1)
    assert orders(tmp_path / "again", 1) == first
    assert orders(tmp_path / "other", 2) != first


def busy(path: Path) -> list[tuple[int, str, float, float]]:
    """Return for each request who was asked what, when it began and when it was answered."""
    return [tuple(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]  # type: ignore[misc]


def test_while_a_worker_samples_all_others_sleep(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though two prepare at the same time, and one that is lost is replaced in between."""
    monkeypatch.setenv("FAKE_WORKER_TIMES", str(tmp_path / "times"))
    monkeypatch.setattr(warming, "usable_cores", lambda: frozenset({0, 1}))
    plan(folder, "lasting", "late_crashing", "well", sizes=(1, 2, 3, 4))
    measure.measure_run(open_side(folder), settings(launches=4, rounds=6), ignore, never)
    requests = busy(tmp_path / "times")
    alone = [one for one in requests if one[1] == "sample"]
    assert len(alone) > 20
    for process, _, began, ended in alone:
        beside = [one for one in requests if one[0] != process and one[2] < ended and began < one[3]]
        assert beside == []
    assert max(line["at_once"] for line in lines_of(folder, "workers")) == 2


def test_runs_measured_together_take_turns(tmp_path: Path) -> None:
    """In each group the workers of both; launches of one number prepare together; one that is done stops no other."""
    runs = (("one", 5, (1, 2)), ("two", 5, (1, 2)), ("short", 2, (1,)))
    tasks, steps = [], []
    for name, many, sizes in runs:
        plan(tmp_path / name, f"well_{name}", sizes=sizes)
        tasks.append(measure.Task(open_side(tmp_path / name), settings(launches=many), never))
    ended = measure.measure_runs(tasks, steps.append)
    assert [one.launches for one in ended] == [5, 5, 2]
    for name, many, sizes in runs:
        assert sorted(measured(tmp_path / name)) == all_of(many, sizes)
    assert {step.planned for step in steps if step.doing == "sampling"} == {2}


def test_samples_of_runs_measured_together_are_interleaved(tmp_path: Path, log: Path) -> None:
    for name in ("one", "two"):
        plan(tmp_path / name, f"well_{name}", sizes=tuple(range(1, 9)))
    tasks = [measure.Task(open_side(tmp_path / name), settings(), never) for name in ("one", "two")]
    measure.measure_runs(tasks, ignore)
    asked = [Case.from_id(request["cases"][0]) for request in requests_in(log, "sample")]
    turns = [[case.variant for case in several] for _, several in groupby(asked, lambda case: case.size)]
    assert [sorted(turn) for turn in turns] == 8 * [["well_one", "well_one", "well_two", "well_two"]]
    assert len(set(map(tuple, turns))) > 1


def test_launches_that_are_compared_sample_right_after_one_another(tmp_path: Path, log: Path) -> None:
    """Three blocks of three: a core that is slow for a while is to slow down all launches of one number."""
    tasks = []
    for name in ("one", "two", "three"):
        plan(tmp_path / name, f"well_{name}", sizes=tuple(range(1, 9)))
        tasks.append(measure.Task(open_side(tmp_path / name), settings(launches=3), never))
    measure.measure_runs(tasks, ignore)
    asked = [(request["launch"], request["cases"][0]) for request in requests_in(log, "sample")]
    blocks = [asked[start : start + 3] for start in range(0, len(asked), 3)]
    assert {len({launch for launch, _ in block}) for block in blocks} == {1}
    assert len({tuple(launch for (launch, _), *_ in blocks[start : start + 3]) for start in range(0, 24, 3)}) > 1
    assert len({tuple(Case.from_id(key).variant for _, key in block) for block in blocks}) > 1


def test_a_group_that_goes_apart_in_one_run_does_so_in_all(tmp_path: Path, log: Path) -> None:
    """Else the one has a sweep, and the other many that nothing can be compared with."""
    tasks = []
    for name, variant in (("one", "leaving"), ("two", "well")):
        stored.write(tmp_path / name, stored.run([stored.case(variant, size=1), stored.case("well", size=2)]), [])
        tasks.append(measure.Task(open_side(tmp_path / name), settings(rounds=40), never))
    measure.measure_runs(tasks, ignore)
    for task in tasks:
        sweeps_of = Counter(launch for launch, group in measured(task.side.folder) if group.split("/")[4] == "1")
        assert sweeps_of == {0: 1, 1: 1}


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
    plan(folder, "well", variant, "well_too", sizes=(1, 2))
    measure.measure_run(open_side(folder), settings(launches=4, rounds=6), ignore, never)
    assert sorted(failures(folder)) == [(stored.case(variant, size=size), status) for size in (1, 2)]
    rounds = rounds_of(folder)
    for case in (stored.case(name, size=size) for name in ("well", "well_too") for size in (1, 2)):
        whole = [launch for launch in range(6) if rounds[launch, case] == 6]
        assert len(whole) >= 2, "a launch that is lost is replaced"


def test_a_worker_that_is_lost_while_it_samples_is_replaced_by_a_new_launch(folder: Path) -> None:
    plan(folder, "well", "late_crashing", sizes=(1, 2, 3))
    measure.measure_run(open_side(folder), settings(launches=8, rounds=4, budget_seconds=None), ignore, never)
    lost = {line["launch"] for line in lines_of(folder, "lost")}
    assert len(lost) == 2, "a variant of an op that has cost two workers costs no third"
    launches = [line["launch"] for line in lines_of(folder, "launch")]
    assert len(launches) == len(set(launches)), "each process is a launch of its own"
    whole = [launch for launch in set(launches) - lost if rounds_of(folder)[launch, stored.case("well")] == 4]
    assert len(whole) >= 2


def test_a_case_that_hangs_is_a_row_and_the_others_are_measured(folder: Path) -> None:
    plan(folder, "hanging", "well", sizes=(1,))
    measure.measure_run(open_side(folder), settings(case_timeout_seconds=1.0), ignore, never)
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
    stored.write(folder, stored.run(keys), [])
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert set(failures(folder)) == {(key, "crashed") for key in keys[:2]}
    assert {key for line in lines_of(folder, "group") for key in line["samples"]} == set(keys[2:])


def test_a_variant_that_has_cost_two_workers_costs_no_third(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "usable_cores", lambda: frozenset({0}))
    plan(folder, "crashing", "well")
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert len(lines_of(folder, "lost")) == 2
    assert sorted(failures(folder)) == [(stored.case("crashing", size=size), "crashed") for size in SIZES]
    assert sorted(measured(folder)) == all_of(2)


def test_a_worker_that_somebody_kills_is_blamed_on_nobody_the_first_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "usable_cores", lambda: frozenset({0}))
    plan(folder, "killed", "well", sizes=(1,))
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert [len(line["failures"]) for line in lines_of(folder, "lost")] == [0, 1]
    assert failures(folder) == [(stored.case("killed"), "crashed")]
    assert sorted(measured(folder)) == all_of(2, (1,))


def test_a_group_that_loses_its_worker_before_any_case_is_given_up_the_second_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warming, "usable_cores", lambda: frozenset({0}))
    plan(folder, "silent", sizes=(1,))
    measure.measure_run(open_side(folder), settings(case_timeout_seconds=1.0), ignore, never)
    assert [len(line["failures"]) for line in lines_of(folder, "lost")] == [0, 1]
    assert failures(folder) == [(stored.case("silent"), "timeout")]
    assert measured(folder) == []


def test_what_failed_once_is_not_tried_again(folder: Path, log: Path) -> None:
    plan(folder, "raising", sizes=(1, 2))
    measure.measure_run(open_side(folder), settings(launches=4), ignore, never)
    assert len(requests_in(log, "prepare")) <= 4, "by the two workers that prepare at the same time"
    assert requests_in(log, "sample") == []


@pytest.mark.parametrize("variant", ["leaving", "eating"])
def test_what_does_not_go_with_others_in_one_process_is_measured_by_one_of_its_own(folder: Path, variant: str) -> None:
    """Nothing is left working beside what is sampled, and no group fails for want of what others hold."""
    cases = [stored.case("well", size=size) for size in (1, 2, 3)] + [stored.case(variant, size=9)]
    stored.write(folder, stored.run(cases), [])
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert failures(folder) == []
    assert sorted(set(measured(folder))) == sorted(all_of(2, (1, 2, 3, 9)))
    assert len(lines_of(folder, "launch")) > 2


def test_a_worker_in_which_something_only_waits_is_kept(folder: Path) -> None:
    plan(folder, "waiting", sizes=(1, 2))
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert {line["left_behind"]["threads"] for line in lines_of(folder, "prepared")} == {1}
    assert len(lines_of(folder, "launch")) == 2


# Interruptions


class Interrupted(Exception):
    pass


def interrupt_at(step: int) -> Iterator[None]:
    """Yield so many times, then raise."""
    for _ in range(step):
        yield
    raise Interrupted


@pytest.mark.parametrize("step", [0, 1, 4, 5, 9, 14])
def test_an_interrupted_run_is_continued_by_new_launches_and_nothing_is_lost(folder: Path, step: int) -> None:
    plan(folder, "well", "raising")
    steps = interrupt_at(step)
    with pytest.raises(Interrupted):
        measure.measure_run(open_side(folder), settings(), lambda progress: next(steps), never)
    lines = stored.read_lines(folder)
    begun = {launch for launch, _ in measured(folder)}
    measure.measure_run(open_side(folder), settings(), ignore, never)
    after = stored.read_lines(folder)
    assert after[: len(lines)] == lines
    assert not begun & {line["launch"] for line in after[len(lines) :] if line["kind"] == "launch"}
    launches = Counter(group for _, group in set(measured(folder)))
    assert launches == {stored.group(size=size): 2 for size in SIZES}


def test_a_torn_line_is_cut_off_and_measured_again(folder: Path) -> None:
    plan(folder, "well")
    measure.measure_run(open_side(folder), settings(), ignore, never)
    path = folder / run_folder.SAMPLES_FILE
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-2]) + whole[-2][:-10])  # the last is that it has ended
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert Counter(group for _, group in measured(folder)) == {stored.group(size=size): 2 for size in SIZES}
    assert not open_side(folder).torn


def test_a_run_that_is_complete_starts_no_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    measure.measure_run(open_side(folder), settings(), ignore, never)
    lines = stored.read_lines(folder)
    monkeypatch.setattr(worker_process, "COMMAND", ("false",))
    ended = measure.measure_run(open_side(folder), settings(), ignore, never)
    assert (ended.launches, ended.by) == (2, "launches")
    assert stored.read_lines(folder) == lines


@pytest.mark.parametrize("key", ["tensorflow", "numpy", "cpu"])
def test_a_run_is_not_continued_in_another_environment(folder: Path, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    monkeypatch.setenv("FAKE_WORKER_VERSIONS", json.dumps({key: "another"}))
    with pytest.raises(BadInput) as caught:
        measure.measure_run(open_side(folder), settings(), ignore, never)
    assert caught.value.received == f"another now, {stored.ENVIRONMENT[key]} in run.json"
    assert open_side(folder).lines == []


def test_a_group_is_on_the_disk_before_the_next_is_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well")
    events: list[int | str] = []
    fsync = os.fsync

    def spy(descriptor: int) -> None:
        fsync(descriptor)
        events.append(len(measured(folder)))

    def show(step: Progress) -> None:
        events.append(step.doing)

    monkeypatch.setattr(os, "fsync", spy)
    measure.measure_run(open_side(folder), settings(), show, never)
    sampled = events[events.index("sampling") :]
    groups = range(1, 2 * len(SIZES) + 1)
    assert sampled == [*(event for group in groups for event in ("sampling", group)), 10], "on disk, the end at last"


# The CPU and a GPU in one run: each launch has a process for each

PLACES = ("cpu", "gpu")


def plan_both(folder: Path, *variants: str, sizes: tuple[int, ...] = SIZES, **changes: Any) -> list[str]:
    """Plan the same cases on both placements, and return their groups."""
    cases = [
        stored.case(variant, size=size, placement=place) for place in PLACES for size in sizes for variant in variants
    ]
    stored.write(folder, stored.run(cases, **changes), [])
    return [stored.group(size=size, placement=place) for place in PLACES for size in sizes]


def test_each_launch_has_a_worker_for_each_placement(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the CPU sees no GPU."""
    groups, hidden = plan_both(folder, "well", "well_too"), list[bool]()
    start = worker_process.Worker._start

    def spy(self: Any, *arguments: Any) -> Any:
        hidden.append(self._hides_gpu)
        return start(self, *arguments)

    monkeypatch.setattr(worker_process.Worker, "_start", spy)
    ended = measure.measure_run(open_side(folder), settings(launches=3), ignore, never)
    assert (ended.launches, ended.by) == (3, "launches")
    assert failures(folder) == [], "no worker was given groups of both"
    assert sorted(measured(folder)) == sorted((launch, group) for launch in range(3) for group in groups)
    workers = [(line["launch"], line["environment"]["placement"]) for line in lines_of(folder, "launch")]
    assert sorted(workers) == [(launch, place) for launch in range(3) for place in PLACES]
    assert lines_of(folder, "workers")[0]["launches"] == [0, 1, 2]
    assert Counter(hidden) == {True: 3, False: 3}


def test_groups_of_both_in_one_worker_would_be_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is planted: a launch has one worker for everything."""
    groups = plan_both(folder, "well")
    monkeypatch.setattr(warming, "by_placement", lambda groups: {"": list(groups)})
    monkeypatch.setattr(launches, "by_placement", lambda groups: {"": list(groups)})
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert failures(folder)
    assert {group for _, group in measured(folder)} < set(groups)


def test_placements_take_turns_so_that_drift_hits_both(folder: Path) -> None:
    """In each sweep all launches sample a group on the one right after or before they sample it on the other."""
    plan_both(folder, "well", sizes=tuple(range(1, 9)))
    measure.measure_run(open_side(folder), settings(launches=3, rounds=8), ignore, never)
    turns = [
        [Case.from_id(next(iter(line["samples"]))) for line in several]
        for _, several in groupby(lines_of(folder, "group"), lambda line: line["group"].rpartition("/")[0])
    ]
    assert {len(turn) for turn in turns} == {6}
    halves = [tuple(place for place, _ in groupby(turn, lambda case: case.placement)) for turn in turns]
    assert set(halves) == {PLACES, PLACES[::-1]}


@pytest.mark.parametrize("step", [0, 3, 8, 14, 21, 24, 27, 33])
def test_a_run_on_both_that_was_interrupted_is_continued_and_nothing_is_lost(folder: Path, step: int) -> None:
    """Also between the placements of a group, and where one had its first launch and the other had not."""
    groups = plan_both(folder, "well", "raising")
    steps = interrupt_at(step)
    with pytest.raises(Interrupted):
        measure.measure_run(open_side(folder), settings(), lambda progress: next(steps), never)
    lines, begun = stored.read_lines(folder), {launch for launch, _ in measured(folder)}
    measure.measure_run(open_side(folder), settings(), ignore, never)
    after = stored.read_lines(folder)
    assert after[: len(lines)] == lines
    assert not begun & {line["launch"] for line in after[len(lines) :] if line["kind"] == "launch"}
    assert Counter(group for _, group in set(measured(folder))) == dict.fromkeys(groups, 2)
    assert {key.split("/")[1] for key, _ in failures(folder)} == {"raising"}


def test_a_placement_that_was_done_starts_no_worker_when_the_run_is_continued(folder: Path, log: Path) -> None:
    groups = plan_both(folder, "well", sizes=(1, 2))
    cases = [stored.case("well", size=size) for size in (1, 2)]
    stored.append(folder, *(stored.group_line(launch, [case]) for launch in (0, 1) for case in cases))
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert {case.split("/")[-1] for one in requests_in(log, "prepare") for case in one["cases"]} == {"gpu"}
    assert Counter(group for _, group in measured(folder)) == dict.fromkeys(groups, 2)
    assert sorted(line["launch"] for line in lines_of(folder, "launch")) == [2, 3]


def test_a_worker_that_is_lost_on_one_placement_is_replaced_there(folder: Path) -> None:
    cases = [stored.case("well", size=size, placement=place) for place in PLACES for size in (1, 2)]
    lost = stored.case("late_crashing", size=1, placement="gpu")
    stored.write(folder, stored.run([*cases, lost]), [])
    measure.measure_run(open_side(folder), settings(launches=4, rounds=6), ignore, never)
    assert {case for case, status in failures(folder)} == {lost}
    have = Counter(case for launch, case in rounds_of(folder))
    assert have == dict.fromkeys(cases, 4)


def test_a_group_that_goes_apart_does_so_on_its_placement(folder: Path) -> None:
    cases = [stored.case("leaving", size=1, placement="gpu"), stored.case("well", size=2, placement="gpu")]
    stored.write(folder, stored.run([*cases, stored.case("well", size=1), stored.case("well", size=2)]), [])
    measure.measure_run(open_side(folder), settings(), ignore, never)
    assert failures(folder) == []
    assert Counter(group for _, group in measured(folder)) == {
        stored.group(size=size, placement=place): 2 for place in PLACES for size in (1, 2)
    }


def test_an_interim_analysis_may_close_a_placement(folder: Path) -> None:
    plan_both(folder, "well", sizes=(1, 2))
    kept = [stored.case("well", size=size, placement="gpu") for size in (1, 2)]
    measure.measure_run(open_side(folder), looking(launches=5, rounds=6), ignore, Looks(kept, kept, kept, kept))
    rounds = rounds_of(folder)
    assert {case for launch, case in rounds if launch > 2} == set(kept)
    assert {launch for launch, _ in rounds} == set(range(5))


# Looks and the budget


class Looks:
    """Leaves open what it is told to, look by look, and notes after how many launches it was asked."""

    def __init__(self, *left: list[str]) -> None:
        self.left = iter(map(frozenset, left))
        self.asked: list[int] = []

    def __call__(self, launches: int, most: int) -> frozenset[str]:
        self.asked.append(launches)
        return next(self.left)


def of(*variants: str, sizes: tuple[int, ...]) -> list[str]:
    return [stored.case(variant, size=size) for size in sizes for variant in variants]


def looking(**changes: Any) -> Settings:
    """Return settings of a run that is looked at after four rounds of each of three launches."""
    return settings(
        **{"until": "resolved", "launches": 3, "first_rounds": 4, "rounds": 40, "group_seconds": 60.0, **changes}
    )


def test_a_run_whose_first_look_leaves_nothing_open_ends_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(folder, "well", "well_too")
    looks = Looks([])
    ended = measure.measure_run(open_side(folder), looking(), ignore, looks)
    assert (ended.launches, ended.by, ended.looks) == (3, "look", 1)
    assert set(rounds_of(folder).values()) == {4}
    (line,) = lines_of(folder, "ended")
    assert (line["by"], line["looks"], line["launch"]) == ("look", 1, 3)
    assert 0 < line["sampling_seconds"] < line["seconds"]
    monkeypatch.setattr(worker_process, "COMMAND", ("false",))
    again = measure.measure_run(open_side(folder), looking(), ignore, never)
    assert (again.launches, again.by) == (3, "look"), "and stays ended"


def test_after_a_look_the_same_workers_go_on_with_what_is_open_and_prepare_nothing_again(
    folder: Path, log: Path
) -> None:
    plan(folder, "well", "well_too", "third", sizes=(1, 2, 3))
    kept, last = of("well", "third", sizes=(1, 3)), of("well", sizes=(3,))
    looks = Looks(kept, last, last, last, last)
    ended = measure.measure_run(open_side(folder), looking(), ignore, looks)
    assert ended.by == "launches"
    assert set(looks.asked) == {3}
    assert ended.looks == len(looks.asked) <= 4, "and none once there is nothing to decide"
    assert len(requests_in(log, "prepare")) == 9
    rounds = rounds_of(folder)
    for launch in range(3):
        assert {
            rounds[launch, case] for case in of("well", "well_too", "third", sizes=(1, 2, 3)) if case not in kept
        } == {4}
        assert {rounds[launch, case] for case in kept if case not in last} == {8}
        assert rounds[launch, last[0]] == 40


def test_what_comes_from_the_same_pass_is_measured_along(folder: Path) -> None:
    keys = [
        f"double/{variant}/custom_gradient/{direction}/call/float32/1/cpu"
        for variant in ("well", "well_too")
        for direction in ("backward", "forward_backward")
    ]
    stored.write(folder, stored.run(keys), [])
    measure.measure_run(open_side(folder), looking(rounds=8), ignore, Looks(keys[3:]))
    assert {tuple(line["samples"]) for line in lines_of(folder, "group") if line.get("pass", 0)} == {tuple(keys[2:])}


def test_measured_to_the_end_nothing_is_looked_at(folder: Path) -> None:
    plan(folder, "well", "well_too")
    measure.measure_run(open_side(folder), looking(until="end"), ignore, never)
    assert set(rounds_of(folder).values()) == {40}


def test_further_launches_come_once_those_that_are_warm_have_all_their_rounds(folder: Path) -> None:
    """They measure what is open by then; a look that leaves nothing ends it."""
    plan(folder, "well", "well_too", sizes=(1, 2))
    kept = of("well", sizes=(2,))
    ended = measure.measure_run(open_side(folder), looking(launches=5, rounds=6), ignore, Looks(kept, kept, kept, kept))
    assert (ended.launches, ended.by) == (5, "launches")
    rounds = rounds_of(folder)
    assert {launch for launch, _ in rounds} == set(range(5))
    assert {case for launch, case in rounds if launch > 2} == set(kept)


def test_a_resumed_run_goes_on_with_what_the_last_look_left_open(folder: Path) -> None:
    plan(folder, "well", "well_too", sizes=(1, 2))
    kept = of("well", sizes=(2,))
    steps = interrupt_at(20)
    with pytest.raises(Interrupted):
        measure.measure_run(
            open_side(folder), looking(launches=6), lambda progress: next(steps), Looks(kept, kept, kept, kept)
        )
    before = len(lines_of(folder, "group"))
    measure.measure_run(open_side(folder), looking(launches=6), ignore, Looks(kept, kept, kept, kept))
    assert {case for line in lines_of(folder, "group")[before:] for case in line["samples"]} == set(kept)


def test_launches_that_were_interrupted_early_are_made_up_for(folder: Path) -> None:
    """All of them take turns: each of the three has had a sweep or two of forty rounds."""
    plan(folder, "well", "well_too", sizes=(1,))
    steps = interrupt_at(12)
    chosen = looking(until="end")
    with pytest.raises(Interrupted):
        measure.measure_run(open_side(folder), chosen, lambda progress: next(steps), never)
    before = rounds_of(folder)
    assert len({launch for launch, _ in before}) == 3
    steps = interrupt_at(0)  # once more, before anything is sampled
    with pytest.raises(Interrupted):
        measure.measure_run(open_side(folder), chosen, lambda progress: next(steps), never)
    assert rounds_of(folder) == before
    ended = measure.measure_run(open_side(folder), chosen, ignore, never)
    lacks = sum(1 - made / 40 for (_, case), made in before.items() if case == stored.case("well"))
    assert ended.launches == 3 + int(lacks) > 3
    assert {made for key, made in rounds_of(folder).items() if key not in before} == {40}
    assert measure.measure_run(open_side(folder), chosen, ignore, never).launches == ended.launches


class Clock:
    """Stands for the module `time`: a minute passes with every request, to prepare or to sample."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()

    class SlowWorker(worker_process.Worker):
        def send(self, request: Mapping[str, Any]) -> None:
            clock.seconds += 60.0 * (request["do"] in ("prepare", "sample"))
            super().send(request)

    monkeypatch.setattr(launches, "Worker", SlowWorker)
    for module in (measure, budget, sweeps, launches):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(warming, "usable_cores", lambda: frozenset({0}))
    return clock


def test_two_launches_sample_everything_once_whatever_the_budget(folder: Path, clock: Clock) -> None:
    plan(folder, "well")
    ended = measure.measure_run(open_side(folder), looking(launches=6, budget_seconds=1.0), ignore, never)
    assert (ended.launches, ended.by) == (2, "budget")
    assert sorted(measured(folder)) == all_of(2)


def test_versions_take_short_turns_until_the_budget_is_used(tmp_path: Path, clock: Clock, log: Path) -> None:
    """The processor is in another state soon, which both are to share."""
    tasks = []
    for name in ("one", "two"):
        plan(tmp_path / name, "well", sizes=(1,))
        chosen = settings(launches=10**6, rounds=10**6, first_rounds=12, group_seconds=60.0, budget_seconds=6000.0)
        tasks.append(measure.Task(open_side(tmp_path / name), chosen, never))
    ended = measure.measure_runs(
        tasks, ignore, lambda launches, most: {task.side.folder: frozenset(of("well", sizes=(1,))) for task in tasks}
    )
    assert {one.by for one in ended} == {"budget"}
    assert 5000.0 <= clock.seconds <= 6000.0
    assert Counter(one["rounds"] for one in requests_in(log, "sample") if one.get("pass", 0)).keys() == {
        sweeps.COMPARISON_SWEEP_ROUNDS
    }


def test_one_pair_at_a_time_leaves_most_of_the_budget_to_others(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing shows what launches differ by: as long as it took to prepare them is enough."""
    monkeypatch.setattr(warming, "MOST_WORKERS", 1)
    tasks = []
    for name in ("one", "two"):
        plan(tmp_path / name, "well", sizes=(1,))
        chosen = settings(launches=10**6, rounds=10**6, group_seconds=60.0, budget_seconds=6000.0)
        tasks.append(measure.Task(open_side(tmp_path / name), chosen, never))
    measure.measure_runs(
        tasks, ignore, lambda launches, most: {task.side.folder: frozenset(of("well", sizes=(1,))) for task in tasks}
    )
    first = [line for line in lines_of(tasks[0].side.folder, "group") if line["launch"] == 0]
    assert len(first) * 120.0 < 1000.0


@pytest.mark.parametrize("minutes", [40.0, 60.0, 100.0])
def test_the_budget_is_used_and_not_passed(folder: Path, clock: Clock, minutes: float) -> None:
    """Less than the shortest turn of all launches in a group is left: three minutes here."""
    plan(folder, "well")
    chosen = looking(until="end", rounds=10_000, budget_seconds=60.0 * minutes)
    ended = measure.measure_run(open_side(folder), chosen, ignore, never)
    assert ended.by == "budget"
    assert minutes - 5.0 <= clock.seconds / 60.0 <= minutes


def test_a_third_worker_has_to_leave_most_of_the_budget(folder: Path, clock: Clock) -> None:
    """Each takes eleven minutes to prepare as many groups, one after another."""
    launches = []
    for minutes in (80.0, 84.0):
        part = folder / str(minutes)
        plan(part, "well", sizes=tuple(range(1, 12)))
        chosen = looking(until="end", budget_seconds=60.0 * minutes)
        measure.measure_run(open_side(part), chosen, ignore, never)
        (line,) = lines_of(part, "workers")
        launches.append((len(line["launches"]), line["limited_by"]))
        clock.seconds = 0.0
    assert launches == [(2, "budget"), (3, "")]
