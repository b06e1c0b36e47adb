"""The section on where each op should run, and what else shows it: a terminal and decisions.json."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from typing import Any

import pytest

from frames import Bench, run_of
from judgements import plain
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.report import decisions_json, terminal
from pyopbench.report.sections import Cell, Table, devices
from pyopbench.report.write import render

SIZES = (1_000, 1_000_000)


@cache
def judged() -> Judgement:
    cpu = Bench({"py_function_numpy": 9e-5, "native": lambda n: 6e-6 + 1e-8 * n}, sizes=SIZES, launches=4)
    gpu = replace(cpu, curves={"py_function_numpy": 4e-4, "native": 5e-5, "xla": 6e-5}, seed=5, placement="gpu")
    other = {"op": "cube", "sizes": (10,)}
    return judge_run(run_of(cpu, gpu, replace(cpu, **other), replace(gpu, **other)))  # type: ignore[arg-type]


def tables() -> dict[str, Table]:
    found = [block for block in devices.build(judged()) if isinstance(block, Table)]
    return dict(zip(("sinh", "cube"), found, strict=True))


def column(table: Table, name: str) -> list[Any]:
    cells = [row[table.columns.index(name)] for row in table.rows]
    return [cell.number if isinstance(cell, Cell) and cell.number is not None else str(cell) for cell in cells]


def test_there_is_a_row_for_each_size_with_the_numbers_of_the_judgement() -> None:
    made = [one for one in judged().devices if one.op == "sinh"]
    table = tables()["sinh"]
    assert column(table, "elements") == list(SIZES)
    assert column(table, "callback on CPU") == [one.cpu.callback_seconds for one in made]
    assert column(table, "callback on GPU") == [one.gpu.callback_seconds for one in made]
    assert column(table, "fastest on CPU") == ["native", "py_function_numpy"]
    assert column(table, "fastest on GPU") == ["native", "native"]
    assert (
        column(table, "GPU / CPU") == [one.ratio for one in made] == pytest.approx([5e-5 / 1.6e-5, 5e-5 / 9e-5], 0.05)
    )
    assert column(table, "run on") == ["cpu", "gpu"]


def test_each_op_has_its_own_table() -> None:
    assert column(tables()["cube"], "run on") == ["cpu"]
    assert all(len(row) == len(table.columns) for table in tables().values() for row in table.rows)


def test_a_run_on_one_device_has_no_such_section() -> None:
    assert plain().devices == ()
    assert devices.build(plain()) == devices.brief(plain()) == ()
    assert terminal._devices_table(plain()).rows == ()


def test_a_terminal_has_a_row_for_each_op_and_direction() -> None:
    rows = terminal._devices_table(judged()).rows
    assert [row[:2] for row in rows] == [("sinh", "forward"), ("cube", "forward")]
    assert rows in [table.rows for table in terminal.tables(judged())]


def test_the_page_and_the_file_for_programs_hold_it() -> None:
    assert 'id="devices"' in render(judged())["report.html"]
    document = json.loads(decisions_json.decisions_json(judged()))
    assert document["devices"] == [asdict(one) for one in judged().devices]
