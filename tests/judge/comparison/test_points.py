"""Points of a history: ratios to what was measured in the same rounds, else latencies; their errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import foreign_files
from frames import Bench
from pyopbench.judge.comparison import points
from pyopbench.judge.comparison.points import points_of, points_of_sources
from pyopbench.model.case import Failure
from pyopbench.stats import estimate
from pyopbench.store.read import read_source
from pyopbench.store.run import Run

BASELINE = "py_function_numpy"


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


def on_machines(run, shifts):
    """Return a run whose launches were on as many machines as there are shifts, by which each is slower."""
    hosts = {launch: f"m{launch % len(shifts)}" for launch in sorted(set(run.frame["launch"]))}
    factors = run.frame["launch"].map(lambda launch: math.exp(shifts[launch % len(shifts)]))
    native = run.frame["variant"] == "native"
    seconds = run.frame["seconds"].where(~native, run.frame["seconds"] * factors)
    return replace(run, frame=run.frame.assign(seconds=seconds), hosts=hosts)


def width(point):
    return point.high - point.low


def test_what_machines_differ_by_is_in_the_error_of_a_run_on_several():
    run = bench(2e-4, between=0.001, launches=12)
    told = [on_machines(run, shifts) for shifts in ((-0.1, 0.0, 0.1), (0.0, 0.0, 0.0))]
    differ, alike = (variants_of(points_of([one], ["one"]))["native"] for one in told)
    assert differ.error == pytest.approx(0.1 / math.sqrt(3), rel=0.1)
    assert alike.error < 0.01
    assert width(differ) > 0.4  # t with 2 degrees of freedom: 2 * 4.3 * 0.058
    assert differ.launches == alike.launches == 12


def test_what_versions_differ_by_from_machine_to_machine_is_in_their_errors():
    """Every machine is as slow on both versions, and then is not."""
    first, second = (bench(1e-4, between=0.001, launches=12, seed=place) for place in range(2))
    shifts = (-0.1, 0.0, 0.1)
    same = interleaved(on_machines(first, shifts), on_machines(second, shifts))
    other = interleaved(on_machines(first, (0.0, 0.0, 0.0)), on_machines(second, shifts))
    narrow, wide = ([one for one in points_of(runs, ["a", "b"]) if "/native/" in one.case] for runs in (same, other))
    assert width(narrow[1]) < 0.02
    assert width(wide[1]) > 0.4
    assert wide[1].error > 10 * narrow[1].error


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
    monkeypatch.setattr(points.estimate, "launch_logs", lambda frame: calls.append(1) or launch_logs(frame))
    found = list(points_of_sources(sources, labels))
    assert list(map(repr, found)) == list(map(repr, expected)), "nan is not equal to itself"
    assert all(found)
    assert len(calls) == 2, "one for the files, and one for the run"
