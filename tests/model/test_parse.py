"""What people type: lists, sizes, durations, axes. Nothing that is typed ends in another error than BadInput."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput
from pyopbench.model.parse import (
    AXIS_FIELDS,
    LARGEST_SIZE,
    LONGEST_SECONDS,
    parse_axes,
    parse_duration,
    parse_fail_on,
    parse_shard,
    parse_share,
    parse_size,
    split,
    split_some,
)

texts = st.text(st.sampled_from("0123456789_.eEkMGsmhnaif+- ²,="), max_size=12)


@given(st.lists(st.lists(st.from_regex(r"[a-z_]{1,5}", fullmatch=True), max_size=4), max_size=4))
def test_comma_separated_and_repeated_values_are_the_same(groups: list[list[str]]) -> None:
    words = [word for group in groups for word in group]
    assert split(",".join(group) for group in groups) == split(words) == tuple(dict.fromkeys(words))


@given(st.integers(1, LARGEST_SIZE))
def test_a_size_is_read_as_python_writes_it(size: int) -> None:
    assert parse_size(str(size)) == size
    assert parse_size(f"{size:_}") == size


@pytest.mark.parametrize(
    ("text", "size"), [("1e3", 1000), ("1k", 1000), ("1.5k", 1500), ("2M", 2_000_000), ("1G", 10**9), (" 7 ", 7)]
)
def test_sizes_may_be_short(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("5m", 300.0), ("2h", 7200.0), ("0.5m", 30.0)]
)
def test_durations_have_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


REFUSED = [
    (parse_size, "0 -1 1.5 abc  e3 . _ 1e999 nan inf 1kk ² 0k"),
    (parse_duration, f"0 0s -5m 5minutes m  1e3 nan inf {'9' * 400} 1d"),
    (parse_share, " 0 0% 1 100% -3% 3%% x 3 nan 1e-2"),
    (parse_shard, " 3 0/4 5/4 -1/4 3/ 1/0 a/b 1/4/2 1.0/4"),
]


@pytest.mark.parametrize(("parse", "text"), [(parse, text) for parse, texts in REFUSED for text in texts.split(" ")])
def test_what_is_none_is_refused_with_what_is_one(parse: Callable[[str], Any], text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse(text)
    assert refused.value.received == repr(text)
    assert refused.value.legal
    assert refused.value.hint


@given(st.sampled_from([parse_size, parse_duration, parse_share]), texts)
def test_any_text_is_a_number_above_zero_or_refused(parse: Callable[[str], float], text: str) -> None:
    try:
        number = parse(text)
    except BadInput:
        return
    assert 0 < number <= max(LARGEST_SIZE, LONGEST_SECONDS)


@pytest.mark.parametrize("axis", sorted(set(AXIS_FIELDS) - {"size", "threads"}))
def test_every_axis_sets_its_field_and_no_other(axis: str) -> None:
    assert parse_axes([f"{axis}=one, two"]) == {AXIS_FIELDS[axis]: ("one", "two")}
    assert AXIS_FIELDS[axis] in Axes.__dataclass_fields__


@pytest.mark.parametrize("text", ["foo=1", "size", "size=", "=1", "", "size=,", "sizes=1"])
def test_what_is_no_axis_is_refused_with_the_axes_there_are(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_axes([text])
    assert caught.value.received == repr(text)
    assert all(name in str(caught.value.legal) for name in AXIS_FIELDS)


@given(st.lists(texts | st.sampled_from(["size=1", "mode=x", "size=0"]), max_size=3))
def test_any_texts_give_axes_or_are_refused(given_texts: list[str]) -> None:
    try:
        axes = parse_axes(given_texts)
    except BadInput:
        return
    assert all(isinstance(size, int) and size >= 1 for size in axes.get("sizes", ()))


@pytest.mark.parametrize("values", [[""], [" , "], ["", ""]])
def test_nothing_where_something_is_meant_is_refused(values: list[str]) -> None:
    """An unset variable of a script must not mean everything."""
    with pytest.raises(BadInput) as refused:
        split_some("ops", values)
    assert refused.value.received == "''"
    assert split_some("ops", ["sinh", *values]) == ("sinh",)


@pytest.mark.parametrize(("given", "share"), [("3%", 0.03), ("0.03", 0.03), ("12.5%", 0.125), (".5", 0.5)])
def test_shares(given: str, share: float) -> None:
    assert parse_share(given) == pytest.approx(share)


def test_an_axis_that_is_named_twice_has_the_values_of_both() -> None:
    assert parse_axes(["size=1e3", "dtype=float64", "size=1e3,10"]) == {"sizes": (1000, 10), "dtypes": ("float64",)}


def test_what_a_comparison_fails_on() -> None:
    assert parse_fail_on("slower", 0.03) == 0.03
    assert parse_fail_on("slower:5%", 0.03) == pytest.approx(0.05)
    assert parse_fail_on("slower:150%", 0.03) == 1.5
    assert parse_fail_on("slower:0.7", 0.03) == 0.7
    assert parse_fail_on("never", 0.03) is None


@pytest.mark.parametrize(
    "given", ["", "faster", "slower:", "slower:x", "never:3%", "slower:2%", "slower:-5%", "slower:0", "slower:5"]
)
def test_what_a_comparison_cannot_fail_on(given: str) -> None:
    with pytest.raises(BadInput):
        parse_fail_on(given, 0.03)


@pytest.mark.parametrize(("text", "shard"), [("3/40", (3, 40)), ("1/1", (1, 1)), (" 40/40 ", (40, 40))])
def test_a_shard_is_a_number_of_so_many(text: str, shard: tuple[int, int]) -> None:
    assert parse_shard(text) == shard
