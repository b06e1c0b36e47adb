"""A value departs from its shape at a place that is named, and in no other way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

import stored
from pyopbench.shapes import ANY, MAYBE_NUMBER, NUMBER, TEXT, TEXTS, TRUTH, WHOLE, Shape, departure

DOCUMENT: Shape = {"name": TEXT, "rows": [{"size": WHOLE, "seconds?": NUMBER}], "shares": {ANY: MAYBE_NUMBER}}
VALUE = {"name": "sinh", "rows": [{"size": 1}, {"size": 2, "seconds": 0.5}], "shares": {"a": None, "b": 1}}


def test_a_value_of_the_shape_departs_nowhere_with_keys_that_the_shape_does_not_name() -> None:
    assert departure(VALUE, DOCUMENT) is None
    assert departure({**VALUE, "more": [{}]}, DOCUMENT) is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": 1}, "name is not text: 1"),
        ({"rows": {}}, "rows is not a list: {}"),
        ({"rows": [{"size": 1}, {"seconds": 1}]}, "rows[1]: missing size"),
        ({"rows": [{"size": 1, "seconds": "1"}]}, "rows[0].seconds is not a whole number or a number: 1"),
        ({"rows": [{"size": 1.0}]}, "rows[0].size is not a whole number: 1.0"),
        ({"shares": {"a": 1, "b": "x"}}, "shares.b is not a whole number or a number or null: x"),
        ({"shares": []}, "shares is not an object: []"),
    ],
)
def test_the_first_departure_is_told_with_its_place(change: dict[str, Any], told: str) -> None:
    assert departure({**VALUE, **change}, DOCUMENT) == told


def test_what_is_missing_is_named_all_at_once() -> None:
    assert departure({"shares": {}}, DOCUMENT) == "missing name, rows"


@pytest.mark.parametrize(("value", "shape"), [(True, WHOLE), (True, NUMBER), (1, TRUTH), (None, TEXT)])
def test_a_truth_is_no_number_and_nothing_is_no_text(value: object, shape: Shape) -> None:
    """Python counts True among the whole numbers; JSON does not."""
    assert departure(value, shape) is not None


def test_what_is_told_of_a_long_value_is_short() -> None:
    assert (
        departure({"names": ["x", list(range(999))]}, {"names": TEXTS})
        == f"names[1] is not text: {str([*range(999)])[:80]}"
    )


@given(value=stored.json_values)
def test_any_value_either_fits_or_is_told(value: Any) -> None:
    """What fits holds the keys that are asked for, in the types that are asked for."""
    told = departure(value, {"name": TEXT})
    fits = isinstance(value, dict) and isinstance(value.get("name"), str)
    assert (told is None) == fits, json.dumps(value)
