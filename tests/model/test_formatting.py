"""Numbers for people."""

from __future__ import annotations

import math

import pytest

from pyopbench.model import formatting
from pyopbench.model.formatting import printable


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (0.012345, "0.0123"),
        (1.5, "1.50"),
        (9.996, "10.0"),
        (99.95, "100"),
        (12345.6, "12,346"),
        (-2.5, "-2.50"),
        (1.234e-9, "1.23e-09"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_number(value, shown):
    assert formatting.number(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.2345, "1.23 s"),
        (150, "150 s"),
        (0.0123, "12.3 ms"),
        (999.6e-6, "1.00 ms"),
        (999.4e-6, "999 µs"),
        (4.1e-8, "41.0 ns"),
        (4.1e-10, "0.410 ns"),
        (0.0, "0 s"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_seconds(value, shown):
    assert formatting.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (1.23e-6, 1.2e-6, 1.26e-6, "1.23 µs (1.20–1.26)"),
        (1.05e-3, 0.95e-3, 1.16e-3, "1.05 ms (0.950–1.16)"),
        (1.23e-6, -1.2e-6, 3.66e-6, "1.23 µs (-1.20 to 3.66)"),
        (1.05e-3, math.nan, math.nan, "1.05 ms"),
        (1.05e-3, None, None, "1.05 ms"),
        (math.nan, 1.0, 2.0, "–"),
    ],
)
def test_seconds_interval_stays_in_one_unit(value, low, high, shown):
    assert formatting.seconds_interval(value, low, high) == shown


def test_ratios():
    assert formatting.ratio(0.3519) == "0.352×"
    assert formatting.ratio(None) == "–"
    assert formatting.ratio_interval(0.352, 0.34, 0.365) == "0.352× (0.340–0.365)"
    assert formatting.ratio_interval(0.352, math.nan, math.nan) == "0.352×"


def test_what_is_saved_is_not_parted_from_its_bound():
    assert formatting.saved_at_least(0.98, 0.961).split(" ") == ["98%\u00a0(≥\u00a096%)"]
    assert formatting.saved_at_least(0.98, None) == "98%"
    assert formatting.saved_at_least(None, 0.96) == "–"
    assert [formatting.points_saved(one) for one in (0.99, 1.04, math.nan, None)] == ["99%", "100%", "–", "–"]


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.984, "98%"), (1.0, "100%"), (0.1, "10%"), (0.0994, "9.9%"), (0.032, "3.2%"), (0.03, "3%"), (-0.12, "−12%"),
     (-0.0321, "−3.2%"), (0.0, "0%"), (-0.0001, "0%"), (-12.0, "< -1,000%"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_points_are_whole_percent_and_one_digit_below_ten(share: float | None, shown: str) -> None:
    assert formatting.points(share) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.03, "3%"), (0.025, "2.5%"), (0.00012, "0.012%"), (1.0, "100%"), (0.1, "10%"), (0.0, "0%"), (None, "–"),
     (1e-12, "1.00e-10%")],
)  # fmt: skip
def test_percent(share, shown):
    assert formatting.percent(share) == shown


@pytest.mark.parametrize(
    ("n", "shown"),
    [(1, "1"), (999, "999"), (1000, "1k"), (1024, "1,024"), (1500, "1.5k"), (31_623, "31,623"), (10**6, "1M"),
     (2_500_000, "2.5M"), (999_999, "999,999"), (10**9, "1G"), (10**13, "10,000G"), (12.5, "12.5")],
)  # fmt: skip
def test_size(n, shown):
    assert formatting.size(n) == shown


def test_bytes_counts_and_words():
    assert formatting.byte_count(24 * 2**30) == "24.0 GiB"
    assert formatting.byte_count(1536) == "1.50 KiB"
    assert formatting.byte_count(12) == "12 B"
    assert formatting.byte_count(None) == "–"
    assert formatting.count(1, "case") == "1 case"
    assert formatting.count(1200, "launch", "launches") == "1,200 launches"
    assert [formatting.listing(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert formatting.direction("forward_backward") == "forward + backward"
    assert formatting.shorten("a\n b   c", 99) == "a b c"
    assert formatting.shorten("abcdef", 4) == "abc…"
    assert formatting.shorten("what is to be told", 16) == "what is to be…"
    assert formatting.shorten("what is to be told", 14) == "what is to be…"
    assert formatting.shorten("whatistobetold", 9) == "whatisto…"


@pytest.mark.parametrize(
    ("low", "unit", "high", "shown"),
    [
        (1, "boxes", None, "size 1 (boxes)"),
        (1, "elements", 1, "size 1 (elements)"),
        (1, "elements", 1_000, "1 to 1k elements"),
        (1_000, "boxes", None, "1k boxes"),
    ],
)
def test_one_of_a_kind_is_no_plural(low, unit, high, shown):
    assert formatting.sized(low, unit, high) == shown


def test_figures_that_mean_nothing_are_capped():
    assert (formatting.ratio(2.5e9), formatting.ratio(1e-9), formatting.ratio(9_000.0)) == (
        "> 10,000×",
        "< 0.0001×",
        "9,000×",
    )
    assert formatting.ratio_interval(2.0, 1e-12, 1e15) == formatting.TOO_NOISY
    assert formatting.ratio_interval(0.42, 0.0, 1.4) == formatting.TOO_NOISY
    assert formatting.ratio_interval(0.014, 0.0, 0.0312) == "0.0140× (0–0.0312)", "which is known to be little"
    assert (formatting.percent(82.9), formatting.percent(-82.9), formatting.percent(9.99)) == (
        "> 1,000%",
        "< -1,000%",
        "999%",
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2030-01-02T03:04:59+00:00", "2030-01-02 03:04 UTC"),
        ("2030-01-02T03:04:59+05:30", "2030-01-01 21:34 UTC"),
        ("2030-01-02T03:04:59", "2030-01-02T03:04:59"),
        ("an unknown day", "an unknown day"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00+05:00"),
        ("", ""),
    ],
)
def test_a_moment_is_told_to_the_minute_in_utc(value, expected):
    assert formatting.moment(value) == expected


@pytest.mark.parametrize(
    ("saved", "low", "shown"),
    [
        (0.0, -1.5, "too noisy to tell"),
        (0.5, -0.2, "too noisy to tell"),
        (0.99, -0.1, "too noisy to tell"),
        (0.99, 0.9, "99%\u00a0(≥\u00a090%)"),
        (0.05, -0.02, "5%\u00a0(≥\u00a0−2%)"),
        (-0.9, -1.1, "−90%\u00a0(≥\u00a0−110%)"),
        (-4.0, -4.3, "none\u00a0(5.00×\u00a0the\u00a0time)"),
    ],
)
def test_a_lower_bound_that_tells_nothing_is_not_printed(saved: float, low: float, shown: str) -> None:
    assert formatting.saved_at_least(saved, low) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.032, "3.2%"), (1.0, "100%"), (3.89, "too noisy to tell"), (None, "–"), (math.inf, "too noisy to tell")],
)
def test_a_difference_beyond_a_doubling_is_too_noisy_to_tell(share: float | None, shown: str) -> None:
    assert formatting.smallest_difference(share) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("a\rb", r"a\rb"),
        ("\udcff", r"\udcff"),
        ("\ufeff\u200b", r"\ufeff\u200b"),
        ("a\tb\nc", "a\tb\nc"),
        ("Größe \N{GREEK SMALL LETTER ALPHA} \N{GRINNING FACE} → 1\N{NO-BREAK SPACE}000", None),
    ],
)
def test_what_is_no_sign_is_shown_as_its_escape(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)
