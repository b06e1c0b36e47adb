"""Series: points of one case, one clock and one environment, in the order of their axis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stored
from histories import CHANGED, KEYS, commit, stepped, write_asv, write_commits
from pairs import write_run, write_versions
from pyopbench.judge.comparison.series import SMALLEST_ERROR, series_of
from pyopbench.store.read import read_source


def read(*paths: Path):
    return [read_source(path) for path in paths]


def test_runs_on_commits_are_a_series_for_each_case(tmp_path):
    sources = read(*reversed(write_commits(tmp_path, stepped(4, 2, 1.3))))
    moments, found = series_of(sources, "commit", 0.03)
    assert [one.value for one in moments] == [commit(number) for number in range(4)]
    (changed,) = (one for one in found if one.case == CHANGED)
    assert np.exp(changed.values) == pytest.approx([1, 1, 1.3, 1.3], rel=0.01)
    assert changed.places.tolist() == [0, 1, 2, 3]
    assert (changed.measure, changed.anchored_to) == ("ratio", "variant")
    assert {one.measure for one in found if one.fields["variant"] == "py_function_numpy"} == {"latency"}
    assert {one.case for one in found} == set(KEYS)


def test_runs_that_were_not_interleaved_have_wider_errors_and_the_noise_that_lasts(tmp_path):
    _, found = series_of(read(*write_commits(tmp_path, [{}] * 4)), "commit", 0.03)
    assert {one.noise for one in found} == {"autocorrelated"}
    assert all(one.between >= 0.03 and (one.errors >= 0.03).all() for one in found)


def test_versions_that_were_interleaved_have_the_errors_of_their_launches(tmp_path):
    moments, found = series_of(read(write_versions(tmp_path / "run", "2.21.0", "2.16.2")), "tf", 0.03)
    assert {one.noise for one in found} == {"independent"}
    assert all(one.between == 0.0 and (one.errors < 0.01).all() for one in found)
    assert {one.anchor for one in found} == {"2.21.0"}
    assert [moment.label for moment in moments] == ["2.21.0", "2.16.2"]


def test_one_launch_in_turns_tells_no_error_so_that_one_is_assumed(tmp_path):
    few = {"launches": 1}
    folder = write_versions(tmp_path / "run", "2.16.2", "2.21.0", **{"2.16.2": few, "2.21.0": few})
    _, found = series_of(read(folder), "tf", 0.03)
    assert {one.noise for one in found} == {"autocorrelated"}
    assert all((one.errors >= 0.03).all() for one in found)


def test_machines_and_versions_are_series_of_their_own_on_an_axis_of_commits(tmp_path):
    sources = read(*write_commits(tmp_path, [{}] * 2))
    other = [replace(run, environment={**run.environment, "cpu": "another"}) for run in sources[1]]
    _, found = series_of([sources[0], other], "commit", 0.03)
    assert {one.environment for one in found} == {(("cpu", "another"),), (("cpu", stored.ENVIRONMENT["cpu"]),)}
    assert all(one.places.size == 1 for one in found)
    _, alike = series_of(sources, "commit", 0.03)
    assert {one.environment for one in alike} == {()}


def test_a_ratio_and_a_latency_of_one_case_are_never_one_series(tmp_path):
    without = [key for key in KEYS if "py_function_numpy" not in key]
    first = write_run(tmp_path / "first", KEYS, environment={**stored.ENVIRONMENT, "commit": commit(1)})
    second = write_run(tmp_path / "second", without, environment={**stored.ENVIRONMENT, "commit": commit(2)})
    _, found = series_of(read(first, second), "commit", 0.03)
    assert sorted(one.measure for one in found if one.case == CHANGED) == ["latency", "ratio"]


def test_results_of_asv_are_latencies_in_the_order_of_their_commits(tmp_path):
    folder = write_asv(tmp_path / "asv", [1.0, 2.0, 4.0])
    sources = [(run,) for run in read_source(folder)]
    moments, found = series_of(sources[::-1], "commit", 0.03)
    assert [moment.value for moment in moments] == [commit(number) for number in range(3)]
    assert {one.measure for one in found} == {"latency"}
    timed = next(one for one in found if one.fields.get("op"))
    assert np.exp(timed.values - timed.values[0]) == pytest.approx([1, 2, 4])
    assert (timed.errors >= SMALLEST_ERROR).all()
