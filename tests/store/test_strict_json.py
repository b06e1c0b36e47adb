"""What no other reader of JSON takes, or what takes a later step by surprise, is refused while it is parsed."""

from __future__ import annotations

import json

import pytest

from pyopbench.store.strict_json import DEEPEST, parse, storable


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


def test_what_the_caller_checks_is_left_to_it() -> None:
    assert parse(b'{"samples": [1e999]}', checked_later=("samples",)) == {"samples": [float("inf")]}
    with pytest.raises(ValueError, match="too large"):
        parse(b'{"samples": [], "other": 1e999}', checked_later=("samples",))


def test_asv_may_write_nan() -> None:
    assert str(parse(b"[NaN, 1e999]", allow_nan=True)) == "[nan, inf]"


def test_a_file_name_that_is_no_utf_8_can_be_stored_and_read_again() -> None:
    """It gets into commands and messages as halves of surrogate pairs."""
    told = storable({"caf\udce9": ["caf\udce9", 1, {"a": ("caf\u00e9\udce9",)}]})
    assert told == {"caf\\udce9": ["caf\\udce9", 1, {"a": ["caf\u00e9\\udce9"]}]}
    assert parse(json.dumps(told).encode()) == told
