"""JSON is of a type, or is refused with the place in it, what stands there, and what would be right."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from msgspec import UNSET, Meta, Struct, UnsetType

import stored
from pyopbench.model.errors import BadInput
from pyopbench.store.validation import converted, problem


class Row(Struct):
    size: int
    seconds: float | UnsetType = UNSET
    share: Annotated[float, Meta(ge=0, le=1)] = 0.0


class Document(Struct):
    name: str
    rows: list[Row]
    shares: dict[str, float | None]
    deep: dict[str, dict[str, list[int]]] = {}


class Named(Struct):
    name: str


VALUE = {"name": "sinh", "rows": [{"size": 1}, {"size": 2, "seconds": 0.5}], "shares": {"a": None, "b": 1}}


def test_what_is_of_the_type_is_returned_as_it_with_keys_that_it_does_not_have() -> None:
    assert problem({**VALUE, "more": [{}]}, Document) is None
    made = converted({**VALUE, "more": [{}]}, Document, "here")
    assert made == Document("sinh", [Row(1), Row(2, 0.5)], {"a": None, "b": 1.0})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": 1}, "name: expected str, got int: 1"),
        ({"name": None}, "name: expected str, got null"),
        ({"rows": {}}, "rows: expected array, got object: {}"),
        ({"rows": [{"size": 1}, {"seconds": 1}]}, "rows[1]: missing size"),
        ({"rows": [{"size": 1, "seconds": "1"}]}, "rows[0].seconds: expected float, got str: 1"),
        ({"rows": [{"size": 1.0}]}, "rows[0].size: expected int, got float: 1.0"),
        ({"rows": [{"size": True}]}, "rows[0].size: expected int, got bool: True"),
        ({"rows": [{"size": 1, "seconds": True}]}, "rows[0].seconds: expected float, got bool: True"),
        ({"rows": [{"size": 1, "share": 2}]}, "rows[0].share: expected float <= 1.0, got 2"),
        ({"shares": {"a": 1, "b": "x"}}, "shares.b: expected float | null, got str: x"),
        ({"shares": {"a.b": 1, "a/[3].c": "x"}}, "shares.a/[3].c: expected float | null, got str: x"),
        ({"shares": []}, "shares: expected object, got array: []"),
        ({"deep": {"a": {"b": [1]}, "c": {"d": [1], "e": [1, None]}}}, "deep.c.e[1]: expected int, got null"),
    ],
)
def test_the_first_departure_is_told_with_its_place(change: dict[str, Any], told: str) -> None:
    value = {**VALUE, **change}
    assert problem(value, Document) == told
    with pytest.raises(BadInput) as caught:
        converted(value, Document, "run.json")
    assert caught.value.received == f"run.json: {told}"
    assert "results/README.md" in str(caught.value.legal)


@pytest.mark.parametrize(
    ("value", "told"),
    [([], "expected object, got array: []"), (None, "expected object, got null"), ({"shares": {}}, "missing name")],
)
def test_what_is_no_such_object_at_all_is_told_without_a_place(value: object, told: str) -> None:
    assert problem(value, Document) == told


def test_what_is_told_of_a_long_value_is_short() -> None:
    told = f"name: expected str, got array: {str([*range(999)])[:80]}"
    assert problem({"name": [*range(999)]}, Named) == told


@given(value=stored.json_values)
def test_any_value_either_fits_or_is_told(value: Any) -> None:
    """What fits holds the keys that are asked for, in the types that are asked for."""
    fits = isinstance(value, dict) and isinstance(value.get("name"), str)
    assert (problem(value, Named) is None) == fits, json.dumps(value)
