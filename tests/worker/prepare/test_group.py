"""A group is prepared once for each runner, and its current callback tells how many copies its graphs hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.worker.prepare import node_graph, prepare
from pyopbench.worker.prepare.prepare import Asked, prepare_group
from small_ops import case_of, put_in_place, square

SECONDS = {"empty_graph": 50e-6, "py_function_numpy": 124e-6, "numpy_function": 90e-6, "py_func": 126e-6}
"""On the clock of the tests, of a call of a graph of one copy; 124 us want 4 copies, 126 us want 2."""


@pytest.fixture(autouse=True)
def op(monkeypatch: pytest.MonkeyPatch) -> Iterator[Op]:
    made = square()
    put_in_place(monkeypatch, made)
    monkeypatch.setattr(prepare, "call_seconds", lambda one: SECONDS[one.case.variant])
    monkeypatch.setattr(node_graph, "shortest_call", lambda call: 1e-6)
    yield made
    node_graph.use_grappler(enabled=True)


def cases_of(*variants: str) -> list[Case]:
    return [case_of(variant, mode="node") for variant in variants]


def copies_in(cases: list[Case], asked: Asked | None = None) -> dict[str, tuple[int, ...]]:
    found = prepare_group(cases, asked or Asked())
    return {
        runner.split("/")[0]: tuple(one.copies for one in made)
        for runner, made in found.items()
        if not isinstance(made, Exception)
    }


def test_the_current_callback_comes_first_and_tells_the_copies_of_all() -> None:
    seen: list[str] = []
    cases = cases_of("native", "numpy_alone", "py_func", "py_function_numpy", "empty_graph")
    copies = copies_in(cases, Asked(at=lambda case: seen.append(case.variant)))
    graphs = {"empty_graph": (0,), "py_function_numpy": (1, 2), "native": (4,), "numpy_alone": (1,), "py_func": (1, 2)}
    assert copies == graphs
    assert seen == ["empty_graph", "py_function_numpy", "py_function_numpy", "native", "numpy_alone", "py_func"]


def test_a_twin_has_the_graphs_of_what_it_is() -> None:
    """What is identical has to be told by the same graph."""
    twins = cases_of("native", "native_twin", "numpy_function", "numpy_function_twin", "empty_graph")
    copies = copies_in(twins, Asked(copies=8))
    assert copies["numpy_function"] == copies["numpy_function_twin"] == (1, 2)
    assert copies["native"] == copies["native_twin"] == (8,)


def test_without_the_current_callback_the_dearest_tells_it() -> None:
    copies = copies_in(cases_of("native", "numpy_function", "py_func", "empty_graph"))
    assert copies == {"empty_graph": (0,), "numpy_function": (1, 2), "py_func": (1, 2), "native": (2,)}


def test_without_any_callback_it_is_the_usual_number() -> None:
    assert copies_in(cases_of("native", "empty_graph")) == {"native": (8,), "empty_graph": (0,)}


def test_without_what_further_ones_cost_callbacks_have_one_graph() -> None:
    cases = cases_of("py_function_numpy", "numpy_function", "native", "empty_graph")
    copies = copies_in(cases, Asked(further=False))
    assert {name: copies[name] for name in ("py_function_numpy", "numpy_function")} == {
        "py_function_numpy": (1,),
        "numpy_function": (1,),
    }
    assert copies["native"] == copies_in(cases)["native"]


def test_what_is_wrong_stands_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, square(tensor=lambda x: x * 1.5))
    found = prepare_group(cases_of("native", "numpy_function", "empty_graph"), Asked())
    assert isinstance(found["native/none"], WrongResult)
    assert [one.copies for one in found["numpy_function/none"]] == [1, 2]  # type: ignore[union-attr]


def test_memory_that_is_not_there_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(x: object) -> object:
        raise MemoryError

    put_in_place(monkeypatch, square(tensor=too_large))
    seen: list[str] = []
    with pytest.raises(MemoryError):
        prepare_group(cases_of("native", "numpy_function"), Asked(copies=1, at=lambda case: seen.append(case.variant)))
    assert seen == ["native"]


def test_two_directions_of_a_case_are_prepared_once() -> None:
    both = [case_of("native", "autodiff", direction=direction) for direction in ("backward", "forward_backward")]
    seen: list[str] = []
    found = prepare_group(both, Asked(at=lambda case: seen.append(case.direction)))
    assert (list(found), seen) == (["native/autodiff"], ["backward"])
    assert replace(both[0], direction="forward_backward").runner == "native/autodiff"
