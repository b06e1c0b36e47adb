"""Numbers as people read them: seconds with SI units, ratios, gains, intervals, sizes, bytes and percentages.

The only module that formats numbers for people. Three significant digits throughout, which is what a 95% interval of a
percent or so supports; `None`, NaN and numbers that do not exist are `MISSING`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, timezone

MISSING = "–"
UNBOUNDED = "∞"
SIGNIFICANT_DIGITS = 3
SMALLEST_FIXED_EXPONENT = -6  # below 1e-6 a number without exponent is a row of zeros
LARGEST_RATIO, LARGEST_SHARE = 10_000.0, 10.0
"""Beyond these a figure is not of an op but of an interval from two launches, and its digits mean nothing."""
TOO_NOISY = "too noisy to tell"
SHOWN_WITHIN = 2.0
"""If an interval reaches to more than so many times the estimate, and past the current time, the estimate is not shown:
it might even be off by a factor of two."""
FAR_SLOWER = 2.0
"""A variant that takes so many times the current time saves nothing, so its ratio is shown instead."""
SECOND_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTE_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
SIZE_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
SUSPECT = re.compile("[^ -~\n\t\u00a0]")


def number(value: float | None, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Format a plain number with `digits` significant digits, for example `0.0123`, `1.50` or `12,346`."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return UNBOUNDED if value > 0 else f"−{UNBOUNDED}"
    if value == 0:
        return "0"
    exponent = _exponent(value, digits)
    if exponent < SMALLEST_FIXED_EXPONENT:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def seconds(value: float | None) -> str:
    """Format a duration in seconds with an SI unit: `1.23 µs`."""
    return seconds_interval(value, None, None)


def seconds_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Format a duration and its interval, all in one unit: `1.23 µs (1.20–1.26)`, `1.23 µs (-1.20 to 3.66)`."""
    if value is None or math.isnan(value):
        return MISSING
    scale, unit = _second_unit(value)
    shown = f"{number(value / scale)} {unit}"
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return shown
    dash = " to " if low < 0 else "–"  # a dash before a minus would have to be read twice
    return f"{shown} ({number(low / scale)}{dash}{number(high / scale)})"


def ratio(value: float | None) -> str:
    """Format a ratio or a gain: `0.352×`, `6.20×`; beyond `LARGEST_RATIO` either way only that it is."""
    return MISSING if value is None or math.isnan(value) else f"{_capped(value)}×"


def ratio_interval(value: float | None, low: float | None, high: float | None) -> str:
    """Format a ratio and its interval: `0.352× (0.340–0.365)`; if it may be nothing and far more than 1, as noise."""
    if value is None or low is None or high is None or any(map(math.isnan, (value, low, high))):
        return ratio(value)
    least = 0.0 if low * LARGEST_RATIO < min(high, 1.0) else low
    if least == 0 and is_too_noisy(value, high):
        return TOO_NOISY
    return f"{ratio(value)} ({'–'.join(_capped(end) for end in (least, high))})"


def saved_at_least(saved: float | None, low: float | None) -> str:
    """Format a share of the current time that is saved with its lower bound, which no line break parts: `98% (≥ 96%)`.

    Too noisy values, and twice the time or more, have that instead: `none (8.6× the time)`.
    """
    if saved is None or low is None or math.isnan(saved) or math.isnan(low):
        return points_saved(saved)
    if is_too_noisy(1 - saved, 1 - low):
        return TOO_NOISY
    if 1 - saved >= FAR_SLOWER:
        return f"none\u00a0({ratio(1 - saved)}\u00a0the\u00a0time)"
    return f"{points_saved(saved)}\u00a0(≥\u00a0{points(low)})"


def points_saved(saved: float | None) -> str:
    """Format a saving as `points` do, at most 100%: noise can make it more if next to nothing is left."""
    return points(saved if saved is None else min(saved, 1.0))


def points(share: float | None) -> str:
    """Format a share of the current time in whole percent, below 10% with one digit more: `98%`, `3.2%`, `−12%`.

    What is saved is known to a point or so, and a share above `LARGEST_SHARE` either way only that it is.
    """
    if share is None or not math.isfinite(share) or abs(share) > LARGEST_SHARE:
        return percent(share)
    return percent(round(share, 2 if abs(share) >= 0.1 else 3)).replace("-", "−")


def is_too_noisy(time: float, high: float) -> bool:
    """Is an estimate, a share of the current time, too noisy to be shown, by the upper end of its interval?"""
    return high > max(SHOWN_WITHIN * time, 1.0)


def smallest_difference(share: float | None) -> str:
    """Format the smallest difference from the current time that could be found: `3.2%`; or that it is too noisy."""
    return TOO_NOISY if share is not None and is_too_noisy(1.0, 1.0 + share) else percent(share)


def percent(share: float | None) -> str:
    """Format a share of one as a percentage without trailing zeros: 0.03 is `3%`, 0.00012 is `0.012%`."""
    if share is None or not math.isfinite(share):
        return number(share)
    if abs(share) > LARGEST_SHARE:
        return f"{'<' if share < 0 else '>'} {math.copysign(LARGEST_SHARE * 100, share):,.0f}%"
    shown = number(share * 100)
    return (shown.rstrip("0").rstrip(".") if "." in shown and "e" not in shown else shown) + "%"


def size(value: float | None) -> str:
    """Format a count of elements: short where that is exact (`1k`, `2.5M`), in full otherwise (`1,024`)."""
    if value is None or not math.isfinite(value):
        return number(value)
    for scale, unit in SIZE_UNITS:
        if value >= scale and value * 10 % scale == 0:
            return f"{value / scale:,.1f}".removesuffix(".0") + unit
    return f"{value:,.0f}" if float(value).is_integer() else number(value)


def sized(low: float, unit: str, high: float | None = None) -> str:
    """Format a size, or a range of them, with what it counts, a plural: `1k rows`, `1 to 1k rows`, `size 1 (rows)`."""
    if low == 1 and high in (None, 1):
        return f"size 1 ({unit})"
    return f"{size(low) if high is None else size_range(low, high)} {unit}"


def size_range(low: float, high: float) -> str:
    """Format a range of sizes; a range of one size is that size."""
    return size(low) if low == high else f"{size(low)} to {size(high)}"


def byte_count(value: float | None) -> str:
    """Format a number of bytes with a binary unit: `24.0 GiB`."""
    if value is None or not math.isfinite(value):
        return number(value)
    for scale, unit in BYTE_UNITS:
        if value >= scale:
            return f"{number(value / scale)} {unit}"
    return f"{value:,.0f} B"


def count(n: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun: `1 case`, `1,200 cases`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def listing(words: Sequence[str], last: str = "and") -> str:
    """Join words as in a sentence: `a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def direction(name: str) -> str:
    """Spell a direction out: `forward_backward` is `forward + backward`."""
    return name.replace("_", " + ")


def shorten(words: str, characters: int) -> str:
    """Fold white space to single blanks and cut what goes beyond `characters`, marked by an ellipsis.

    A word that would be cut is left out, unless it is a quarter of the room.
    """
    folded = " ".join(words.split())
    if len(folded) <= characters:
        return folded
    shown = folded[: characters - 1]
    begun = "" if folded[characters - 1] == " " else shown.rpartition(" ")[2]
    if 4 * len(begun) < characters:
        shown = shown.removesuffix(begun)
    return shown.rstrip() + "…"


def _capped(value: float) -> str:
    """Format a ratio; beyond `LARGEST_RATIO`, or below one over it, say that and no digits, which mean nothing."""
    if math.isfinite(value) and value > LARGEST_RATIO:
        return f"> {number(LARGEST_RATIO)}"
    return f"< {1 / LARGEST_RATIO:.15g}" if 0 < value < 1 / LARGEST_RATIO else number(value)


def _exponent(value: float, digits: int) -> int:
    """Return the decimal exponent after rounding to `digits`: that of 9.996 is 1, because it is shown as 10.0."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _second_unit(value: float) -> tuple[float, str]:
    fitting = (unit for unit in SECOND_UNITS if abs(value) >= 0.9995 * unit[0])  # which is shown as 1.00
    return next(fitting, SECOND_UNITS[-1]) if value else SECOND_UNITS[0]


def duration(value: float) -> str:
    """Format a length of time that people wait for, in whole seconds: `45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(value)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def moment(value: str) -> str:
    """Format a date and time of ISO 8601 to the minute, in UTC: `2026-11-21 05:47 UTC`; what is none stays as it is."""
    try:
        found = datetime.fromisoformat(value)
        return f"{found.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC" if found.tzinfo else value
    except (ValueError, OverflowError):  # the latter in the first and the last year that there is
        return value


def printable(text: str) -> str:
    """Return text with escapes in place of what is no sign to be seen; lines and tabs stay."""
    return SUSPECT.sub(lambda found: found[0] if found[0].isprintable() else repr(found[0])[1:-1], text)
