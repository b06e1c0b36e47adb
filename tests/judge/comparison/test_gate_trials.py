"""How often a gate is wrong, simulated and measured."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats

import pairs
from places import ROOT
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.judge.verdicts import INTERLEAVED_ERROR
from pyopbench.report import gate
from repositories import git
from revision_runs import DIFFERENT, write_revisions
from simulated_gates import NOISES, Gate, false_alarms, found_slower

SCRIPTS = ("helpers", "gate_trials", "found_changes", "identical_commits")
KEY = pairs.cases()[-1]

MOST_APART = 0.001
"""Of rows: two of two thousand."""


@pytest.fixture(scope="module")
def scripts() -> Iterator[SimpleNamespace]:
    """Return the modules of the scripts by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        for name in SCRIPTS:
            patch.delitem(sys.modules, name, raising=False)
        import found_changes
        import gate_trials
        import identical_commits

        yield SimpleNamespace(gate_trials=gate_trials, found_changes=found_changes, identical_commits=identical_commits)


def trial(scripts: SimpleNamespace, folder: Path, **changes: Any) -> Any:
    usual = {"folder": folder, "repository": folder.parent, "ops": ("my_op.py",), "revisions": ("a", "b")}
    return scripts.gate_trials.Trial(**{**usual, "options": ("--quick",), **changes})


def done(folder: Path, *factors: dict[str, float], **changes: Any) -> Path:
    """Write a run over revisions and what the gate says of it."""
    write_revisions(folder, *factors, **changes)
    gate.write(read_gate(folder, fail_on=0.05), folder)
    return folder


def test_a_gate_that_is_done_is_read_and_not_run(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts.gate_trials, "exit_code_of", lambda *_: pytest.fail("it was run"))
    answer = trial(scripts, done(tmp_path / "run", {}, {KEY: 1.2})).answer()
    rows = scripts.gate_trials.rows_of(answer)
    assert len(rows) == len(pairs.cases()), "without the control"
    assert [row["outcome"] for row in scripts.gate_trials.told_apart(rows)] == ["slower"]
    assert answer["seconds"] == 0.0


@pytest.mark.parametrize("before", ["nothing", "planned in part", "interrupted"])
def test_one_that_is_not_done_is_begun_or_goes_on(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    folder, asked = tmp_path / "run", []
    if before == "planned in part":
        (folder / "rev-1").mkdir(parents=True)
    if before == "interrupted":
        write_revisions(folder, {}, {})
        (folder / "seconds.json").write_text("[60.0]", encoding="utf-8")

    def run(command: list[str], _: Path) -> int:
        asked.append(command[2:])
        assert folder.exists() == (before == "interrupted")
        if before != "interrupted":
            write_revisions(folder, {}, {})
        gate.write(read_gate(folder), folder)
        return 0

    monkeypatch.setattr(scripts.gate_trials, "exit_code_of", run)
    answer = trial(scripts, folder).answer()
    told = ["--rev", "a", "--rev", "b", "--fail-on", "slower:5%", "--quick", "--out", str(folder)]
    begun = ["pyopbench", "run", "my_op.py", *told]
    on = ["pyopbench", "resume", str(folder), "my_op.py", "--yes", "--fail-on", "slower:5%"]
    assert asked == [on if before == "interrupted" else begun]
    assert (answer["seconds"] >= 60.0) == (before == "interrupted")


def test_what_has_a_row_is_not_measured_again(scripts: SimpleNamespace, tmp_path: Path) -> None:
    summary = tmp_path / "results" / "kept.json"
    assert scripts.gate_trials.kept_rows(summary) == []
    summary.parent.mkdir()
    scripts.gate_trials.keep(summary, {"rows": [{"run": "seed-0"}]})
    trials = [trial(scripts, tmp_path / name) for name in ("seed-0", "seed-1")]
    left = scripts.gate_trials.still_to_run(trials, scripts.gate_trials.kept_rows(summary))
    assert [one.folder.name for one in left] == ["seed-1"]


def test_a_command_that_fails_ends_the_script(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts.gate_trials, "exit_code_of", lambda *_: 2)
    with pytest.raises(SystemExit):
        trial(scripts, tmp_path / "run").answer()


def test_after_the_portion_nothing_is_begun_and_what_is_done_is_told(scripts: SimpleNamespace, tmp_path: Path) -> None:
    trials = [trial(scripts, tmp_path / "open"), trial(scripts, done(tmp_path / "run", {}, {}))]
    assert [one.folder.name for one, _ in scripts.gate_trials.in_portions(trials, 0.0)] == ["run"]


def test_nothing_is_begun_that_would_probably_end_after_the_portion(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def run(command: list[str], _: Path) -> int:
        now[0] += 10.0
        done(Path(command[-1]), {}, {})
        return 0

    monkeypatch.setattr(scripts.gate_trials, "exit_code_of", run)
    monkeypatch.setattr(scripts.gate_trials.time, "monotonic", lambda: now[0])
    trials = [trial(scripts, tmp_path / name) for name in ("a", "b", "c", "d")]
    begun = [one.folder.name for one, _ in scripts.gate_trials.in_portions(trials, 35.0)]
    assert begun == ["a", "b", "c"]
    assert [one.folder.name for one, _ in scripts.gate_trials.in_portions(trials, 5.0)] == ["a", "b", "c", "d"]


def test_an_interrupt_waits_for_what_is_interrupted_as_well(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = iter([KeyboardInterrupt(), 130])

    class Process:
        def __init__(self, *_: object, **__: object) -> None:
            """Is started with whatever."""

        def __enter__(self) -> Process:
            return self

        def __exit__(self, *_: object) -> None:
            """Has ended."""

        def wait(self) -> int:
            found = next(waits)
            if isinstance(found, BaseException):
                raise found
            return found

    monkeypatch.setattr(scripts.gate_trials.subprocess, "Popen", Process)
    assert scripts.gate_trials.exit_code_of(["any"], tmp_path) == 130


@pytest.mark.parametrize(("count", "of"), [(0, 10), (1, 40), (38, 40), (40, 40)])
def test_bounds_are_those_of_clopper_and_pearson(scripts: SimpleNamespace, count: int, of: int) -> None:
    exact = stats.binomtest(count, of)
    both = exact.proportion_ci(0.9, "exact")
    assert scripts.gate_trials.at_least(count, of) == pytest.approx(both.low)
    assert scripts.gate_trials.at_most(count, of) == pytest.approx(both.high)


def test_the_repository_has_twelve_commits_of_which_three_change_something(
    scripts: SimpleNamespace, tmp_path: Path
) -> None:
    script = scripts.found_changes
    commits = script.make_repository(tmp_path / "repository")
    assert script.make_repository(tmp_path / "repository") == commits, "it is made once"
    assert len(commits) == 12
    constants = []
    for commit in commits:
        tree = ast.parse(git(tmp_path / "repository", "show", f"{commit}:work.py"))
        assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
        known = {ast.unparse(node.targets[0]): ast.literal_eval(node.value) for node in assigned}
        constants.append((known["ROUNDS"], known["SHIFT"]))
    changed = [place for place in range(1, 12) if constants[place] != constants[place - 1]]
    assert changed == [script.SLOWER, script.FASTER, script.CHANGED]
    more = [constants[place][0] / constants[place - 1][0] - 1 for place in changed]
    # The body takes 46% of a call's time (2 cores, TensorFlow 2.21): 5% more rounds made a call 2.3% slower.
    assert [0.46 * one for one in more] == pytest.approx([0.05, -0.1, 0.0], abs=0.002)
    trials = script.trials_in(tmp_path, commits, "10m", 3)
    assert [one.change for one, _ in trials[11:]] == ["slower"] * 3
    assert len({one.folder for _, one in trials}) == len(trials) == 14


@pytest.mark.parametrize(
    ("number", "factor", "different", "is_met"),
    [
        (3, 1.2, False, True),
        (3, 1.0, False, False),
        (3, 0.8, False, False),
        (6, 0.8, False, True),
        (1, 1.0, False, True),
        (1, 1.2, False, False),
        (9, 1.0, True, True),
        (9, 1.0, False, False),
    ],
)
def test_a_pair_is_as_expected_where_that_and_nothing_else_is_told(
    scripts: SimpleNamespace, tmp_path: Path, number: int, factor: float, different: bool, is_met: bool
) -> None:
    folder = done(tmp_path / "run-0", {}, {KEY: factor}, different={1: DIFFERENT} if different else None)
    expected, one = scripts.found_changes.Expected(number), trial(scripts, folder)
    row = scripts.found_changes.row_of(expected, one, one.answer())
    assert row["met"] == is_met
    assert row["slower"] + row["faster"] == (factor != 1.0)
    assert json.loads(json.dumps(row)) == row
    assert len(list(scripts.found_changes.lines([row], 1))) == (4 if number == 3 else 3)


def test_of_identical_commits_the_control_is_counted_too(scripts: SimpleNamespace, tmp_path: Path) -> None:
    one = trial(scripts, done(tmp_path / "run", {}, {KEY: 1.2}))
    row = scripts.identical_commits.row_of(one, one.answer())
    assert (row["rows"], row["control_rows"], len(row["told_apart"])) == (len(pairs.cases()), 2, 1)
    assert sum(row["outcomes"].values()) == row["rows"] + row["control_rows"]
    assert [row["told_apart"][0]["case"], row["told_apart"][0]["outcome"]] == [KEY, "slower"]
    assert len(list(scripts.identical_commits.lines([row]))) == 3


def test_ops_are_named_before_or_after_the_options(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, asked = scripts.identical_commits, []

    def in_portions(trials: list[Any], _: float | None) -> Iterator[Any]:
        asked.append(trials[0].ops)
        return iter(())

    monkeypatch.setattr(script, "in_portions", in_portions)
    for words in (["sinh", "relu", "--rows", "5"], ["--rows", "5", "sinh", "relu"]):
        monkeypatch.setattr(sys, "argv", ["identical_commits.py", str(tmp_path), *words])
        script.main()
    assert asked == [("sinh", "relu")] * 2


@pytest.mark.parametrize(("wanted", "measured"), [(10, 0), (11, 1), (30, 2)])
def test_identical_commits_are_measured_until_there_are_enough_rows(
    scripts: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: int, measured: int
) -> None:
    script, summary = scripts.identical_commits, tmp_path / "kept.json"

    def row_of(one: Any, _: object) -> dict[str, Any]:
        usual = {"rows": 8, "control_rows": 2, "minutes": 1.0, "outcomes": {}, "told_apart": [], "other_values": []}
        return {"run": one.folder.name, **usual}

    scripts.gate_trials.keep(summary, {"rows": [row_of(trial(scripts, tmp_path / "seed-1"), None)]})
    monkeypatch.setattr(script, "in_portions", lambda trials, _: ((one, {}) for one in trials))
    monkeypatch.setattr(script, "row_of", row_of)
    words = ["identical_commits.py", str(tmp_path), "--rows", str(wanted), "--kept", str(summary)]
    monkeypatch.setattr(sys, "argv", words)
    script.main()
    found = [row["run"] for row in scripts.gate_trials.kept_rows(summary)]
    assert found == ["seed-1", "seed-0", "seed-2"][: 1 + measured]


@pytest.mark.parametrize("launches", [2, 3])
def test_few_launches_of_many_cases_tell_hardly_a_row_of_identical_code_apart(launches: int) -> None:
    rates = [
        false_alarms(Gate(45, launches, noise, INTERLEAVED_ERROR), 20, seed)
        for seed, noise in enumerate(NOISES.values())
    ]
    assert sum(one.rows for one in rates) / len(rates) <= MOST_APART


def test_a_gate_of_few_cases_has_a_false_alarm_in_hardly_one_of_a_hundred() -> None:
    rates = [
        false_alarms(Gate(6, 4, noise, INTERLEAVED_ERROR), 100, seed) for seed, noise in enumerate(NOISES.values())
    ]
    assert sum(one.gates for one in rates) / len(rates) <= INTERLEAVED_ERROR


def test_a_twentieth_slower_is_found_with_as_many_launches_as_six_cases_have_in_ten_minutes() -> None:
    assert found_slower(Gate(6, 12, NOISES["1%"], INTERLEAVED_ERROR), 0.05, 20, 1).gates == 1.0


def test_the_usual_error_of_a_report_would_be_too_large_for_a_gate() -> None:
    """The false alarms of the stricter gate are fewer, on the same draws."""
    loose, strict = (
        [false_alarms(Gate(45, 3, noise, error), 20, seed).rows for seed, noise in enumerate(NOISES.values())]
        for error in (0.05, INTERLEAVED_ERROR)
    )
    assert sum(strict) < sum(loose)
