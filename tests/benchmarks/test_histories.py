"""Detectors on labelled series are scored as TCPD's paper does, and series are read out of files of other projects."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from outside import asv_histories, bisection, gate, histories, package_pairs, tensorflow_versions
from outside.histories import score


def test_f1_is_that_of_the_paper_by_hand():
    """Two annotators; of three changes two are marked by either, and 0 counts as one on both sides."""
    found = score([10, 50, 90], {"a": [11], "b": [12, 52]})
    precision, recall = 3 / 4, (2 / 2 + 3 / 3) / 2
    assert found.f1 == pytest.approx(2 * precision * recall / (precision + recall))
    assert (found.found, found.false, found.missed, found.labelled) == (3, 1, 0, 3)


def test_nothing_found_has_the_recall_of_the_first_point_alone():
    found = score([], {"a": [10, 20], "b": []})
    recall = (1 / 3 + 1) / 2
    assert found.f1 == pytest.approx(2 * recall / (1 + recall))
    assert found.missed == 2


def test_a_change_is_counted_once_and_no_further_away_than_the_margin():
    assert score([10], {"a": [9, 11]}).missed == 1
    assert score([10], {"a": [16]}).missed == 1
    assert score([10], {"a": [15]}).missed == 0


def test_series_are_read_without_running_a_file(tmp_path: Path):
    file = tmp_path / "tests.py"
    file.write_text(
        "raise SystemExit\nALL = np.array([1, 2])\n\ndef test_it():\n    series = [3.0, 4.0]\n    return [5]\n"
    )
    assert histories._literal(file, "", "ALL") == [1, 2]
    assert histories._literal(file, "test_it", "series") == [3.0, 4.0]
    assert histories._literal(file, "test_it", "") == [5]
    with pytest.raises(ValueError, match="no list"):
        histories._literal(file, "test_it", "other")


def test_what_tcpd_does_not_bring_is_left_out_and_missing_points_move_labels(tmp_path: Path):
    folder = tmp_path / "TCPD"
    (folder / "datasets/there").mkdir(parents=True)
    labels = {"there": {"6": [2]}, "gone": {"6": []}, "quality_control_1": {"6": []}}
    (folder / "annotations.json").write_text(json.dumps(labels))
    series = {"n_dim": 1, "series": [{"raw": [1.0, None, 3.0, 4.0]}]}
    (folder / "datasets/there/there.json").write_text(json.dumps(series))
    found, left_out = histories.series_in(tmp_path)
    (one,) = found
    assert (one.values.tolist(), one.labels) == ([1.0, 3.0, 4.0], {"6": (1,)})
    assert {"TCPD: gone", *histories.SOURCES} - {"TCPD"} <= set(left_out)


def test_history_finds_a_planted_step_and_nothing_in_noise():
    rng = np.random.default_rng(1)
    quiet = np.exp(0.01 * rng.standard_normal(100))
    assert histories.history()(quiet) == []
    assert histories.history()(quiet * np.where(np.arange(100) >= 60, 1.2, 1.0)) == [60]


def test_trials_of_a_gate_have_pairs_of_their_slowdown(tmp_path: Path):
    commits = {percent: ("a", f"b{percent}") for percent in gate.SLOWDOWNS}
    trials = gate.trials_in(tmp_path, commits, ["same", "ten", "curve_5m"], 2)
    assert len(trials) == 2 + 2 + 2 * len(gate.CURVE)
    assert all(trial.revisions == commits[percent] for _, percent, trial in trials)
    assert len({trial.folder for _, _, trial in trials}) == len(trials)


def test_rates_tell_found_slowdowns_from_false_ones():
    row = {"smallest_found": 0.08, "seconds": 90.0, "rows": 3, "apart": 0, "slower": False, "failed": False}
    rows = [
        {**row, "part": "same", "slowdown": 0.0},
        {**row, "part": "same", "slowdown": 0.0, "apart": 1, "slower": True},
        {**row, "part": "ten", "slowdown": 0.1, "apart": 3, "slower": True, "failed": True},
    ]
    same, ten = gate.rates(rows)
    assert [same[0], same[4], ten[0], ten[3]] == ["same", "1 of 6", "ten", "1 of 1"]


def test_a_promise_is_kept_if_a_slowdown_of_that_size_is_found():
    row = {"part": "curve_5m", "smallest_found": 0.05}
    rows = [
        {**row, "slowdown": 0.1, "slower": True},
        {**row, "slowdown": 0.05, "slower": False},
        {**row, "slowdown": 0.02, "slower": False},
        {**row, "slowdown": 0.2, "slower": True, "smallest_found": None},
    ]
    ((part, promised, kept),) = gate.promises(rows)
    assert (part, promised, kept.split()[0]) == ("curve_5m", "2 of 3", "1")


def test_each_pair_of_packages_has_an_op_file_with_two_versions():
    for pair in package_pairs.PAIRS:
        compile(pair.op(), pair.name, "exec")
        assert pair.before != pair.after
    assert len({pair.name for pair in package_pairs.PAIRS}) == len(package_pairs.PAIRS) >= 10


def test_directions_are_counted_against_the_notes_and_identical_pairs_apart():
    first, second = package_pairs.PAIRS[:2]
    found = {"ratio": 0.5, "low": 0.4, "high": 0.6}
    side = {"values": {"differences": []}}

    def row(pair, outcome, *, is_same):
        answer = {
            "comparisons": {"b": {"bodies": [], "cases": [{**found, "outcome": outcome}]}},
            "others": [side],
            "smallest_found": 0.03,
        }
        return package_pairs.row_of(pair, answer, 1.0, is_same=is_same)

    rows = [
        row(first, "faster", is_same=False),
        row(second, "slower", is_same=False),
        row(first, "slower", is_same=True),
    ]
    assert [one["apart"] for one in rows] == [1, 1, 1]
    text = package_pairs.summary_text({"rows": rows})
    assert [int(word) for word in text.split() if word.isdigit()] == [1, 2, 1, 1, 1]
    left = list(package_pairs.left_in([first, second], rows))
    assert left == [(second, True)]


def test_a_person_is_scored_against_the_others():
    values = np.zeros(100)
    two = histories.Labelled("TCPD", "two", values, {"a": (10,), "b": ()})
    one = histories.Labelled("otava", "one", values, {"": (10,)})
    # a: precision 1/2, recall 1; b: precision 1, recall 1/2.
    assert histories.agreement([two, one]) == {"TCPD": pytest.approx(2 / 3)}


def test_changes_are_of_the_machine_or_shared_by_a_neighbour_or_alone():
    def place(series, group, first, is_slower=True):
        return asv_histories.Place(series, group, first, first + 1, is_slower)

    shared = [place(0, "A", 10), place(1, "A", 11), place(2, "B", 11, is_slower=False)]
    whole = [place(number, f"C{number}", 50) for number in range(10, 18)]
    by_chance = [place(3, "D", 20), place(4, "D", 70)]
    found = asv_histories.sorts_of([*shared, *whole, *by_chance], [(0, 100)] * 16, 100)
    assert found == {"machine": 8, "confirmed": 2, "alone": 3, "by_chance": 2}


def test_a_benchmark_of_asv_is_in_the_group_of_its_class():
    assert asv_histories.group_of("module.Class.time_it('a.b', 1)") == "module.Class"
    assert asv_histories.group_of("module.time_it") == "module"


def test_versions_of_tensorflow_are_those_with_wheels_for_the_python():
    assert tensorflow_versions.versions_here((3, 13)) == ["2.20.0", "2.21.0"]
    assert tensorflow_versions.versions_here((3, 12))[0] == "2.16.2"
    assert len(tensorflow_versions.versions_here((3, 11))) == 10


QUIET, CHANGED = (f"{op}/numpy_function/none/forward/node/float32/1000/cpu" for op in ("relu", "square"))


def test_a_page_of_versions_has_ratios_and_steps_from_a_history(tmp_path: Path):
    step = {"number": 1, "before": "b", "after": "c", "ratio": 1.2, "low": 1.1, "high": 1.3, "status": "confirmed"}
    ends = {QUIET: 0.8, CHANGED: 1.2}
    points = {case: {"moment": [0, 1, 2], "value": [0.0, 0.0, np.log(end)]} for case, end in ends.items()}
    series = [{"case": case, "measure": "ratio", "points": points[case]} for case in ends]
    moments = [{"label": label} for label in "abc"]
    rows = tensorflow_versions.rows_of({"moments": moments, "series": series, "changes": [step]})
    assert [len(row["steps"]) for row in rows] == [0, 1]
    assert rows[1]["ratios"] == pytest.approx({"a": 1.0, "b": 1.0, "c": 1.2})
    document = {"versions": ["a", "b", "c"], "numpy": dict.fromkeys("abc", "2"), "rows": rows}
    assert "1.20" in tensorflow_versions.results_table(document)
    assert "confirmed" in tensorflow_versions.steps_table(document)
    gone = {"case": CHANGED.replace("square", "cube"), "ratios": {"a": 1.0, "b": 9.0}, "steps": []}
    means = tensorflow_versions.means_table({**document, "rows": [*rows, gone]})
    last = next(line for line in means.splitlines() if line.startswith("| c "))
    assert last.split("|")[1:4] == [" c ", " 2 ", " 0.98 "]  # the root of 0.8 x 1.2
    measure, history = tensorflow_versions.commands(tmp_path, ["a", "b"], ["relu"], is_quick=True)
    assert measure.count("--tf") == 2
    assert "--confirm" in history


@pytest.mark.parametrize(
    ("numpys", "variant", "status", "expected"),
    [
        ({"a": "1", "b": "1", "c": "2"}, "numpy_function", "confirmed", [("c", "1", "2")]),
        ({"a": "1", "b": "1", "c": "2"}, "numpy_function", "refuted", []),
        ({"a": "1", "b": "2", "c": "2"}, "numpy_function", "confirmed", []),
        ({"a": "1", "b": "1", "c": "2"}, "native", "confirmed", []),
        ({"a": "1", "c": "2"}, "numpy_function", "confirmed", []),
    ],
    ids=["with_the_step", "refuted", "elsewhere", "no_callback", "a_version_failed"],
)
def test_numpy_is_measured_by_itself_where_it_changed_with_a_step_of_a_callback(numpys, variant, status, expected):
    steps = [{"before": "b", "after": "c", "status": status}]
    row = {"case": CHANGED.replace("numpy_function", variant), "steps": steps}
    assert list(tensorflow_versions.list_numpy_changes("abc", numpys, [row])) == expected


def test_what_numpy_alone_changes_is_a_mean_over_ops():
    ratios = {QUIET: 0.8, CHANGED: 1.2}
    cases = [
        {"case": one, "ratio": ratio, "low": 0.7, "high": 1.3, "outcome": "unresolved"} for one, ratio in ratios.items()
    ]
    row = tensorflow_versions.row_of_numpy("c", "1", "2", {"comparisons": {"c": {"cases": cases}}})
    found = tensorflow_versions.numpy_table({"numpy rows": [row]})
    assert "| c | 1 to 2 | `numpy_function` | 2 | 0.98 | 0.80 to 1.20 |" in found
    assert tensorflow_versions.row_of_numpy("c", "1", "2", {"comparisons": {}})["cases"] == []


@pytest.mark.parametrize("planted", [0, 3])
def test_bisection_finds_what_is_planted_and_counts_every_launch(planted):
    found = bisection.simulated(seed=1, spread=0.01, planted=planted)
    assert (found["found"], found["wrong"]) == (planted, 0)
    assert found["all"] >= bisection.FEWEST * (bisection.COMMITS + 2)
    assert found["bisected"] >= bisection.BLOCKS_OF_ROUND * (1 + bisection.COMMITS // bisection.EVERY + 2)
    share = f"{found['bisected'] / found['all']:.0%}"
    assert f"{share} ({share}-{share})" in bisection.results_table({"rows": [bisection.summary([found])]})


def test_what_bisection_took_on_a_machine_is_a_row():
    answer = {"comparisons": {c: {"bodies": [{"outcome": o}]} for c, o in [("b", "unresolved"), ("c", "slower")]}}
    history = {"bisected": [{"left": [one], "is_certain": one == "b"} for one in "bcb"]}
    measured = {"way": "all", "seconds": 600.0, "launches": 90, "clear": bisection.share_of_clear(answer)}
    found = len(bisection.named_in(history))
    bisected = {"way": "bisected", "seconds": 150.0, "launches": 20, "found": found, "wrong": 0}
    row = bisection.measured_table({"rows": [[measured, bisected]]}).splitlines()[-1]
    assert row == "| 10.0 | 90 | 50% | 2.5 | 20 | 1 of 3 | 0 | 25% |"


def test_a_block_of_simulated_launches_has_drift_and_a_control():
    machine = bisection.Machine(np.random.default_rng(1), 0.001, 3)
    blocks = [machine.launch([0, 30]) for _ in range(5)]
    assert machine.launches == 15
    assert np.ptp([block[0] for block in blocks]) > bisection.DRIFT / 2
    for first, last, control in blocks:
        assert control == pytest.approx(first, abs=0.005)
        assert last - first == pytest.approx(3 * np.log1p(0.1), abs=0.005)
