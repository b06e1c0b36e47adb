"""Points of each case over moments, the series that they make, and what changed when."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

import foreign_files
import stored
from frames import Bench
from histories import CHANGED, KEYS, commit, stepped, write_asv, write_commits
from pairs import cases, write_run, write_versions
from pyopbench.judge.comparison.history import (
    FoundChange,
    moment_of,
    points_of,
    read_history,
    series_of,
    usual_axis,
)
from pyopbench.model.case import Failure
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.stats.change_points import SMALLEST_ERROR
from pyopbench.store.json_file import encode_in_lines
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source
from pyopbench.store.run import RUN_FILE
from pyopbench.store.types import Revision

FIRST, SECOND = "1a" * 20, "2b" * 20
BASELINE = "py_function_numpy"

CHANGE = FoundChange(0, 1, "aaa", "bbb", "bbb", "bbb", 1.05, 1.04, 1.06, ())


def kinds(found):
    return [one.kind for one in found.notes]


def read(*paths: Path) -> list[Run]:
    return [run for path in paths for run in read_source(path)]


def bench(seconds: float, environment: dict[str, Any] | None = None, **changes: Any) -> Run:
    made = Bench({BASELINE: 1e-3, "native": seconds}, sizes=(1,), directions=("forward",), **changes).run()
    return Run(**{**vars(made), **({} if environment is None else {"environment": environment})})


def variants_of(*runs: Run):
    return {point.case.split("/")[1]: point for point in points_of(runs).itertuples()}


@pytest.mark.parametrize(
    ("commits", "axis"),
    [((FIRST, SECOND), "commit"), ((FIRST, FIRST), "date"), ((None, FIRST), "date")],
)
def test_the_axis_is_what_runs_differ_in(commits, axis):
    assert usual_axis([bench(2e-4, {"commit": one}) for one in commits]) == axis


def test_commits_are_in_the_order_of_their_dates_and_else_of_the_runs():
    runs = [
        replace(bench(2e-4, {"commit": FIRST, "commit_date": "2025-01-01T00:00:00+00:00"}), created="2026-03-01"),
        replace(bench(2e-4, {"commit": SECOND}), created="2026-02-01T00:00:00+00:00"),
        replace(bench(2e-4, {"commit": "3c" * 20, "commit_date": "2024-01-01T00:00:00Z"}), created="2026-04-01"),
        replace(bench(2e-4, {}), created="once"),
    ]
    moments, _ = series_of(runs, "commit")
    assert [one.label for one in moments] == ["unknown", "3c" * 5, FIRST[:10], SECOND[:10]]
    assert moment_of("date", runs[1]).label == "2026-02-01 00:00"


def test_a_run_is_taken_against_its_baseline_which_is_a_latency():
    found = variants_of(bench(2e-4, between=0.01, launches=5))
    native, baseline = found["native"], found[BASELINE]
    assert math.exp(native.value) == pytest.approx(0.2, rel=0.03)
    assert (native.anchor, baseline.anchor) == (baseline.case, "")
    assert math.exp(baseline.value) == pytest.approx(1e-3, rel=0.03)
    assert native.low < native.value < native.high
    assert native.error > 0
    assert native.launches == 5


@pytest.mark.parametrize("launches", [1, 2, 3])
def test_a_point_has_an_error_and_an_interval_from_two_launches_on(launches):
    native = variants_of(bench(2e-4, launches=launches))["native"]
    assert (native.error > 0, math.isnan(native.low), native.launches) == (launches > 1, launches == 1, launches)


def test_what_was_found_wrong_has_no_point():
    run = bench(1e-4)
    wrong = next(case for case in run.cases if "/native/" in case)
    assert list(variants_of(replace(run, failures=(Failure(wrong, "wrong", "differs", 0),)))) == [BASELINE]


def test_files_of_other_tools_have_the_points_that_each_has_alone(tmp_path):
    content = foreign_files.document("asv-first")
    for place, factor in enumerate((1.0, 2.0, 3.0)):
        changed = foreign_files.scaled(content, factor) | {"commit_hash": f"{place:040x}"}
        foreign_files.write(tmp_path / "machine" / f"{place}.json", changed)
    foreign_files.write(tmp_path / "machine" / "machine.json", {})
    runs = [*read_source(tmp_path), bench(2e-4, launches=3)]
    alone = pd.concat([points_of([run]).assign(run=number) for number, run in enumerate(runs)])
    found, expected = (one.sort_values(["run", "case"]).reset_index(drop=True) for one in (points_of(runs), alone))
    pd.testing.assert_frame_equal(found, expected)


def test_runs_on_commits_are_a_series_for_each_case(tmp_path):
    runs = read(*reversed(write_commits(tmp_path, stepped(4, 2, 1.3))))
    moments, found = series_of(runs, "commit")
    assert [one.value for one in moments] == [commit(number) for number in range(4)]
    (changed,) = (one for one in found if one.case == CHANGED)
    assert np.exp(changed.points["value"].tolist()) == pytest.approx([1, 1, 1.3, 1.3], rel=0.01)
    assert changed.points["place"].tolist() == [0, 1, 2, 3]
    assert {one.case.split("/")[1] for one in found if one.measure == "latency"} == {BASELINE}
    assert {one.case for one in found} == set(KEYS)
    assert all(one.between >= 0.03 and (one.points["error"] >= 0.03).all() for one in found), (
        "they were not interleaved"
    )


def test_machines_and_versions_are_series_of_their_own(tmp_path):
    first, second = read(*write_commits(tmp_path, [{}] * 2))
    other = replace(second, environment={**second.environment, "cpu": "another"})
    _, found = series_of([first, other], "commit")
    assert {one.environment for one in found} == {(("cpu", "another"),), (("cpu", stored.ENVIRONMENT["cpu"]),)}
    assert all(len(one.points) == 1 for one in found)
    _, alike = series_of([first, second], "commit")
    assert {one.environment for one in alike} == {()}


def test_results_of_asv_are_latencies_in_the_order_of_their_commits(tmp_path):
    runs = read(write_asv(tmp_path / "asv", [1.0, 2.0, 4.0]))
    moments, found = series_of(runs[::-1], "commit")
    assert [moment.value for moment in moments] == [commit(number) for number in range(3)]
    assert {one.measure for one in found} == {"latency"}
    values = found[0].points["value"].to_numpy()
    assert np.exp(values - values[0]) == pytest.approx([1, 2, 4])
    assert (found[0].points["error"] >= SMALLEST_ERROR).all()


@pytest.fixture(scope="module")
def slowed(tmp_path_factory):
    """Fourteen runs, of which one case takes 1.3 times as long from the ninth on."""
    return read_history(write_commits(tmp_path_factory.mktemp("slowed"), stepped(14, 8, 1.3)))


def test_a_slowdown_is_suspected_where_it_is_and_nothing_else_is(slowed):
    (change,) = slowed.changes
    series = slowed.series[change.number]
    assert (series.case, change.before, change.after) == (CHANGED, commit(7)[:10], commit(8)[:10])
    assert change.direction == "slower"
    assert change.low < 1.3 < change.high
    assert slowed.axis == "commit"


def test_what_would_confirm_it_is_the_command_of_the_run_with_both_commits(slowed):
    sides = ["--rev", commit(7), "--rev", commit(8)]
    (command,) = slowed.commands()
    assert command.split() == ["pyopbench", "run", "double", *sides]
    assert slowed.changes[0].command[-4:] == tuple(sides)


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (
            ["pyopbench", "run", "mine.py", "--input", "g(1, 2)", "--rev", "a", "--rev=b", "--out", "results/x"],
            "pyopbench run mine.py --input 'g(1, 2)'",
        ),
        (["pyopbench.run", "mine.py:f"], "pyopbench run mine.py"),
    ],
)
def test_the_command_that_confirms_is_of_the_run_without_its_sides_and_folder_also_if_it_is_from_python(
    tmp_path, words, again
):
    paths = []
    for number in range(14):
        revision = {
            "asked": commit(number),
            "commit": commit(number),
            "date": f"2026-01-{number + 1:02}T10:00:00+00:00",
            "subject": "",
            "dirty": False,
        }
        own = {"double": {"words": ["mine.py"], "fingerprint": "0", "revision": revision}}
        factors = {CHANGED: 1.4} if number >= 7 else {}
        folder = tmp_path / f"run-{number}"
        paths.append(write_run(folder, KEYS, seed=number, factors=factors, command=words, own=own))
    (command,) = read_history(paths).commands()
    assert command == f"{again} --rev {commit(6)} --rev {commit(7)}"


def test_small_changes_are_counted_and_not_listed(tmp_path):
    paths = write_commits(tmp_path, stepped(14, 8, 1.3))
    found = read_history(paths, minimum_effect=0.5)
    assert found.changes == ()
    assert "small_changes" in kinds(found)


@pytest.mark.parametrize(("slower", "is_noted"), [(KEYS[:2], True), (KEYS[2:], False)])
def test_an_anchor_that_changed_is_told_where_ratios_to_it_change(tmp_path, slower, is_noted):
    """The first two are the current callback at its sizes."""
    factors = [dict.fromkeys(slower, 1.5) if number >= 8 else {} for number in range(14)]
    found = read_history(write_commits(tmp_path, factors))
    ratios = [one for one in found.changes if found.series[one.number].measure == "ratio"]
    assert {one.direction for one in ratios} == {"faster" if is_noted else "slower"}
    assert ("anchor_changed" in kinds(found)) == is_noted


def test_short_series_are_told(tmp_path):
    found = read_history(write_commits(tmp_path, [{}] * 3))
    assert "too_short" in kinds(found)
    assert found.searched == 0
    assert found.summary() != read_history(write_commits(tmp_path / "more", [{}] * 6)).summary()


def test_asv_has_latencies_only(tmp_path):
    noise = np.exp(0.01 * np.random.default_rng(3).standard_normal(40))
    folder = write_asv(tmp_path / "asv", [1.0] * 20 + [1.4] * 20, noise)
    found = read_history([folder])
    assert found.tools == ("asv",)
    assert {one.after for one in found.changes} == {commit(20)[:10]}
    assert len(found.changes) == found.searched == len(found.series)
    assert kinds(found)[0] == "only_latency"
    assert found.commands() == []


def test_noise_alone_is_no_change(tmp_path):
    noise = np.exp(0.05 * np.random.default_rng(4).standard_normal(40))
    assert read_history([write_asv(tmp_path / "asv", [1.0] * 40, noise)]).changes == ()


def test_changes_are_in_order_of_what_has_to_be_acted_on(tmp_path):
    factors = [{CHANGED: 1.2, KEYS[4]: 0.5} if number >= 7 else {} for number in range(14)]
    found = read_history(write_commits(tmp_path, factors))
    sizes = [abs(math.log(one.ratio)) for one in found.changes]
    assert len(sizes) == 2
    assert sizes == sorted(sizes, reverse=True)


def test_interleaved_commits_have_their_dates_and_messages_and_no_control(tmp_path):
    """As a run over revisions stores them."""
    folder = write_versions(tmp_path / "run", "2.16.2", "2.17.1", "2.21.0", "2.21.0")
    told = [
        Revision(
            asked="WORKTREE" if number == 2 else commit(number),
            commit=commit(number),
            date=f"2026-01-0{4 - number}T10:00:00+00:00",
            subject=f"Change {number}",
            dirty=number == 2,
        )
        for number in range(4)
    ]
    sides = [
        structs.replace(side, revision=told[number], is_control=number == 3)
        for number, side in enumerate(stored.sides_of(folder))
    ]
    content = json.loads((folder / RUN_FILE).read_bytes())
    (folder / RUN_FILE).write_bytes(encode_in_lines({**content, "sides": sides}))
    found = read_history([folder], axis="commit")
    expected = sorted((one.date, one.subject) for one in told[:3])
    assert [(one.date, one.subject) for one in found.moments] == expected
    assert "WORKTREE" in [one.label for one in found.moments]


def test_dates_have_nothing_to_measure_again(tmp_path):
    found = read_history(write_commits(tmp_path, stepped(14, 8, 1.3)), axis="date")
    (change,) = found.changes
    assert change.command == ()
    assert change.after == "2026-01-09 10:00"


def test_what_is_no_result_or_empty_is_an_error(tmp_path):
    with pytest.raises(BadInput):
        read_history([tmp_path])
    empty = write_asv(tmp_path / "asv", [1.0])
    for path in empty.rglob("*-env.json"):
        path.write_text(
            path.read_text(encoding="utf-8").split('"results"')[0] + '"results": {}, "version": 2}', "utf-8"
        )
    with pytest.raises(NothingMeasured):
        read_history([empty])


def own_run(folder: Path, number: int, *, dirty: bool = False) -> Path:
    """Write a run of an own op at a commit of the user's; pyopbench is of one commit in all."""
    revision = {
        "asked": commit(number)[:10],
        "commit": commit(number),
        "date": f"2026-01-{number + 1:02}T10:00:00+00:00",
        "subject": f"change {number}",
        "dirty": dirty,
    }
    return write_run(
        folder / f"run-{number}",
        cases(ops=("mine",)),
        seed=number,
        own={"mine": {"words": ["my_op.py"], "fingerprint": "0", "revision": revision}},
        command=["pyopbench", "run", "my_op.py"],
        environment={**stored.ENVIRONMENT, "commit": "f" * 40, "dirty": False},
        created="2026-02-01T10:00:00+00:00",
    )


def test_runs_of_an_own_op_are_of_the_commits_of_its_repository(tmp_path):
    found = read_history([own_run(tmp_path, number) for number in (2, 0, 1)])
    assert found.axis == "commit"
    assert [one.value for one in found.moments] == [commit(number) for number in range(3)]
    assert [one.subject for one in found.moments] == ["change 0", "change 1", "change 2"]


def test_changed_files_of_an_own_op_are_no_commit(tmp_path):
    paths = [own_run(tmp_path, 0), own_run(tmp_path, 1), own_run(tmp_path, 2, dirty=True)]
    found = read_history(paths)
    assert [one.value for one in found.moments] == [commit(0), commit(1), f"{commit(2)[:10]}-dirty"]
