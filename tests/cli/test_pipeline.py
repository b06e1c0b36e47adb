"""`pyopbench pipeline`: tables, sentences and files; of a worker that measures nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pipelines
from commands import Call
from fake_worker import FAILURES
from pipelines import ALL, BATCH, CURRENT
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import worker_process
from pyopbench.judge.pipeline import TrainingStep, judge
from pyopbench.store.run import read_plan

WIDTH = 80
SECONDS = {**{one.key: 1e-4 for one in ALL}, BATCH.key: 1e-5}
QUICK = ("--launches", 2, "--budget", "20s")


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the command have a worker whose arrangements take known times; return the file of what it is asked."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("FAKE_WORKER_ELEMENTS", json.dumps(SECONDS))
    pipelines.write_answer(tmp_path / "plan")
    return tmp_path / "log"


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """Return the folder of a run that was measured before."""
    return pipelines.write(tmp_path / "stored", SECONDS)


def test_it_prints_every_arrangement_and_the_answer_in_80_columns(call: Call, stored: Path) -> None:
    done = call("report", stored)
    assert done.code == 0, done.err
    found = judge(pipelines.rows(SECONDS), 0.03, TrainingStep(32))
    table = [line for line in done.out.splitlines() if line.removeprefix("→ ").startswith(tuple(SECONDS))]
    assert len(table) == len(ALL)
    assert all(len(line) <= WIDTH for line in table)
    assert found.answer_text() in done.out
    assert found.why_text() in " ".join(done.out.split())


@pytest.mark.usefixtures("log")
def test_what_is_measured_is_a_run_in_a_folder_with_its_reports(call: Call, tmp_path: Path) -> None:
    done = call("pipeline", "sinh", *QUICK, "--out", tmp_path / "run")
    assert done.code == 0, done.err
    assert BATCH.code in done.out
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        *("run.json", "samples.jsonl", "report.html", "report.md", "decisions.json", "pipeline-decision.json")
    }
    assert BATCH.key in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert BATCH.code in call("report", tmp_path / "run").out


def test_options_reach_what_is_measured(call: Call, log: Path, tmp_path: Path) -> None:
    words = (
        *("--parallel", "1,4,autotune", "--batch", "8", "--size", "7", "--budget", "5s"),
        *("--launches", 2, "--step-ms", "64", "--step-elements", "32"),
    )
    assert call("pipeline", "sinh", *words, "--out", tmp_path / "run").code == 0
    asked = json.loads(log.read_text(encoding="utf-8").splitlines()[0])
    assert asked["do"] == "pipeline"
    assert (asked["parallel"], asked["batch"], asked["size"]) == ([1, 4, -1], [8], 7)
    run = read_plan(tmp_path / "run")
    assert (run.settings.budget_seconds, run.settings.launches) == (5.0, 2)
    assert run.pipeline is not None
    assert (run.pipeline.step_seconds, run.pipeline.step_elements) == (pytest.approx(2e-3), 32)


def test_two_runs_are_compared_arrangement_by_arrangement(call: Call, stored: Path, tmp_path: Path) -> None:
    slower = pipelines.write(tmp_path / "slower", {**SECONDS, BATCH.key: 2e-5}, seed=1)
    done = call("compare", stored, slower, "--json", "--fail-on", "never")
    found = {one["case"]: one["outcome"] for one in json.loads(done.out)["cases"]}
    assert found[pipelines.id_of(BATCH)] == "slower"
    assert {*map(pipelines.id_of, ALL)} <= {*found}


def test_what_would_change_no_answer_is_refused(call: Call, stored: Path) -> None:
    mix = stored.parent / "mix.csv"
    mix.write_text("size,weight\n1000,1\n", encoding="utf-8")
    for option, value in (("--require", "savedmodel"), ("--mix", mix)):
        ended = call("report", stored, option, value)
        assert (ended.code, option in ended.err) == (2, True)


def test_json_holds_the_decision_and_what_was_left_out(call: Call, stored: Path) -> None:
    found: dict[str, Any] = json.loads(call("report", stored, "--json").out)
    assert (found["action"], found["arrangement"], found["code"]) == ("batch", BATCH.key, BATCH.code)
    assert {one["key"] for one in found["arrangements"]} == {*SECONDS}
    assert [one["key"] for one in found["left_out"]] == [pipelines.LEFT_OUT.key]


def test_without_the_current_callback_the_exit_code_says_so(
    call: Call, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_ARRANGEMENTS", json.dumps({CURRENT.key: "raising"}))
    done = call("pipeline", "sinh", *QUICK, "--out", tmp_path / "run")
    assert done.code == 3
    assert FAILURES["raising"][1] in done.err
