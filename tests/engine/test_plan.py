"""A run is planned and has its folder; a stored one is continued."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs, to_builtins

import pyopbench
import stored
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import environments, git, plan, sides, stored_run, worker_process
from pyopbench.engine import plan as planning
from pyopbench.model.case import MECHANISMS, NO_GRADIENT, Axes
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.own_target import NO_OWN_OPS, Target, own_ops
from pyopbench.model.side import Environment
from pyopbench.store.run import OpenRun, open_run, read_plan

CASES = [stored.case("native"), stored.case("numpy_function")]
SKIPS = [stored.failure(stored.case("xla"), "unsupported", None)]
PLAN = {
    "cases": CASES,
    "skips": SKIPS,
    "catalogue": stored.run(CASES)["catalogue"],
    "environment": {
        key: value for key, value in stored.ENVIRONMENT.items() if key not in {"commit", "dirty", "pyopbench"}
    },
}
AXES = Axes(ops=("double",), sizes=(1,))


@pytest.fixture(autouse=True)
def plan_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN), encoding="utf-8")
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(path))
    return path


def request(axes: Axes = AXES, baseline: str = "numpy_function") -> plan.Request:
    return plan.Request(axes, structs.replace(plan.QUICK, baseline=baseline), ("pyopbench", "run", "double"))


def test_the_mechanisms_that_may_be_named_are_the_ones_there_are() -> None:
    from pyopbench.ops.gradients import GRADIENTS

    assert set(MECHANISMS) == set(GRADIENTS) - {NO_GRADIENT}


def test_a_run_is_recorded_before_anything_is_measured(tmp_path: Path) -> None:
    begun = sides.begin(tmp_path / "run", request())
    assert (begun.folder, len(begun.plan.sides[0].cases), len(begun.plan.sides[0].skips)) == (tmp_path / "run", 2, 1)
    assert begun.plan == read_plan(begun.folder), "it is held as it is read back"
    content = stored.read_run(begun.folder)
    assert content["run"] == "run"
    assert content["command"] == ["pyopbench", "run", "double"]
    assert content["settings"] == {**to_builtins(planning.QUICK), "baseline": "numpy_function"}
    assert content["cases"] == CASES
    assert content["skips"] == SKIPS
    assert content["environment"]["tensorflow"] == "2.21.0"
    assert content["environment"]["pyopbench"] == pyopbench.__version__
    assert {"commit", "dirty"} <= set(content["environment"])
    assert open_run(begun.folder).measured[0].lines == []


def test_axes_that_leave_no_case_are_refused_with_the_first_reason(tmp_path: Path, plan_file: Path) -> None:
    plan_file.write_text(json.dumps({**PLAN, "cases": []}), encoding="utf-8")
    with pytest.raises(BadInput) as caught:
        sides.begin(tmp_path / "run", request())
    assert caught.value.received == "double; the first of 1 reasons: it did not work"
    assert not (tmp_path / "run").exists()


ERROR = {
    "message": "an op cannot be loaded",
    "received": "invalid syntax (mine.py:3)",
    "legal": None,
    "hint": "fix it",
    "traceback": "",
}


def test_a_file_that_cannot_be_loaded_is_bad_input(tmp_path: Path, plan_file: Path) -> None:
    plan_file.write_text(json.dumps({"error": ERROR}), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        sides.begin(tmp_path / "run", request())
    assert refused.value.received == "invalid syntax (mine.py:3)"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "no sample"),
        (
            [stored.launch_line(0), stored.group_line(0, [], [stored.failure(CASES[0])])],
            "1 failure; the first: it did not work",
        ),
    ],
)
def test_a_run_without_a_sample_is_nothing_measured(tmp_path: Path, lines: list[dict[str, Any]], why: str) -> None:
    folder = stored.write(tmp_path / "run", stored.run(CASES), lines)
    with pytest.raises(NothingMeasured) as caught:
        stored_run.require_measured(open_run(folder).measured[0])
    assert caught.value.received == f"{folder}: {why}"


def test_a_run_whose_op_has_gone_is_not_resumed(tmp_path: Path) -> None:
    """Else every case of it would be recorded as failed, for good."""
    folder = tmp_path / "run"
    stored.write(folder, stored.run([stored.case("native", op="my_op")]), [])
    with pytest.raises(BadInput) as refused:
        stored_run.require_resumable(open_run(folder).measured[0], NO_OWN_OPS)
    assert refused.value.received == "'my_op'"


def test_a_run_of_controls_is_not_resumed(tmp_path: Path) -> None:
    case = stored.case("native")
    content = stored.run([case], settings={**stored.SETTINGS, "pairs": {case: case}})
    stored.write(tmp_path / "run", content, [])
    with pytest.raises(BadInput) as refused:
        stored_run.require_resumable(open_run(tmp_path / "run").measured[0], NO_OWN_OPS)
    assert refused.value.hint == "pyopbench certify starts again"


def test_a_run_with_an_own_op_is_continued_by_naming_it_again(tmp_path: Path) -> None:
    """Nothing that the folder holds is run: the op comes from the command line, and has to be the same one."""
    file = tmp_path / "mine.py"
    file.write_text("def body(x):\n    return x\n", encoding="utf-8")
    own = Target("body", str(file), "body", ("np.ones(3)",))
    told = {"body": {"words": own.words, "fingerprint": own.fingerprint}}
    folder = tmp_path / "run"
    stored.write(folder, {**stored.run([stored.case("native", op="body")]), "own": told}, [])
    with pytest.raises(BadInput) as refused:
        stored_run.require_resumable(open_run(folder).measured[0], NO_OWN_OPS)
    assert refused.value.received == f"body, from {file}:body"
    assert refused.value.hint == f"pyopbench resume {folder} {file}:body --input 'np.ones(3)'"
    named_again = own_ops(own)
    side = open_run(folder).measured[0]
    for run in (open_run(folder), OpenRun(folder, side.plan, named_again)):
        assert stored_run.resume_command(run) == refused.value.hint
    stored_run.require_resumable(side, named_again)
    file.write_text("def body(x):\n    return 2 * x\n", encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        stored_run.require_resumable(open_run(folder).measured[0], named_again)
    assert refused.value.received == f"body, from {file}:body"


def test_a_run_in_a_program_is_continued_by_naming_that_again_unchanged(tmp_path: Path) -> None:
    file, train = tmp_path / "mine.py", tmp_path / "train.py"
    file.write_text("def body(x):\n    return x\n", encoding="utf-8")
    train.write_text("def make():\n    pass\n", encoding="utf-8")
    alone = Target("body", str(file), "body", ("np.ones(3)",))
    own = replace(alone, program=f"{train}:make")
    told = {"body": {"words": own.words, "fingerprint": own.fingerprint, "program": own.program}}
    folder = tmp_path / "run"
    stored.write(folder, {**stored.run([stored.case("native", op="body")]), "own": told}, [])
    side = open_run(folder).measured[0]
    command = f"pyopbench resume {folder} {file}:body --input 'np.ones(3)' --program {train}:make"
    with pytest.raises(BadInput) as refused:
        stored_run.require_resumable(side, own_ops(alone))
    assert refused.value.hint == command
    stored_run.require_resumable(side, own_ops(own))
    for run in (open_run(folder), OpenRun(folder, side.plan, own_ops(own))):
        assert stored_run.resume_command(run) == command
    train.write_text("def make():\n    return 1\n", encoding="utf-8")
    with pytest.raises(BadInput) as changed:
        stored_run.require_resumable(side, own_ops(own))
    assert changed.value.hint != command


def test_a_run_of_another_commit_is_not_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    environment = {**stored.ENVIRONMENT, "commit": "0" * 40}
    stored.write(folder, stored.run([stored.case("native")], environment=environment), [])
    with pytest.raises(BadInput) as refused:
        stored_run.require_resumable(open_run(folder).measured[0], NO_OWN_OPS)
    assert refused.value.received == f"{git.commit_of_package()['commit']} now, {'0' * 40} in run.json"


ANOTHER = "2.12.1"
"""The version whose environment has another one, as a folder on PYTHONPATH can bring."""
REQUEST = planning.Request(Axes(), planning.QUICK, ("pyopbench", "run"))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Let every version be this Python with a worker that measures nothing, and return which were asked for."""
    told: list[str] = []
    key = stored.case("py_function_numpy")
    plan = {"cases": [key], "skips": [], "catalogue": stored.run([key])["catalogue"]}

    def python_of(environment: Environment) -> Path:
        version = str(environment.tf)
        told.append(version)
        found = {"tensorflow": "2.21.0"} if version == ANOTHER else {"tensorflow": version}
        content = {**plan, "environment": {**stored.ENVIRONMENT, **found}}
        (tmp_path / "plan").write_text(json.dumps(content), encoding="utf-8")
        return Path(sys.executable)

    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setattr(environments, "python_of", python_of)
    return lambda: told


def on(*versions: str) -> planning.Request:
    return replace(REQUEST, environments=tuple(map(Environment, versions)))


def test_a_worker_with_another_tensorflow_is_refused_and_nothing_is_begun(
    tmp_path: Path, asked: Callable[[], list[str]]
) -> None:
    with pytest.raises(BadInput) as error:
        sides.begin(tmp_path / "run", on("2.21.0", ANOTHER))
    assert error.value.received == f"2.21.0, for TensorFlow {ANOTHER}"
    assert asked() == ["2.21.0", ANOTHER]
    assert not (tmp_path / "run").exists()
