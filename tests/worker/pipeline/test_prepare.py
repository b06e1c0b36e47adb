"""Arrangements are prepared by a worker: the current callback first, what could not be chosen not at all."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.case import BASELINE, Case
from pyopbench.model.errors import Unsupported
from pyopbench.worker.group import WarmGroups
from pyopbench.worker.pipeline import arrangements, measure
from pyopbench.worker.pipeline.measure import describe_pipelines, prepare_pipelines

CURRENT = Arrangement("map", "keep", "ds.map(f)")
BATCH = Arrangement("batch_body", "batch", "ds.batch(32).map(f)", batch=32)
PORT = Arrangement("port", "port", "ds.map(native)", AUTOTUNE, 0, "native", 4.0)
ALL = (BATCH, PORT, CURRENT)
ASKED: dict[str, Any] = {"budget_seconds": 75.0, "minimum_effect": 0.03, "step_seconds": 0.0}


def case_of(one: Arrangement) -> Case:
    return Case("sinh", one.variant or BASELINE, "none", "forward", f"pipeline:{one.key}", "float32", 10)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that prepares made-up pipelines; it returns them by arrangement, and what was begun."""

    def prepare(asked: Mapping[str, Any] | None = None, bad: str = "") -> tuple[dict[str, Any], list[str]]:
        begun: list[str] = []

        def elements(arrangement: Arrangement, *_: Any) -> str:
            if arrangement.key == bad:
                raise ValueError("no")
            return arrangement.key

        context = SimpleNamespace(elements=SimpleNamespace(op=SimpleNamespace(own=None)))
        monkeypatch.setattr(measure, "_context_of", lambda asked: context)
        monkeypatch.setattr(measure, "arrange_all", lambda context: [(one, lambda context: None) for one in ALL])
        monkeypatch.setattr(measure, "ElementsOfPipeline", elements)
        request = {"plan_request": {**ASKED, **(asked or {})}}
        made = prepare_pipelines(list(map(case_of, ALL)), request, lambda case: begun.append(case.arrangement))
        return {case_of(one).arrangement: made.get(case_of(one).runner) for one in ALL}, begun

    return prepare


def test_the_current_callback_comes_first(prepared: Any) -> None:
    _, begun = prepared()
    assert begun == [CURRENT.key, CURRENT.key, BATCH.key, PORT.key], "before anything is made of the body, too"


def test_what_there_is_no_time_for_is_left_out_and_the_current_callback_never(prepared: Any) -> None:
    made, begun = prepared({"budget_seconds": -1.0})
    assert begun == [CURRENT.key] * 2
    assert {key for key, one in made.items() if isinstance(one, Unsupported)} == {BATCH.key, PORT.key}


def test_an_arrangement_that_raises_costs_itself_and_the_current_callback_all(prepared: Any) -> None:
    made, _ = prepared(bad=BATCH.key)
    assert [key for key, one in made.items() if isinstance(one, ValueError)] == [BATCH.key]
    assert made[PORT.key] == PORT.key
    made, begun = prepared(bad=CURRENT.key)
    assert isinstance(made.pop(CURRENT.key), ValueError)
    assert {*made.values()} == {None}
    assert {*begun} == {CURRENT.key}


def test_what_is_planned_is_prepared_checked_and_timed() -> None:
    """Of a built-in op, by the requests of a parent; without the pool of processes, which takes seconds to start."""
    asked = {
        "op": "cube",
        "variant": "numpy_function",
        "size": 10,
        "dtype": "float32",
        "parallel": [1, 2],
        "batch": [8],
        "processes": 2,
    }
    request = {**asked, "elements": None, "forms": None, "variants": None}
    answer = describe_pipelines(request, lambda event: None)
    chosen = describe_pipelines(request | {"forms": ["map", "port"], "variants": ["native"]}, lambda event: None)
    assert [one["form"] for one in chosen["plan"]["arrangements"]] == ["map", "map", "port"]
    keys = {Case.from_id(key).arrangement: key for key in answer["cases"]}
    assert {"map", "map parallel=2", "batch_loop batch=8", "port native"} <= {*keys}
    assert {Case.from_id(one["case"]).arrangement for one in answer["skips"]}.isdisjoint(keys)
    wanted = [keys[key] for key in ("map", "port native")]
    plan = {**asked, **ASKED, "elements": answer["plan"]["elements"]}
    groups, usual = WarmGroups(), {"launch": 0, "seed": 0, "finite_differences": True}
    pipeline = {"plan_request": plan}
    made = groups.prepare({"cases": wanted, "pipeline": pipeline, **usual}, lambda event: None)
    assert made["failures"] == []
    assert made["pool_seconds"] == {}
    request = {"block_seconds": 0.01, "group_seconds": 0.01, "rounds": 2, "first_round": 0, "pass": 0}
    sampled = groups.sample({"cases": wanted, **usual, **request}, lambda event: None)
    assert {*sampled["samples"]} == {*wanted}
    assert all(row[2] >= 1 and row[3] > 0 for rows in sampled["samples"].values() for row in rows)
    assert sampled["failures"] == []


def test_an_arrangement_that_gives_other_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault is planted: the body of a batch is off by one."""
    asked = {
        "op": "cube",
        "variant": "numpy_function",
        "size": 10,
        "dtype": "float32",
        "parallel": [1],
        "batch": [8],
        "processes": 2,
        "elements": 16,
    }
    wrong = Arrangement("wrong", "batch", "")

    def arrange(context: Any) -> Any:
        def build(context: Any) -> Any:
            return context.elements.source().map(lambda x, number: (x * x * x + 1, number))

        right = [one for one in arrangements.arrange_all(context) if one[0].form == "map"]
        return [*right, (wrong, build)]

    monkeypatch.setattr(measure, "arrange_all", arrange)
    cases = [case_of(one) for one in (CURRENT, wrong)]
    cases = [Case("cube", "numpy_function", "none", "forward", one.mode, "float32", 10) for one in cases]
    pipeline = {"plan_request": {**asked, **ASKED}}
    made = WarmGroups().prepare(
        {"cases": [one.id for one in cases], "pipeline": pipeline, "launch": 0, "seed": 0, "finite_differences": False},
        lambda event: None,
    )
    assert [(one["case"], one["status"]) for one in made["failures"]] == [(cases[1].id, "wrong")]
