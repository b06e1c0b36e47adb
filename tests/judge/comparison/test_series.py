"""Points of each case over moments, and the series that they make."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foreign_files
import stored
from frames import Bench
from histories import CHANGED, KEYS, commit, stepped, write_asv, write_commits
from pairs import write_run, write_versions
from pyopbench.judge.comparison import series
from pyopbench.judge.comparison.series import (
    SMALLEST_ERROR,
    in_order,
    moment_of,
    points_of,
    points_of_sources,
    series_of,
    usual_axis,
)
from pyopbench.model.case import Failure
from pyopbench.stats import estimate
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source

FIRST, SECOND = "1a" * 20, "2b" * 20

BASELINE = "py_function_numpy"


def run(name: str = "run", created: str = "2026-01-02T10:00:00+00:00", **environment: Any) -> Run:
    made = Bench({"py_function_numpy": 1e-3}, launches=2).run()
    return Run(**{**vars(made), "name": name, "created": created, "environment": environment})


@pytest.mark.parametrize(
    ("environments", "axis"),
    [
        ([{"commit": FIRST}, {"commit": SECOND}], "commit"),
        ([{"commit": FIRST, "tensorflow": "2.16.2"}, {"commit": FIRST, "tensorflow": "2.21.0"}], "tf"),
        ([{"commit": FIRST}, {"commit": FIRST}], "date"),
        ([{"commit": None}, {"commit": FIRST}], "date"),
    ],
)
def test_the_axis_is_what_runs_differ_in(environments, axis):
    assert usual_axis([[run(**one)] for one in environments]) == axis


def test_commits_are_in_the_order_of_their_dates_and_else_of_the_runs():
    runs = [
        run("later", "2026-03-01T00:00:00+00:00", commit=FIRST, commit_date="2025-01-01T00:00:00+00:00"),
        run("sooner", "2026-02-01T00:00:00+00:00", commit=SECOND),
        run("first", "2026-04-01T00:00:00+00:00", commit="3c" * 20, commit_date="2024-01-01T00:00:00Z"),
    ]
    found = in_order("commit", [moment_of("commit", one) for one in runs])
    assert [one.run for one in found] == ["first", "later", "sooner"]
    assert [one.label for one in found] == ["3c" * 5, FIRST[:10], SECOND[:10]]


def test_versions_are_in_the_order_of_their_numbers():
    moments = [moment_of("tf", run(tensorflow=version)) for version in ("2.9.1", "2.21.0", "2.16.2")]
    assert [one.value for one in in_order("tf", moments)] == ["2.9.1", "2.16.2", "2.21.0"]


def test_what_is_not_known_is_said_and_comes_first():
    found = in_order("commit", [moment_of("commit", run(commit=FIRST)), moment_of("commit", run(created="once"))])
    assert [one.label for one in found] == ["unknown", FIRST[:10]]


def bench(seconds, **changes):
    made = Bench({BASELINE: 1e-3, "native": seconds}, sizes=(1,), directions=("forward",), **changes).run()
    return Run(**vars(made))


def interleaved(*runs):
    """Return runs as those whose launches were made in turns."""
    return [replace(run, frame=run.frame.assign(block=run.frame["launch"])) for run in runs]


def variants_of(points):
    return {point.case.split("/")[1]: point for point in points}


def test_a_run_by_itself_is_taken_against_its_baseline_which_is_a_latency():
    found = variants_of(points_of([bench(2e-4, between=0.01, launches=5)], ["one"]))
    native, baseline = found["native"], found[BASELINE]
    assert math.exp(native.value) == pytest.approx(0.2, rel=0.03)
    assert (native.kind, native.anchor) == ("variant", baseline.case)
    assert math.exp(baseline.value) == pytest.approx(1e-3, rel=0.03)
    assert (baseline.kind, baseline.anchor) == ("", "")
    assert native.low < native.value < native.high
    assert native.launches == 5


def test_interleaved_runs_are_taken_against_the_first_of_them():
    runs = interleaved(
        *(bench(seconds, between=0.01, launches=6, seed=place) for place, seconds in enumerate((1e-4, 1.5e-4, 3e-4)))
    )
    found = [one for one in points_of(runs, ["a", "b", "c"]) if "/native/" in one.case]
    assert [math.exp(one.value) for one in found] == pytest.approx([1, 1.5, 3], rel=0.05)
    assert {(one.kind, one.anchor) for one in found} == {("moment", "a")}
    assert (found[0].low, found[0].high) == (0.0, 0.0)
    assert found[1].low < found[1].value < found[1].high


def width(point):
    return point.high - point.low


def test_what_a_block_has_in_common_is_in_no_point_and_in_no_error():
    """Drift of a factor of a hundred between blocks; launches themselves differ by a percent."""
    rng = np.random.default_rng(5)
    runs = interleaved(*(bench(1e-4, between=0.01, launches=8, seed=place) for place in range(5)))
    drift = dict(enumerate(np.exp(2.0 * rng.standard_normal(8))))
    moved = [
        replace(run, frame=run.frame.assign(seconds=run.frame["seconds"] * run.frame["launch"].map(drift)))
        for run in runs
    ]
    still, found = (list(points_of(one, "abcde")) for one in (runs, moved))
    assert [one.value for one in found] == pytest.approx([one.value for one in still], abs=1e-9)
    assert [one.error for one in found] == pytest.approx([one.error for one in still], abs=1e-9)


def test_what_a_core_does_for_the_time_of_a_sweep_is_in_no_point():
    """In half of the sweeps, other ones in each launch, everything takes 1.65 times as long."""
    rng = np.random.default_rng(6)
    runs = interleaved(
        *(bench(seconds, rounds=31, launches=8, seed=place) for place, seconds in enumerate((1e-4, 2e-4)))
    )
    swept = [replace(run, frame=run.frame.assign(sweep=run.frame["round"])) for run in runs]
    states = rng.choice([1.0, 1.65], size=(8, 31))
    moved = [
        replace(
            run, frame=run.frame.assign(seconds=run.frame["seconds"] * states[run.frame["launch"], run.frame["round"]])
        )
        for run in swept
    ]
    still, found = (list(points_of(one, "ab")) for one in (swept, moved))
    assert [one.value for one in found] == pytest.approx([one.value for one in still], abs=1e-9)
    assert [one.error for one in found] == pytest.approx([one.error for one in still], abs=1e-9)


@pytest.mark.nightly
def test_errors_are_those_of_launches():
    """Of many runs in blocks, the scatter of the points around their mean is what their errors say."""
    runs = interleaved(*(bench(1e-4, between=0.03, within=0.001, launches=9, seed=place) for place in range(60)))
    found = [one for one in points_of(runs, [str(place) for place in range(60)]) if "/native/" in one.case]
    scatter = np.std([one.value for one in found])
    assert np.mean([one.error for one in found]) == pytest.approx(scatter, rel=0.3)
    assert scatter == pytest.approx(0.03 / 3, rel=0.3)


def test_a_case_that_the_first_lacks_is_taken_against_the_next_that_has_it():
    first, *others = interleaved(*(bench(1e-4, launches=3, seed=place) for place in range(3)))
    first = replace(first, frame=first.frame[first.frame["variant"] != "native"])
    found = [one for one in points_of([first, *others], ["a", "b", "c"]) if "/native/" in one.case]
    assert [(one.number, one.anchor) for one in found] == [(1, "b"), (2, "b")]


def test_what_was_found_wrong_has_no_point():
    run = bench(1e-4)
    wrong = next(case for case in run.cases if "/native/" in case)
    run = replace(run, failures=(Failure(wrong, "wrong", "differs", 0),))
    assert list(variants_of(points_of([run], ["one"]))) == [BASELINE]


def test_one_launch_has_a_value_and_no_interval():
    (native,) = (one for one in points_of([bench(2e-4, launches=1)], ["one"]) if "/native/" in one.case)
    assert native.error == 0.0
    assert math.isnan(native.low)


def test_files_of_other_tools_are_taken_together_and_each_has_the_points_that_it_has_alone(tmp_path, monkeypatch):
    """What pandas needs for one file it would need for each of thousands."""
    content = foreign_files.document("asv-first")
    for place, factor in enumerate((1.0, 2.0, 3.0)):
        changed = foreign_files.scaled(content, factor) | {"commit_hash": f"{place:040x}"}
        foreign_files.write(tmp_path / "machine" / f"{place}.json", changed)
    foreign_files.write(tmp_path / "machine" / "machine.json", {})
    sources = [(run,) for run in read_source(tmp_path)]
    sources.insert(1, (bench(2e-4, launches=3),))
    labels = [["one"]] * 4
    expected = [list(points_of(*one)) for one in zip(sources, labels, strict=True)]
    calls = []
    launch_logs = estimate.launch_logs
    monkeypatch.setattr(series.estimate, "launch_logs", lambda frame: calls.append(1) or launch_logs(frame))
    found = list(points_of_sources(sources, labels))
    assert list(map(repr, found)) == list(map(repr, expected)), "nan is not equal to itself"
    assert all(found)
    assert len(calls) == 2, "one for the files, and one for the run"


def read(*paths: Path):
    return [read_source(path) for path in paths]


def test_runs_on_commits_are_a_series_for_each_case(tmp_path):
    sources = read(*reversed(write_commits(tmp_path, stepped(4, 2, 1.3))))
    moments, found = series_of(sources, "commit")
    assert [one.value for one in moments] == [commit(number) for number in range(4)]
    (changed,) = (one for one in found if one.case == CHANGED)
    assert np.exp(changed.values) == pytest.approx([1, 1, 1.3, 1.3], rel=0.01)
    assert changed.places.tolist() == [0, 1, 2, 3]
    assert (changed.measure, changed.anchored_to) == ("ratio", "variant")
    assert {one.measure for one in found if one.fields["variant"] == "py_function_numpy"} == {"latency"}
    assert {one.case for one in found} == set(KEYS)


def test_runs_that_were_not_interleaved_have_wider_errors_and_the_noise_that_lasts(tmp_path):
    _, found = series_of(read(*write_commits(tmp_path, [{}] * 4)), "commit")
    assert {one.noise for one in found} == {"autocorrelated"}
    assert all(one.between >= 0.03 and (one.errors >= 0.03).all() for one in found)


def test_versions_that_were_interleaved_have_the_errors_of_their_launches(tmp_path):
    moments, found = series_of(read(write_versions(tmp_path / "run", "2.21.0", "2.16.2")), "tf")
    assert {one.noise for one in found} == {"independent"}
    assert all(one.between == 0.0 and (one.errors < 0.01).all() for one in found)
    assert {one.anchor for one in found} == {"2.21.0"}
    assert [moment.label for moment in moments] == ["2.21.0", "2.16.2"]


def test_one_launch_in_turns_tells_no_error_so_that_one_is_assumed(tmp_path):
    few = {"launches": 1}
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0", **{"2.16.2": few, "2.21.0": few})
    _, found = series_of(read(folder), "tf")
    assert {one.noise for one in found} == {"autocorrelated"}
    assert all((one.errors >= 0.03).all() for one in found)


def test_machines_and_versions_are_series_of_their_own_on_an_axis_of_commits(tmp_path):
    sources = read(*write_commits(tmp_path, [{}] * 2))
    other = [replace(run, environment={**run.environment, "cpu": "another"}) for run in sources[1]]
    _, found = series_of([sources[0], other], "commit")
    assert {one.environment for one in found} == {(("cpu", "another"),), (("cpu", stored.ENVIRONMENT["cpu"]),)}
    assert all(one.places.size == 1 for one in found)
    _, alike = series_of(sources, "commit")
    assert {one.environment for one in alike} == {()}


def test_a_ratio_and_a_latency_of_one_case_are_never_one_series(tmp_path):
    without = [key for key in KEYS if "py_function_numpy" not in key]
    first = write_run(tmp_path / "first", KEYS, environment={**stored.ENVIRONMENT, "commit": commit(1)})
    second = write_run(tmp_path / "second", without, environment={**stored.ENVIRONMENT, "commit": commit(2)})
    _, found = series_of(read(first, second), "commit")
    assert sorted(one.measure for one in found if one.case == CHANGED) == ["latency", "ratio"]


def test_results_of_asv_are_latencies_in_the_order_of_their_commits(tmp_path):
    folder = write_asv(tmp_path / "asv", [1.0, 2.0, 4.0])
    sources = [(run,) for run in read_source(folder)]
    moments, found = series_of(sources[::-1], "commit")
    assert [moment.value for moment in moments] == [commit(number) for number in range(3)]
    assert {one.measure for one in found} == {"latency"}
    timed = next(one for one in found if one.fields.get("op"))
    assert np.exp(timed.values - timed.values[0]) == pytest.approx([1, 2, 4])
    assert (timed.errors >= SMALLEST_ERROR).all()
