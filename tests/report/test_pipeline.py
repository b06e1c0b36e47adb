"""The report of an op in a pipeline: every output holds the same, and what is shown follows from what was measured."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pipelines
from pipelines import ALL, BATCH, POOL, PORT, failure, rows
from pyopbench.judge.noise import UNKNOWN_STATE, MachineState
from pyopbench.judge.pipeline import PipelineJudgement, TrainingStep, judge
from pyopbench.report import write
from pyopbench.report.charts.log_axis import MOST_TICKS
from pyopbench.report.charts.picture import DATA
from pyopbench.report.sections import Bullets, Paragraph, Table, about
from pyopbench.report.sections.pipeline import as_data, brief, throughput_chart

ALIKE = {one.key: 1e-4 for one in ALL}


def judged(seconds: dict[str, float] | None = None, step: float | None = None, **how: Any) -> PipelineJudgement:
    return judge(rows({**ALIKE, **(seconds or {})}, **how), 0.03, TrainingStep(32, step))


def whole(pipeline: PipelineJudgement) -> Any:
    return SimpleNamespace(pipeline=pipeline, machine=UNKNOWN_STATE)


def test_rows_go_from_the_quickest_to_the_slowest_and_mark_what_is_chosen() -> None:
    _, table, _ = brief(whole(judged({BATCH.key: 1e-5, POOL.key: 1e-3})))
    assert isinstance(table, Table)
    first, last = str(table.rows[0][0]), str(table.rows[-1][0])
    assert BATCH.key in first
    assert first != BATCH.key
    assert last == POOL.key


def test_what_is_left_out_is_shown_with_its_reason_once() -> None:
    *_, bullets = brief(whole(judged(failures=[failure(key) for key in ("one", "two")])))
    assert isinstance(bullets, Bullets)
    assert sum("one, two not measured: " in text for text in bullets.items) == 1


def test_the_report_has_the_answer_and_its_table() -> None:
    judgement, _ = pipelines.judged({**ALIKE, PORT.key: 1e-5})
    found = judgement.pipeline
    assert found is not None
    contents = write.render(judgement)
    for name in ("report.html", "report.md"):
        assert found.answer_text() in contents[name]
        assert all(one.arrangement.key in contents[name] for one in found.throughputs)
    assert json.loads(json.dumps(as_data(found))) == as_data(found)


def test_a_busy_machine_is_reported_with_the_answer() -> None:
    busy = MachineState(9.0, None, 2)
    *_, bullets = brief(SimpleNamespace(pipeline=judged(), machine=busy))
    assert busy.warning_text() in bullets.items


def test_how_it_was_measured_says_nothing_of_the_cases_outside_of_a_pipeline() -> None:
    judgement, _ = pipelines.judged(ALIKE)
    texts = {one.text for one in about.build(judgement) if isinstance(one, Paragraph)}
    assert len(texts - {judgement.machine.text(), judgement.machine.warning_text()}) == 1, "the run"


def rows_in(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["datasets"][DATA]
    return rows


def test_the_chart_has_a_row_for_each_arrangement_the_quickest_on_top() -> None:
    rows = rows_in(throughput_chart(judged({BATCH.key: 1e-5})))
    assert rows[0]["arrangement"] == BATCH.key
    assert len(rows) == len(ALL)
    assert all(row["low"] <= row["rate"] <= row["high"] for row in rows)


def test_the_axis_of_the_chart_has_room_around_the_intervals_and_for_its_labels() -> None:
    spec = throughput_chart(judged({BATCH.key: 9e-5}))
    (x,) = [layer["encoding"]["x"] for layer in spec["spec"]["layer"] if layer["encoding"]["x"]["field"] == "rate"]
    low, high = x["scale"]["domain"]
    assert all(low < row["low"] < row["high"] < high for row in rows_in(spec))
    assert 1 < len(x["axis"]["values"]) <= MOST_TICKS
