"""`pyopbench run --rev`: worktrees by turns, other values before any time, one answer, and a control beside it."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

import pyopbench
import stored
from commands import Call, Ended
from op_projects import project
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import environments
from pyopbench.engine.launch import Launch
from pyopbench.judge.comparison import gate as wording
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.store.run import SAMPLES_FILE
from repositories import commit, git
from workflow_steps import measure_inputs, run_step

__all__ = ["project"]
FILES = ("comment.md", "gate.json")


def run(call: Call, folder: Path, *revisions: str, more: tuple[str, ...] = ()) -> Ended:
    named = [word for one in revisions for word in ("--rev", one)]
    return call("run", "mine.py", *named, "--quick", "--launches", "4", "--out", folder, *more)


def worktrees(folder: Path) -> int:
    return git(folder, "worktree", "list").count("\n")


def test_revisions_are_measured_by_turns_in_worktrees_that_are_gone_afterwards(
    call: Call, project: Path, tmp_path: Path
) -> None:
    ended = run(call, tmp_path / "run", "HEAD~1", "HEAD")
    assert ended.code in (0, 3), ended.err
    found = stored.sides_of(tmp_path / "run")
    assert [one.label for one in found] == ["HEAD~1", "HEAD", "HEAD~1-2"]
    assert [one.is_control for one in found] == [False, False, True]
    lines = stored.read_lines(tmp_path / "run")
    for number, one in enumerate(found):
        assert one.revision is not None
        ours = [line for line in lines if line.get("side", 0) == number]
        assert {line["launch"] for line in ours if line["kind"] == "group"} == {0, 1, 2, 3}
    assert worktrees(project) == 0
    assert all((tmp_path / "run" / name).stat().st_size for name in FILES)
    assert "HEAD~1 (" in ended.out
    gate = read_gate(tmp_path / "run", 0.03, 0.03)
    assert {gate.control_text(), gate.reach_text()} <= {*ended.out.splitlines()}
    assert (tmp_path / "run" / "comment.md").read_text(encoding="utf-8").count("\n") <= 30


def test_a_slowdown_fails_with_exit_code_1_and_is_in_every_file(call: Call, project: Path, tmp_path: Path) -> None:
    commit(project, {"seconds": "0.55"}, "slower by a tenth")
    ended = run(call, tmp_path / "run", "HEAD~1", "HEAD", more=("--fail-on", "slower:5%"))
    assert ended.code == 1, ended.out + ended.err
    assert ended.out.splitlines()[0] == "Failed: 1 body is slower by 5% or more and 2 cases are slower by 5% or more."
    comment = (tmp_path / "run" / "comment.md").read_text(encoding="utf-8").splitlines()
    assert comment[0] == f"### pyopbench: {ended.out.splitlines()[0]}"
    document = json.loads((tmp_path / "run" / "gate.json").read_text(encoding="utf-8"))
    assert (document["outcome"], len(document["slower"])) == ("failed", 2)
    assert document["comparisons"]["HEAD"]["minimum_effect"] == pytest.approx(0.05 / 3, abs=1e-6)
    for share, code in (("slower:20%", 0), ("never", 0), ("slower:5%", 1)):
        assert call("report", tmp_path / "run", "--fail-on", share).code == code


def test_a_run_is_continued_and_reported_by_what_it_was_begun_with(call: Call, project: Path, tmp_path: Path) -> None:
    """A slowdown of 10% is clear; what it was to fail on, and the smallest difference that counts, are in the run."""
    commit(project, {"seconds": "0.55"}, "slower by a tenth")
    folder = tmp_path / "run"
    assert run(call, folder, "HEAD~1", "HEAD", more=("--fail-on", "slower:20%", "--min-effect", "4%")).code == 0
    document = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
    for words in (("report", folder), ("resume", folder, "mine.py", "--yes")):
        assert call(*words).code == 0
        assert json.loads((folder / "gate.json").read_text(encoding="utf-8"))["fail_on"] == 0.2
    assert call("report", folder, "--fail-on", "slower:5%").code == 1
    assert call("report", folder).code == 0
    assert json.loads((folder / "gate.json").read_text(encoding="utf-8")) == document
    assert pyopbench.read(folder).outcome == "passed"
    assert pyopbench.read(folder, fail_on="slower:5%").outcome == "failed"


def test_uncommitted_changes_are_a_revision_and_other_values_are_told_before_any_time(
    call: Call, project: Path, tmp_path: Path
) -> None:
    (project / "value").write_text("3", encoding="utf-8")
    ended = run(call, tmp_path / "run", "HEAD", "WORKTREE", more=("--fail-on", "never"))
    assert ended.code == 1
    difference = "WORKTREE, mine float32 1: different values for the same inputs: expected 1, got 3"
    lines = ended.err.splitlines()
    assert lines.index(f"warning: {difference}") < next(n for n, line in enumerate(lines) if "sweep 1" in line)
    assert ended.out.index(difference) < ended.out.index("ratio (interval)")
    assert ended.out.splitlines()[0] == "Failed: 1 input gives different values."
    version = stored.sides_of(tmp_path / "run")[1]
    assert version.revision is not None
    assert version.revision.dirty
    assert wording.name_text(version) in ended.out.splitlines()


def test_revisions_that_cannot_be_measured_are_said_and_the_others_go_on(
    call: Call, project: Path, tmp_path: Path
) -> None:
    commit(project, {"unloadable": ""}, "broken")
    commit(project, {"unloadable": None, "mine.py": None}, "without the op")
    commit(project, {"mine.py": "OP = None\n"}, "mended")
    ended = run(call, tmp_path / "run", "HEAD~3", "HEAD~2", "HEAD~1", "HEAD")
    assert ended.code == 1
    warnings = [line for line in ended.err.splitlines() if line[:8] == "warning:"]
    assert warnings == [
        "warning: HEAD~2 is not measured: no: it",
        "warning: HEAD~1 is not measured: the revision does not have the op: mine.py",
    ]
    assert ended.out.splitlines()[0] == "Failed: 2 sides cannot be measured."
    assert [one.label for one in stored.sides_of(tmp_path / "run")] == ["HEAD~3", "HEAD", "HEAD~3-2"]


def test_with_one_revision_left_there_is_nothing_to_compare(call: Call, project: Path, tmp_path: Path) -> None:
    commit(project, {"unloadable": ""}, "broken")
    ended = run(call, tmp_path / "run", "HEAD~1", "HEAD")
    assert ended.code == 3
    assert ended.err.splitlines()[1] == "  received: HEAD: no: it"
    assert not (tmp_path / "run").exists()
    assert worktrees(project) == 0


def test_an_interrupted_run_is_resumed(
    call: Call, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing measured is lost; it is asked first, as nothing is run because a file says so."""
    folder = tmp_path / "run"
    with monkeypatch.context() as interrupted:

        def interrupt(launch: Launch, group: str, rounds: int, sweep: int) -> object:
            if sweep:
                raise KeyboardInterrupt
            return sample(launch, group, rounds, sweep)

        sample = Launch.sample
        interrupted.setattr(Launch, "sample", interrupt)
        assert run(call, folder, "HEAD~1", "HEAD").code == 130
    assert worktrees(project) == 0
    kept = (folder / SAMPLES_FILE).read_bytes()
    assert call("resume", folder).code == call("resume", folder, "mine.py").code == 2
    assert (folder / SAMPLES_FILE).read_bytes() == kept
    resumed = call("resume", folder, "mine.py", "--yes")
    assert resumed.code in (0, 3), resumed.err
    content = (folder / SAMPLES_FILE).read_bytes()
    assert content.startswith(kept)
    assert len(content) > len(kept)
    assert worktrees(project) == 0


WITH_FAKE_WORKER = f"""
import sys
from pyopbench.cli import app
from pyopbench.engine import stored_run, worker_process
worker_process.COMMAND = {FAKE_WORKER_COMMAND!r}
stored_run.require_known = lambda *_: None  # the fake worker's variants are in no folder
app.main()
"""


def test_the_steps_of_the_action_measure_sum_up_and_decide(project: Path, tmp_path: Path) -> None:
    """The shell of each step, and a whole command; only the workers are not real."""
    commit(project, {"value": "2"}, "other values", day=3)
    program = tmp_path / "programs" / "pyopbench"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{WITH_FAKE_WORKER}", encoding="utf-8")
    program.chmod(stat.S_IRWXU)
    results = tmp_path / "results"
    inputs = measure_inputs(OPS="mine.py", ARGUMENTS="--launches 4", FAIL_ON="slower", FOLDER=str(results))
    done = run_step("Measure", program.parent, project, **inputs)
    assert done.returncode == 0, done.stderr
    ended = json.loads((results / "gate.json").read_text(encoding="utf-8"))
    assert [ended["first"]["asked"], *(one["asked"] for one in ended["others"])] == ["HEAD^1", "HEAD"]
    assert ended["outcome"] == "failed"
    assert (program.parent / "output").read_text(encoding="utf-8") == "code=1\n"
    summed_up = (program.parent / "summary").read_text(encoding="utf-8")
    assert summed_up == (results / "comment.md").read_text(encoding="utf-8")
    assert run_step("Decide", program.parent, project, CODE="1").returncode == 1
    assert worktrees(project) == 0


def test_revisions_are_compared_on_each_environment_and_json_is_the_document(
    call: Call, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "python_of", lambda environment: Path(sys.executable))
    ended = run(call, tmp_path / "run", "HEAD~1", "HEAD", more=("--tf", "2.21.0", "--json"))
    assert ended.code in (0, 3), ended.err
    labels = [side.label for side in stored.sides_of(tmp_path / "run")]
    assert labels == ["HEAD~1 2.21.0", "HEAD 2.21.0", "HEAD~1 2.21.0-2"]
    assert json.loads(ended.out) == json.loads((tmp_path / "run" / "gate.json").read_text(encoding="utf-8"))
