"""A report of several machines has the answers of each kind, on the page, in Markdown, JSON and on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sharded
import stored
from pyopbench.judge.findings import DIFFERS_TEXT
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.machines import summary_text
from pyopbench.report import terminal
from pyopbench.report.sections import machines
from pyopbench.report.write import render
from pyopbench.store import merge
from pyopbench.store.read import read_one

FAST, SLOW = "fast <b>processor</b>", "slow processor"


def merged(folder: Path, *, differ: bool, kinds: bool = True) -> Path:
    """Write a run on four machines of two kinds; native saves half, on the slow ones nothing if they `differ`."""

    def seconds(key: str, index: int, launch: int) -> float:
        slow = differ and index > 2 and "/native/" in key
        return sharded.steady(key, index, launch) * (2.8 if slow else 1.0)

    shards = []
    for index in range(1, 5):
        cpu = SLOW if kinds and index > 2 else FAST
        shards.append(
            sharded.write_shard(
                *(folder / f"shard-{index}", index, 4),
                replicates=4,
                seconds=seconds,
                environment={**stored.ENVIRONMENT, "cpu": cpu},
            )
        )
    merge.merge(shards, folder / "merged")
    return folder / "merged"


@pytest.fixture(scope="module")
def differing(tmp_path_factory: pytest.TempPathFactory) -> Judgement:
    return judge_run(read_one([merged(tmp_path_factory.mktemp("differing"), differ=True)]), "py_function_numpy")


@pytest.fixture(scope="module")
def agreeing(tmp_path_factory: pytest.TempPathFactory) -> Judgement:
    folder = merged(tmp_path_factory.mktemp("agreeing"), differ=False, kinds=False)
    return judge_run(read_one([folder]), "py_function_numpy")


def test_answers_that_differ_are_told_in_every_form(differing: Judgement) -> None:
    assert all(one.differs for one in differing.machines)
    told = render(differing)
    for name in ("report.html", "report.md"):
        assert DIFFERS_TEXT in told[name]
        assert SLOW in told[name]
        assert "I²" in told[name]
    assert "<b>processor" not in told["report.html"]
    document = json.loads(told["decisions.json"])
    assert [one["differs"] for one in document["machines"]] == [True] * len(document["decisions"])
    assert {one["text"]["answer"] for one in document["decisions"]} == {DIFFERS_TEXT}
    assert {kind["action"] for one in document["machines"] for kind in one["kinds"]} == {"port", "keep"}
    answers, by_kind, *_ = terminal.tables(differing)
    assert {row[2] for row in answers.rows} == {DIFFERS_TEXT}
    assert by_kind.title == "By kind of machine"
    assert len(by_kind.rows) == 2 * len(answers.rows)
    texts = {machines.text() for machines in differing.machines}
    assert all(any(text in note for note in terminal.notes(differing)) for text in texts)


def test_machines_that_agree_have_one_answer_and_a_word_about_it(agreeing: Judgement) -> None:
    assert {decision.action for decision in agreeing.decisions} == {"port"}
    told = render(agreeing)
    assert DIFFERS_TEXT not in told["report.md"]
    assert summary_text(4, 1, 0, len(agreeing.decisions)) in told["report.md"]
    assert terminal.tables(agreeing)[0].title == "What to do"
    assert len(machines.build(agreeing)) == len(machines.brief(agreeing)) + 1 == 3


def test_every_machine_is_shown_with_its_launches(differing: Judgement) -> None:
    table = machines.build(differing)[-1]
    rows = [tuple(map(str, row)) for row in getattr(table, "rows")]  # noqa: B009 - a block of some kind
    assert [(row[0], row[-1]) for row in rows] == [(f"host-{index}", "2") for index in range(1, 5)]


def test_a_run_on_one_machine_has_no_such_section(tmp_path: Path) -> None:
    lines = [*sharded.lines_of(sharded.CASES, 1), sharded.ENDED]
    alone = judge_run(read_one([stored.write(tmp_path / "run", sharded.plan(), lines)]), "py_function_numpy")
    assert machines.build(alone) == ()
    assert machines.brief(alone) == ()
    assert json.loads(render(alone)["decisions.json"])["machines"] == []
