"""The report of an op in a pipeline: every output holds the same, and what is shown follows from what was measured."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape
from typing import Any

import pytest

import stored
from pipelines import ALL, BATCH, CALLS, CURRENT, PARALLEL, POOL, PORT, content, failure, id_of, rows
from pyopbench.judge import pipeline as wording
from pyopbench.judge.pipeline import PipelineJudgement, TrainingStep, judge, lock_share, rates_of
from pyopbench.report import write_pipeline
from pyopbench.report.charts.latency import DATA
from pyopbench.report.charts.pipeline import LAW, scaling_chart, throughput_chart
from pyopbench.report.pipeline import as_data, report_of
from pyopbench.store.line_types import Autotuned

ALIKE = {one.key: 1e-4 for one in ALL}


def judged(seconds: dict[str, float] | None = None, step: float | None = None, **how: Any) -> PipelineJudgement:
    return judge(rows({**ALIKE, **(seconds or {})}, **how), 0.03, TrainingStep(32, step))


@pytest.mark.parametrize(
    ("seconds", "named"),
    [
        ({}, CURRENT),
        ({PARALLEL.key: 5e-5}, PARALLEL),
        ({BATCH.key: 1e-5}, BATCH),
        ({POOL.key: 5e-5}, POOL),
        ({PORT.key: 1e-5}, PORT),
    ],
)
def test_the_answer_names_the_change_in_one_line(seconds: dict[str, float], named: Any) -> None:
    found = judged(seconds)
    words = wording.ACTIONS[named.action]
    assert found.answer_text() == (words if named is CURRENT else f"{words}: {named.code}")
    assert found.chosen is not None
    assert found.chosen.arrangement == named


def test_rows_go_from_the_quickest_to_the_slowest_and_mark_what_is_chosen() -> None:
    report = report_of(judged({BATCH.key: 1e-5, POOL.key: 1e-3}))
    assert BATCH.key in report.rows[0][0]
    assert report.rows[0][0] != BATCH.key
    assert report.rows[-1][0] == POOL.key


def test_what_is_left_out_is_shown_with_its_reason_once() -> None:
    report = report_of(judged(failures=[failure(key) for key in ("one", "two")]))
    assert len(report.left_out) == 2
    assert report.left_out[1][0] == "one, two"


def test_the_same_measurement_gives_the_same_bytes_and_every_output_the_same_sentences() -> None:
    found = judged({PORT.key: 1e-5}, 1e-3)
    contents = write_pipeline.render(found)
    assert contents == write_pipeline.render(judged({PORT.key: 1e-5}, 1e-3))
    report = report_of(found)
    for sentence in report.sentences:
        assert escape(sentence, quote=False) in contents[write_pipeline.HTML].replace("&#39;", "'")
    decision = json.loads(contents[write_pipeline.DECISION])
    assert decision.pop("crc32")
    assert decision == as_data(found)
    assert "<script" not in contents[write_pipeline.HTML]


def test_what_autotune_chose_is_shown_for_the_arrangements_that_ask_it() -> None:
    chosen = Autotuned(parallel={"MapAndBatch": 2}, cpu_budget=4, ram_budget_bytes=1 << 20)
    stored = replace(rows(ALIKE), autotuned={id_of(PARALLEL): (chosen, chosen)})
    found = judge(stored, 0.03, TrainingStep(32))
    assert wording.autotune_text(found.throughputs)
    assert wording.autotune_text([one for one in found.throughputs if one.arrangement != PARALLEL]) == ""
    shown = {one["key"]: one["autotuned"] for one in as_data(found)["arrangements"]}
    assert shown.pop(PARALLEL.key) == 2 * [
        {"parallel": {"MapAndBatch": 2}, "cpu_budget": 4, "ram_budget_bytes": 1 << 20}
    ]
    assert not any(shown.values())


def test_names_of_users_are_escaped() -> None:
    op = {**content()["catalogue"], "ops": {"double": {**stored.OP, "size_unit": "<script>alert(1)"}}}
    found = judged(failures=[failure("map", reason="</td><script>")], changes={"catalogue": op})
    page = write_pipeline.render(found)[write_pipeline.HTML]
    assert "<script" not in page


def rows_in(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["datasets"][DATA]
    return rows


def test_the_chart_has_a_row_for_each_arrangement_the_quickest_on_top() -> None:
    rows = rows_in(throughput_chart(judged({BATCH.key: 1e-5})))
    assert rows[0]["arrangement"] == BATCH.key
    assert len(rows) == len(ALL)
    assert all(row["low"] <= row["rate"] <= row["high"] for row in rows)


def test_the_line_of_amdahl_goes_through_what_threads_brought() -> None:
    lock = lock_share(rates_of(rows(ALIKE, calls={**CALLS, "threads": 1500.0}).frame))
    assert lock is not None
    line = [row for row in rows_in(scaling_chart(lock)) if row["what"] == LAW]
    assert line[0]["speedup"] == pytest.approx(1)
    assert line[-1]["speedup"] == pytest.approx(1.5)


def test_the_axis_of_threads_has_a_tick_for_each_number_that_was_measured() -> None:
    lock = lock_share(rates_of(rows(ALIKE).frame))
    assert lock is not None
    (axis,) = {str(layer["encoding"]["x"]["axis"]["values"]) for layer in scaling_chart(lock)["spec"]["layer"]}
    assert axis == str([1, *(many for many, *_ in lock.scaling)])


@pytest.mark.parametrize("step", [None, 1e-3, 3.2e-3, 1.0])
def test_every_judgement_has_words_for_its_step(step: float | None) -> None:
    found = judged({BATCH.key: 1e-5}, step)
    assert found.step_text()
    assert found.why_text()


@pytest.mark.parametrize("threads", [1000.0, 1400.0, 2000.0])
@pytest.mark.parametrize("processes", [1100.0, 2000.0])
def test_every_share_of_the_lock_has_words(threads: float, processes: float) -> None:
    lock = lock_share(rates_of(rows(ALIKE, calls={**CALLS, "threads": threads, "processes": processes}).frame))
    assert lock is not None
    said = {wording.lock_text(lock, bound) for bound in (None, 2.0)}
    assert len(said) == 1 + lock.is_known
    assert wording.lock_text(None, None) not in said


@pytest.mark.parametrize(("seconds", "is_bound"), [(9e-5, True), (4e-5, False)])
def test_what_the_lock_bounds_is_not_said_of_threads_that_were_measured_to_gain_more(
    seconds: float, is_bound: bool
) -> None:
    """A body that holds the lock for a third of its time gains 1.5 times with two threads, and never 2.5 times."""
    found = rows({CURRENT.key: 1e-4, PARALLEL.key: seconds}, calls={**CALLS, "threads": 1200.0})
    judgement = judge(found, 0.03, TrainingStep(32))
    assert judgement.lock is not None
    assert (judgement.threads_bound is not None) == is_bound
    assert judgement.threads_bound in (None, 1 / judgement.lock.share)
