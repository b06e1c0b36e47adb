"""JSON is read strictly: it is of its type, or refused with the place in it and what stands there."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from msgspec import Meta, Struct

import stored
from pyopbench.model.errors import BadInput
from pyopbench.store.strict_json import DEEPEST, convert, decode, parse, problem, storable


@pytest.mark.parametrize("content", [b"NaN", b"[-Infinity]", b"1e999", b'{"a": -1e400}', b"", b"{", b"\xff"])
def test_what_no_json_can_hold_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of Python's parser, or of what it leaves to pyopbench
        parse(content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' is there twice"),
        (b"[" + b"1" * 400 + b"]", "too large a number"),
        (b'{"a": -9223372036854775808}', "too large a number"),
        (b'["\\ud800"]', "half of a surrogate pair"),
        (b'{"\\udcff": 1}', "half of a surrogate pair"),
        (b'["\xed\xa0\x80"]', "invalid"),
        (b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1), "levels"),
        (b'{"a":' * (DEEPEST + 1) + b"1" + b"}" * (DEEPEST + 1), "levels"),
        (b"\xef\xbb\xbf{}", "BOM"),
        ("{}".encode("utf-16"), "invalid start byte"),
    ],
)
def test_what_pythons_parser_takes_beyond_that_is_refused_too(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse(content)


def test_brackets_without_end_are_refused() -> None:
    with pytest.raises((ValueError, RecursionError)):
        parse(b"[" * 100_000)


def test_everything_else_is_read_as_it_is() -> None:
    value = {"a": [1, -1.5, True, None, "caf\u00e9 \U0001f600 [[[["], "b": {"c": 2**62, "d": -(2**62)}}
    assert parse(json.dumps(value).encode()) == value
    deepest = b"[" * DEEPEST + b"]" * DEEPEST
    assert json.dumps(parse(deepest)).encode() == deepest


def test_asv_may_write_nan() -> None:
    assert str(parse(b"[NaN, 1e999]", allow_nan=True)) == "[nan, inf]"


def test_a_file_name_that_is_no_utf_8_can_be_stored_and_read_again() -> None:
    """It gets into commands and messages as halves of surrogate pairs."""
    told = storable({"caf\udce9": ["caf\udce9", 1, {"a": ("caf\u00e9\udce9",)}]})
    assert told == {"caf\\udce9": ["caf\\udce9", 1, {"a": ["caf\u00e9\\udce9"]}]}
    assert parse(json.dumps(told).encode()) == told


# As types


class Row(Struct):
    size: int
    seconds: float | None = None
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
    made = convert({**VALUE, "more": [{}]}, Document, "here")
    assert made == Document("sinh", [Row(1), Row(2, 0.5)], {"a": None, "b": 1.0})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": 1}, "name: expected str, got int: 1"),
        ({"name": None}, "name: expected str, got null"),
        ({"rows": {}}, "rows: expected array, got object: {}"),
        ({"rows": [{"size": 1}, {"seconds": 1}]}, "rows[1]: missing size"),
        ({"rows": [{"size": 1, "seconds": "1"}]}, "rows[0].seconds: expected float | null, got str: 1"),
        ({"rows": [{"size": 1.0}]}, "rows[0].size: expected int, got float: 1.0"),
        ({"rows": [{"size": True}]}, "rows[0].size: expected int, got bool: True"),
        ({"rows": [{"size": 1, "seconds": True}]}, "rows[0].seconds: expected float | null, got bool: True"),
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
        convert(value, Document, "run.json")
    assert caught.value.received == f"run.json: {told}"
    assert "results/README.md" in caught.value.hint


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


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"{", "here: not JSON"), (b'{"name": "a", "name": "b"}', "here: not JSON"), (b'{"name": 1}', "here: name: ")],
)
def test_bytes_become_the_type_or_are_refused_with_their_place(content: bytes, told: str) -> None:
    assert decode(b'{"name": "sinh"}', Named, "here") == Named("sinh")
    assert str(stored.refusal(lambda: decode(content, Named, "here"))).startswith(told)
