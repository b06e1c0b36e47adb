"""The sections on copies: absent without their files, simulated by name, silent about other ops, proof against rot."""

from __future__ import annotations

import html
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import copied_files
import counted_files
import judgements
import stored
from frames import Bench
from placement_files import document
from pyopbench.judge.decision import DataOnDevice
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.model.places import ROUTES
from pyopbench.report.counted_copies_text import place_text
from pyopbench.report.sections import Paragraph, Table, decisions
from pyopbench.report.sections.copies import SECTION as COPIES
from pyopbench.report.sections.placement import SECTION as PLACEMENT
from pyopbench.report.sections.placement import SIMULATED_INTRO
from pyopbench.report.write import render
from pyopbench.store import copy_costs, counted_copies, read
from pyopbench.store.counted_copies import copies_at_places, rows_of
from pyopbench.store.warnings import UnreadableFile


@pytest.fixture(scope="module")
def judgement() -> Judgement:
    return judgements.plain()


def with_files(judgement: Judgement, **files: Any) -> Judgement:
    return replace(judgement, run=SimpleNamespace(**{**vars(judgement.run), **files}))


def test_without_files_there_are_no_sections(judgement: Judgement) -> None:
    assert not PLACEMENT.build(judgement)
    assert not COPIES.build(judgement)


def test_the_report_says_simulated_and_where_to_run_each_op(judgement: Judgement) -> None:
    texts = render(with_files(judgement, counted_copies=document(), copy_costs=copied_files.document(
        copied_files.row(1, 1e-4), copied_files.row(1_000_000, 1.1e-3))))  # fmt: skip
    blocks = PLACEMENT.build(with_files(judgement, counted_copies=document()))
    assert blocks[0] == Paragraph(SIMULATED_INTRO)
    copied = copies_at_places("sinh", rows_of(document()))
    free = {one.place: [variant for variant, row in one.best.items() if not row.copies] for one in copied}
    assert free["device"] == ["native", "py_func"]
    for name in ("report.md", "report.html"):
        said = html.unescape(texts[name])
        assert all(sentence in said for sentence in (SIMULATED_INTRO, *map(place_text, copied)))
    tables = [block for block in blocks if block.kind == "table"]
    assert tables
    assert all(table.caption.endswith("(simulated)") for table in tables)


def test_the_advice_uses_the_copies_and_without_them_says_nothing_of_a_gpu() -> None:
    run = Bench({"py_func": 2e-4, "native": 1e-4}, op="sinh", launches=4).run()
    plain = judge_run(run, baseline="py_func")
    counts = [counted_files.row("py_func", to_device=[1, 4], to_host=[1, 8]), counted_files.row()]
    rows = [{**row, "inputs": start, "result": end} for row in counts for start, end in ROUTES]
    counted = judge_run(SimpleNamespace(**{**vars(run), "counted_copies": document(rows=rows)}), baseline="py_func")
    assert [one.copies for one in plain.decisions] == [()]
    assert [one.answer for one in counted.decisions] == [one.answer for one in plain.decisions]
    (advice,) = counted.decisions[0].copies
    assert isinstance(advice, DataOnDevice)
    assert (advice.choice, advice.today.copies) == ("native", 2)
    page = render(counted)["report.html"]
    assert advice.text() in page
    without, with_counts = (
        [block.caption for block in decisions.build(one) if isinstance(block, Table)] for one in (plain, counted)
    )
    caption = "sinh: what the answer means where there is a GPU, by copies counted on a simulated device"
    assert [one for one in with_counts if one not in without] == [caption]
    assert caption in page
    assert caption not in render(plain)["report.html"]


def test_counts_of_another_tensorflow_or_of_other_ops_are_told(judgement: Judgement) -> None:
    other = PLACEMENT.build(with_files(judgement, counted_copies=document(tensorflow="2.12.1")))
    again = "They were counted on TensorFlow 2.12.1, but this run used 2.21.0: count them again."
    assert Paragraph(again, "warn") in other
    rows = [{**row, "case": row["case"].replace("sinh", "log")} for row in document()["rows"]]
    ops = {"log": document()["ops"]["sinh"]}
    (only,) = PLACEMENT.build(with_files(judgement, counted_copies=document(rows=rows, ops=ops)))
    assert only == Paragraph("The counted copies in this run's folder are of other ops.", "warn")


def test_files_beside_a_run_are_read_and_a_broken_one_is_a_warning(tmp_path: Path) -> None:
    cases = [stored.case("native")]
    folder = stored.write(tmp_path / "run", stored.run(cases), [])
    counted_copies.write(folder / counted_copies.FILE, document())
    (folder / copy_costs.FILE).write_text("broken", encoding="utf-8")
    run = read.read_one([folder])
    assert run.counted_copies == document()
    assert run.copy_costs is None
    (warning,) = run.warnings
    assert isinstance(warning, UnreadableFile)
    assert warning.problem == f"{folder.resolve() / copy_costs.FILE} was not written by `pyopbench copies`"
