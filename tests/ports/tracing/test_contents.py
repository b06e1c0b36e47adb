"""Places that lead to a list are counted, also through tuples, functions and objects; each list's own places once."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pyopbench.ports.tracing.contents import count_references, held_by


def around(value: Any) -> Callable[[], Any]:
    return lambda: value


def test_every_place_counts_and_what_is_in_a_list_counts_once() -> None:
    inner: list[Any] = []
    outer = [inner, inner]
    found = count_references([(outer, 2), ((outer, inner), 1)])
    assert (found[id(outer)], found[id(inner)]) == (3, 3)


def test_functions_lead_to_what_is_around_them_and_methods_to_their_object() -> None:
    held: list[Any] = []
    assert held_by(around(held)) == [held]
    assert held_by(held.append) == [held]
    found = count_references([(around(held), 1), (SimpleNamespace(field=held), 1), (len, 1)])
    assert found[id(held)] == 2


def test_a_list_in_itself_comes_to_an_end() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert count_references([(loop, 1)])[id(loop)] == 2
