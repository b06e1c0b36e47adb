"""What a file may hold at its limits, what is left out of one, and what becomes of each number that is read."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import pipelines
import stored
from foreign_files import FORWARD, document, write
from pyopbench.model.errors import BadInput
from pyopbench.store import json_file
from pyopbench.store.foreign import read_file
from pyopbench.store.own_runs import run_of
from pyopbench.store.types import (
    decode_line,
)

CASE = stored.case("well")
MOST = 2**53


def test_what_json_lacks_is_none_and_keys_are_text() -> None:
    numbers = [1, 1.5, math.nan, math.inf, -math.inf, "nan"]
    expected = [1, 1.5, None, None, None, "nan"]
    assert json_file.without_nan({1: numbers, "b": {2.5: (math.nan, numbers)}}) == {
        "1": expected,
        "b": {"2.5": [None, expected]},
    }
    assert json_file.encode_in_lines({"a": math.nan}).decode() == '{\n "a": null\n}\n'


def refused(place: str, value: Any) -> bool:
    """Return whether a plan is refused with a value at a place, names with dots between."""
    path = tuple(place.split("."))
    content = stored.nested(pipelines.content())
    content["minimum_effect"] = 0.03
    return stored.refusal(lambda: stored.typed(stored.put(content, path, value))) is not None


@pytest.mark.parametrize(
    ("place", "legal", "illegal"),
    [
        *((f"settings.{name}", (1, MOST), (0, MOST + 1)) for name in ("launches", "first_rounds", "rounds")),
        ("settings.seed", (0, MOST), (-1, MOST + 1)),
        *((f"settings.{name}_seconds", (1e-9,), (0, -1)) for name in ("block", "group", "case_timeout")),
        ("settings.budget_seconds", (0, None), (-1e-9,)),
        ("minimum_effect", (1e-9, 0.999), (0, 1)),
        ("pipeline.minimum_effect", (0, 0.999), (-1e-9, 1)),
        ("pipeline.parallel", ([-1, 0],), ([-2],)),
        ("pipeline.batch", ([1],), ([0],)),
        *((f"pipeline.{name}", (1,), (0,)) for name in ("processes", "step_elements", "elements")),
        ("pipeline.step_seconds", (0,), (-1e-9,)),
        ("sides", ([{}],), ([],)),
    ],
)
def test_a_plan_holds_what_is_possible(place: str, legal: tuple[Any, ...], illegal: tuple[Any, ...]) -> None:
    assert [refused(place, value) for value in legal] == [False] * len(legal)
    assert [refused(place, value) for value in illegal] == [True] * len(illegal)


@pytest.mark.parametrize(
    ("changes", "is_legal"),
    [
        ({"launch": 0, "side": 0, "pass": 0}, True),
        *(({name: -1}, False) for name in ("launch", "side", "pass")),
        *(({"samples": {CASE: [row]}}, True) for row in ([0, 0, 0, 0], [0, 0, 1, 1.5, 2], [MOST] * 4)),
        *(({"samples": {CASE: [row]}}, False) for row in ([0, 0, 0], [0] * 6, [0, 0, 1, 2.0**54], [MOST + 1, 0, 0, 0])),
        *(({"waits": {CASE: {"calls": calls, "p50": p50, "p95": None, "p99": None}}}, ok)
          for calls, p50, ok in ((1, 1e-9, True), (0, 1.0, False), (1, 0.0, False))),
    ],
)  # fmt: skip
def test_a_line_holds_what_is_possible(changes: dict[str, Any], *, is_legal: bool) -> None:
    line = json_file.encode({**stored.group_line(0, [CASE]), **changes})
    assert (stored.refusal(lambda: decode_line(line, "here")) is None) == is_legal


def test_blocks_of_another_tool_are_of_one_launch_sweep_round_and_copy(tmp_path: Path) -> None:
    content = {**document("asv-first"), "date": 1_700_000_000_000}
    run = read_file(write(tmp_path / "asv.json", content))
    assert run is not None
    for frame in (run.frame, run.others):
        told = frame[["tool", "run", "launch", "sweep", "round", "copies"]].drop_duplicates().to_numpy().tolist()
        assert told == [["asv", f"{content['commit_hash'][:8]} in {content['env_name']}", 0, 0, 0, 1]]
    at = content["result_columns"].index("started_at")
    timed = [row[at] for name, row in content["results"].items() if name.rpartition(".")[2].startswith("time_")]
    assert datetime.fromisoformat(run.created) == datetime.fromtimestamp(max(timed) // 1000, timezone.utc)
    assert run.environment["commit_date"] == "2023-11-14T22:13:20+00:00"
    content["results"][FORWARD][at] = -1
    with pytest.raises(BadInput):
        read_file(write(tmp_path / "early.json", content))


def test_a_launch_in_a_pipeline_takes_its_preparing_and_its_blocks() -> None:
    """By hand: 5 s each to prepare, and six blocks of 320 elements of 1 ms."""
    side = pipelines.side({pipelines.POOL.key: 1e-3}, noise=0.0)
    rows = run_of(side).pipeline
    assert rows is not None
    assert rows.launch_seconds == pytest.approx(5.0 + 6 * 320 * 1e-3)
    assert rows.pool_seconds == {pipelines.id_of(pipelines.POOL): (4.0,) * pipelines.LAUNCHES}
    assert (rows.current.id, rows.size_unit, rows.words) == (pipelines.id_of(pipelines.CURRENT), "elements", ())
    side.lines.clear()
    empty = run_of(side).pipeline
    assert empty is not None
    assert (empty.launch_seconds, len(empty.frame)) == (0.0, 0)
