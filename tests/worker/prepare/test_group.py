"""A group is prepared once for each runner, and its current callback tells how many copies its graphs hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from pyopbench.model.case import Case
from pyopbench.model.op import Op
from pyopbench.worker.prepare import node_graph, prepare
from pyopbench.worker.prepare.prepare import OutOfMemory, Prepared, prepare_group
from small_ops import case_of, put_in_place, square

SECONDS = {"empty_graph": 50e-6, "py_function_numpy": 124e-6, "numpy_function": 90e-6, "py_func": 126e-6}
"""Of a call of a graph of one copy; 124 us want 4 copies, 126 us want 2."""


@pytest.fixture(autouse=True)
def op(monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    made = square()
    put_in_place(monkeypatch, made)
    real = prepare.prepare

    def prepare_timed(case: Case, **options: Any) -> Prepared:
        return replace(real(case, **options), call_seconds=SECONDS.get(case.variant, 1e-6))

    monkeypatch.setattr(prepare, "prepare", prepare_timed)
    monkeypatch.setattr(node_graph, "shortest_call", lambda call: 1e-6)
    yield made
    node_graph.use_grappler(enabled=True)


def cases_of(*variants: str) -> list[Case]:
    return [case_of(variant, mode="node") for variant in variants]


def copies_in(cases: list[Case], **options: Any) -> dict[str, int]:
    runners = prepare_group(cases, **options)
    return {runner.split("/")[0]: one.copies for runner, one in runners.items() if isinstance(one, Prepared)}


def test_the_current_callback_comes_first_and_decides_the_copies_of_all() -> None:
    seen: list[str] = []
    cases = cases_of("native", "numpy_alone", "py_func", "py_function_numpy", "empty_graph")
    copies = copies_in(cases, at=lambda case: seen.append(case.variant))
    assert copies == {"empty_graph": 0, "py_function_numpy": 1, "native": 4, "numpy_alone": 1, "py_func": 1}
    callbacks_first = ["py_function_numpy", "native", "numpy_alone", "py_func"]
    assert [variant for variant in seen if variant != "empty_graph"][-4:] == callbacks_first


def test_a_twin_has_the_graphs_of_what_it_is() -> None:
    twins = cases_of("native", "native_twin", "py_function_numpy", "numpy_function", "numpy_function_twin")
    copies = copies_in(twins)
    assert copies["numpy_function"] == copies["numpy_function_twin"] == 1
    assert copies["native"] == copies["native_twin"] == 4


def test_without_the_current_callback_the_slowest_one_decides() -> None:
    copies = copies_in(cases_of("native", "numpy_function", "py_func", "empty_graph"))
    assert copies == {"empty_graph": 0, "numpy_function": 1, "py_func": 1, "native": 2}


def test_memory_that_is_not_there_ends_it_with_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(x: object) -> object:
        raise MemoryError

    put_in_place(monkeypatch, square(tensor=too_large))
    with pytest.raises(OutOfMemory) as error:
        prepare_group(cases_of("native", "numpy_function"))
    assert error.value.case == cases_of("native")[0].id
