"""Arrangements are prepared by a worker: the current callback first, what could not be chosen not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.case import BASELINE, Case
from pyopbench.model.errors import Unsupported
from pyopbench.worker.group import WarmGroups
from pyopbench.worker.pipeline import measure
from pyopbench.worker.pipeline.measure import describe_pipelines, prepare_pipelines

CURRENT = Arrangement("map", "keep", "ds.map(f)")
BATCH = Arrangement("batch_body", "batch", "ds.batch(32).map(f)", batch=32)
PORT = Arrangement("port", "port", "ds.map(native)", AUTOTUNE, 0, "native", 4.0)
TRIED = Arrangement("port", "port", "ds.map(traced)", AUTOTUNE, 0, "traced", 2.0, is_attempt=True)
ALL = (TRIED, BATCH, PORT, CURRENT)
ASKED: dict[str, Any] = {"budget_seconds": 75.0, "minimum_effect": 0.03, "step_seconds": 0.0}


def case_of(one: Arrangement) -> Case:
    return Case("sinh", one.variant or BASELINE, "none", "forward", f"pipeline:{one.key}", "float32", 10)


@dataclass
class FakeSource:
    """Stands for a pipeline whose elements take a known time."""

    seconds_per_element: float
    largest_error: float = 0.0


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what prepares arrangements whose elements take known times, and all cases that were begun with."""

    def prepare(
        seconds: Mapping[str, float], asked: Mapping[str, Any] | None = None, known: Any = None, bad: str = ""
    ) -> tuple[dict[str, Any], list[str]]:
        begun: list[str] = []

        def source(key: str, *_: Any) -> FakeSource:
            if key == bad:
                raise ValueError("no")
            return FakeSource(seconds[key])

        op = SimpleNamespace(own=None)
        context = SimpleNamespace(elements=SimpleNamespace(op=op))
        monkeypatch.setattr(measure, "_context_of", lambda asked: context)
        monkeypatch.setattr(measure, "arrange_all", lambda context: [(one, lambda context: None) for one in ALL])
        monkeypatch.setattr(measure, "_source_of", source)
        request = {"plan_request": {**ASKED, **(asked or {})}, "known": known or {}}
        found = prepare_pipelines(list(map(case_of, ALL)), request, lambda case: begun.append(case.arrangement))
        return {case_of(one).arrangement: found.get(case_of(one).runner) for one in ALL}, begun

    return prepare


ALIKE = {one.key: 1e-4 for one in ALL}


def test_the_current_callback_comes_first_and_what_is_only_tried_last(prepared: Any) -> None:
    _, begun = prepared(ALIKE)
    assert begun == [CURRENT.key, CURRENT.key, BATCH.key, PORT.key, TRIED.key], (
        "before anything is made of the body, too"
    )


@pytest.mark.parametrize(
    ("current", "asked", "is_tried"),
    [
        (5e-3, {}, True),  # a batch leaves 4% of the time: a port could save more than the smallest effect of it
        (1e-2, {}, False),
        (1e-2, {"minimum_effect": 0.01}, True),
        (1e-2, {"step_seconds": 2e-4}, False),  # the batch hides behind the step, and the current does not
        (1e-2, {"step_seconds": 5e-2}, False),  # the current callback hides behind it
    ],
)
def test_a_port_that_nobody_wrote_is_tried_only_where_it_could_be_chosen(
    prepared: Any, current: float, asked: dict[str, float], is_tried: bool
) -> None:
    found, begun = prepared({CURRENT.key: current, BATCH.key: 2e-4, PORT.key: 1e-6, TRIED.key: 1e-6}, asked)
    assert (TRIED.key in begun) == is_tried
    assert isinstance(found[TRIED.key], Unsupported) != is_tried
    assert isinstance(found[PORT.key], FakeSource), "somebody wrote it"


def test_another_worker_prepares_what_the_first_has_without_asking_again(prepared: Any) -> None:
    seconds = {CURRENT.key: 1e-2, BATCH.key: 2e-4, PORT.key: 1e-6, TRIED.key: 1e-6}
    found, _ = prepared(seconds, known=seconds)
    assert all(isinstance(one, FakeSource) for one in found.values())


def test_what_there_is_no_time_for_is_left_out_and_the_current_callback_never(prepared: Any) -> None:
    found, begun = prepared(ALIKE, {"budget_seconds": -1.0})
    assert begun == [CURRENT.key] * 2
    assert {key for key, one in found.items() if isinstance(one, Unsupported)} == {*ALIKE} - {CURRENT.key}


def test_an_arrangement_that_raises_costs_itself_and_the_current_callback_all(prepared: Any) -> None:
    found, _ = prepared(ALIKE, bad=BATCH.key)
    assert [key for key, one in found.items() if isinstance(one, ValueError)] == [BATCH.key]
    assert isinstance(found[PORT.key], FakeSource)
    found, begun = prepared(ALIKE, bad=CURRENT.key)
    assert isinstance(found.pop(CURRENT.key), ValueError)
    assert {*found.values()} == {None}
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
    pipeline = {"plan_request": plan, "known": {}}
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

        right = measure.FORMS["map"](context)
        return [*right, (wrong, build)]

    monkeypatch.setattr(measure, "arrange_all", arrange)
    cases = [case_of(one) for one in (CURRENT, wrong)]
    cases = [Case("cube", "numpy_function", "none", "forward", one.mode, "float32", 10) for one in cases]
    pipeline = {"plan_request": {**asked, **ASKED}, "known": {}}
    made = WarmGroups().prepare(
        {"cases": [one.id for one in cases], "pipeline": pipeline, "launch": 0, "seed": 0, "finite_differences": False},
        lambda event: None,
    )
    assert [(one["case"], one["status"]) for one in made["failures"]] == [(cases[1].id, "wrong")]
