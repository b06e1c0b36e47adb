"""Measuring from Python, by workers that measure nothing: what is returned, what is stored, and what goes wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyopbench
import stored
from commands import Call, call, planned
from pyopbench.model.errors import BadInput, Interrupted

__all__ = ["call", "planned"]
X = np.ones(3, np.float32)
QUIET: dict[str, Any] = {"launches": 2, "progress": False}


def body(x: Any) -> Any:
    return x


def shipped() -> Callable[[Any], Any]:
    def double(x: Any) -> Any:
        return x + x

    return double


def test_a_function_is_measured_and_judged(planned: Callable[..., None], tmp_path: Path) -> None:
    planned("native")
    folder = tmp_path / "run"
    result = pyopbench.run(body, [X], out=folder, **QUIET)
    assert result.folder == folder
    assert list(result.decisions["op"]) == ["double"]
    content = stored.read_run(folder)
    assert content["own"]["body"]["words"][0] == f"{Path(__file__)}:body"
    assert content["settings"]["launches"] == 2
    assert not (folder / "report.html").exists()


def test_every_worker_of_a_run_is_sent_its_own_op(
    planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a worker is started for: an op is loaded there by the name that cases have."""
    planned("native")
    for variable in ("FAKE_WORKER_LOG", "FAKE_WORKER_TIMES"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))
    pyopbench.run(body, [X], out=tmp_path / "run", requires=["xla"], **QUIET)
    asked = [json.loads(line) for line in (tmp_path / "FAKE_WORKER_LOG").read_text(encoding="utf-8").splitlines()]
    times = [json.loads(line) for line in (tmp_path / "FAKE_WORKER_TIMES").read_text(encoding="utf-8").splitlines()]
    with_op = [request for request in asked if [one["function"] for one in request.get("own", ())] == ["body"]]
    assert len(with_op) == len({process for process, *_ in times})
    assert {"plan", "require", "prepare"} == {request["do"] for request in with_op}


def test_what_is_run_is_the_command_line_s_own(planned: Callable[..., None], tmp_path: Path) -> None:
    """An op of a notebook is stored as a file and its inputs, so that the command line can take it up."""
    planned("native")
    pyopbench.run(shipped(), X, out=tmp_path / "run", **QUIET)
    (own,) = stored.read_run(tmp_path / "run")["own"].values()
    file, option, example = own["words"]
    path = Path(file.rpartition(":")[0])
    assert (path.parent, option) == (tmp_path / "run" / "op", "--input")
    np.testing.assert_array_equal(np.load(example), X)


def test_an_interrupted_run_says_how_to_continue_and_does(
    planned: Callable[..., None], call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned("native")
    folder, function = tmp_path / "run", shipped()

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pyopbench.engine.run.measure", interrupt)
        with pytest.raises(Interrupted) as interrupted:
            pyopbench.run(function, [X], out=folder, **QUIET)
    assert interrupted.value.folder == folder
    assert not isinstance(interrupted.value, Exception)
    command = interrupted.value.hint.partition(" continues")[0]
    ended = call(*shlex.split(command)[1:])
    assert ended.code == 0, ended.err
    assert list(pyopbench.read(folder).decisions["op"]) == ["double"]


def test_an_interrupt_before_there_is_a_run_is_one_of_python_s_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyopbench.engine.sides.begin", interrupt)
    with pytest.raises(KeyboardInterrupt) as interrupted:
        pyopbench.run(shipped(), [X], out=tmp_path / "run", **QUIET)
    assert not isinstance(interrupted.value, Interrupted)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"launches": 1}, "one launch gives no interval"),
        ({"variants": ["no such"]}, "unknown variant"),
        ({"axis": ["size=0"]}, "not a size"),
        ({"minimum_effect": 0}, "the minimum effect is out of range"),
    ],
)
def test_a_wrong_argument_is_refused_before_a_worker_starts(wrong: dict[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        pyopbench.run(body, [X], out=tmp_path / "run", **{**QUIET, **wrong})
    assert error.value.message == what
    assert not (tmp_path / "run").exists()
