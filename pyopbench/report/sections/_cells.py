"""Cells that a page sorts and filters by what they stand for, whatever their text is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyopbench.model import formatting
from pyopbench.model.label import Label
from pyopbench.report.sections import Cell, Tone


def variant(label: str) -> Cell:
    """Return the cell of a label, which a page filters by its variant."""
    return Cell(label, field="variant", value=Label.parse(label).variant)


def direction(name: str) -> Cell:
    """Return the cell of a direction."""
    return place("direction", formatting.direction(name))


def place(field: str, name: str) -> Cell:
    """Return the cell of a mode, a dtype or a placement, or of what else a page filters by."""
    return Cell(name, field=field, value=name)


def seconds(value: float | None) -> Cell:
    """Return the cell of a duration."""
    return Cell(formatting.seconds(value), number=value)


def seconds_interval(value: float | None, low: float | None, high: float | None, *, too_noisy: bool = False) -> Cell:
    """Return the cell of a duration and its interval, sorted by the duration; what is too noisy is not a number."""
    if too_noisy:
        return Cell(formatting.TOO_NOISY, "muted")
    return Cell(formatting.seconds_interval(value, low, high), number=value)


def cost(row: Mapping[str, Any]) -> Cell:
    """Return the cell of what a row of `latencies.latency_table` costs."""
    return seconds_interval(row["seconds"], row["low"], row["high"], too_noisy=bool(row["too_noisy"]))


def saved(share: float | None, low: float | None) -> Cell:
    """Return the cell of a share of the current time that is saved and its lower bound, sorted by the share."""
    return Cell(formatting.saved_at_least(share, low), number=share)


def percent(share: float | None, tone: Tone = "") -> Cell:
    """Return the cell of a share of one."""
    return Cell(formatting.percent(share), tone, number=share)


def number(value: float | None, tone: Tone = "") -> Cell:
    """Return the cell of a plain number."""
    return Cell(formatting.number(value), tone, number=value)


def count(n: int) -> Cell:
    """Return the cell of a count."""
    return Cell(f"{n:,}", number=n)


def size(value: float) -> Cell:
    """Return the cell of a size."""
    return Cell(formatting.size(value), number=value)


def sized(value: float, unit: str) -> Cell:
    """Return the cell of a size with what it counts."""
    return Cell(formatting.sized(value, unit), number=value)


def byte_count(value: float | None, per: str = "") -> Cell:
    """Return the cell of a number of bytes; `per` follows it, such as `/s`."""
    return Cell(formatting.byte_count(value) + per, number=value)
