"""`pyopbench pipeline`: tables, sentences and files; of measurements that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines import ALL, BATCH, CURRENT, document
from pyopbench.cli.app import make_app
from pyopbench.engine import pipeline
from pyopbench.engine.pipeline import PipelineRequest
from pyopbench.judge.pipeline import TrainingStep, judge
from pyopbench.model.arrangement import AUTOTUNE
from pyopbench.model.errors import BadInput
from pyopbench.report.pipeline import report_of
from pyopbench.store import pipeline_file

WIDTH = 80
STORED = document({**{one.key: 1e-4 for one in ALL}, BATCH.key: 1e-5})


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[PipelineRequest]:
    """Let the command measure nothing and find `STORED`; return what it is asked."""
    asked: list[PipelineRequest] = []

    def measure(request: PipelineRequest, tell: Any) -> dict[str, Any]:
        tell(pipeline.PipelineProgress("sampling", 0, "map", 12.0))
        asked.append(request)
        return STORED

    monkeypatch.setattr(pipeline, "measure", measure)
    return asked


def invoke(*words: str) -> Any:
    return CliRunner().invoke(make_app(), ["pipeline", *words], env={"COLUMNS": str(WIDTH)})


@pytest.mark.usefixtures("requests")
def test_it_prints_every_arrangement_and_the_answer_in_80_columns() -> None:
    done = invoke("sinh")
    assert done.exit_code == 0
    report = report_of(judge(STORED, 0.03, TrainingStep(32)))
    table = [line for line in done.stdout.splitlines() if line.startswith(tuple(row[0] for row in report.rows))]
    assert len(table) == len(ALL)
    assert all(len(line) <= WIDTH for line in table)
    assert report.answer in done.stdout
    said = " ".join(done.stdout.split())
    assert all(sentence in said for sentence in report.sentences)


def test_options_reach_what_is_measured(requests: list[PipelineRequest]) -> None:
    words = (
        "--parallel",
        "1,4,autotune",
        "--batch",
        "8",
        "--size",
        "7",
        "--any-order",
        "--budget",
        "5s",
        "--settings",
        "seed=3",
    )
    assert invoke("sinh", *words).exit_code == 0
    (request,) = requests
    assert request.parallel == (1, 4, AUTOTUNE)
    assert (request.batch, request.size, request.deterministic) == ((8,), 7, False)
    assert (request.budget_seconds, request.seed) == (5.0, 3)


@pytest.mark.usefixtures("requests")
def test_files_are_written_and_judged_again(tmp_path: Path) -> None:
    assert invoke("sinh", "--out", str(tmp_path / "new")).exit_code == 0
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"pipeline.json", "pipeline.md", "pipeline.html", "pipeline-decision.json"}
    stored = tmp_path / "new" / pipeline_file.FILE
    done = invoke("sinh", "--results", str(stored), "--step-ms", "10", "--json")
    found = json.loads(done.stdout)
    assert found["action"] == "keep"
    assert found["step"]["is_hidden"] is True
    assert found["arrangement"] == CURRENT.key


@pytest.mark.usefixtures("requests")
def test_json_holds_the_decision_and_the_measurement() -> None:
    found = json.loads(invoke("sinh", "--json").stdout)
    assert (found["action"], found["arrangement"], found["code"]) == ("batch", BATCH.key, BATCH.code)
    assert found["measured"] == STORED


@pytest.mark.usefixtures("requests")
@pytest.mark.parametrize("words", [("--parallel", "some"), ("--batch", "AUTOTUNE"), ("--step-ms", "0")])
def test_bad_numbers_are_refused(words: tuple[str, ...]) -> None:
    assert isinstance(invoke("sinh", *words).exception, BadInput)
