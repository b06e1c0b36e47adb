"""The costs inside a graph: of one op, of the first and each further callback, and of the line over copies."""

from __future__ import annotations

from typing import Any

import pandas as pd

from frames import Bench, run_of
from judgements import plain
from pyopbench.judge.findings import Answer
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.model import formatting
from pyopbench.report.sections import Table, nodes
from pyopbench.stats import estimate, node_graphs
from pyopbench.stats.node_graphs import surcharges

TODAY = "py_function_numpy"
FIRST_SECONDS = 5e-5
"""What the first callback of a step costs beyond each further one."""


def judged(*copies: int) -> Judgement:
    """Return a run in which a callback of 100 us and a port of 1 us were timed as graphs of so many copies."""
    benches = [
        Bench({TODAY: 1e-4, "native": 1e-6}, sizes=(10,), mode="node", copies=many, launches=4, rounds=20, seed=many)
        for many in copies
    ]
    run = run_of(*benches)
    frame = pd.concat([bench.frame() for bench in benches], ignore_index=True)
    frame["seconds"] += FIRST_SECONDS * frame["calls"] * (frame["variant"] == TODAY)
    run.frame = frame
    return judge_run(run)


def row_of(judgement: Judgement, variant: str) -> dict[str, str]:
    (table,) = [block for block in nodes.build(judgement) if isinstance(block, Table)]
    (row,) = [row for row in table.rows if variant in map(str, row)]
    return dict(zip(table.columns, map(str, row), strict=True))


def latency(judgement: Judgement, variant: str) -> Any:
    (row,) = [row for row in judgement.latencies.itertuples() if row.variant == variant]
    return row


def test_the_answer_goes_by_what_an_op_costs_inside_the_graph() -> None:
    """A call takes 200 us and more with either; of the op itself the port saves 99%."""
    judgement = judged(8)
    (decision,) = judgement.decisions
    assert (decision.mode, decision.answer) == ("node", Answer("port", "native"))
    assert decision.saved is not None
    assert 0.97 < decision.saved < 1.01
    for variant in (TODAY, "native"):
        row = latency(judgement, variant)
        assert row_of(judgement, variant)["one op"] == formatting.seconds_interval(row.seconds, row.low, row.high)
        assert row_of(judgement, variant)["copies"] == "8"


def test_the_first_callback_and_each_further_one_are_told_where_both_graphs_were_timed() -> None:
    alone, both = judged(8), judged(1, 8)
    case = latency(both, TODAY).case
    found = surcharges(both.run.frame, estimate.UNIT)[case]
    assert abs(found.first - found.further - FIRST_SECONDS) < 1e-5
    row = row_of(both, TODAY)
    assert row["the first"] == formatting.seconds(found.first)
    assert row["each further"] == formatting.seconds_interval(found.further, found.low, found.high)
    assert found.low < 1e-4 < found.high
    missing = row_of(alone, TODAY)
    assert (missing["the first"], missing["each further"]) == (formatting.MISSING, formatting.MISSING)


def test_a_slope_is_there_from_three_numbers_of_copies_on() -> None:
    two, three = judged(1, 8), judged(1, 8, 32)
    assert row_of(two, TODAY)[nodes.SLOPE] == formatting.MISSING
    lines = node_graphs.lines(three.run.frame, estimate.UNIT)
    slope = estimate.Estimate.of(lines["slope"][lines["case"] == latency(three, TODAY).case])
    assert abs(slope.mean - 1e-4) < 1e-5
    assert row_of(three, TODAY)[nodes.SLOPE] == formatting.seconds_interval(slope.mean, *slope.interval())
    assert row_of(three, TODAY)["copies"] == "1, 8, 32"


def test_without_mode_node_there_is_no_section() -> None:
    assert nodes.build(plain()) == ()
