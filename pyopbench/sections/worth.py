"""What a port is worth in a step of the user's program: shares, hours, and the end that Amdahl's law puts to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench import text
from pyopbench.sections import Block, Bullets, Paragraph, Section, Table
from pyopbench.sections._places import FIELDS, Places, places_of
from pyopbench.step_savings import Port, Step, Worth, best

if TYPE_CHECKING:
    from pyopbench.decide import Judgement

LEAST_GAIN = 0.1
"""A lower end below it, where a port might take ten times as long as today, says that too few launches were made."""

COLUMNS = ("share of the step afterwards", "the step gets faster by", "hours saved per million steps")


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what each candidate leaves of the op's share of a step; nothing where no step was given."""
    if judgement.step is None or not judgement.worths:
        return ()
    places = places_of(judgement)
    return (
        Paragraph(_what_was_given(judgement.step)),
        Bullets(tuple(sentence(worth, places) for worth in judgement.worths)),
        table(judgement, places),
        Paragraph(
            "In brackets: the lower end of the interval (95%, corrected as in the decisions). Hours count one process "
            "at a time, with the calls one after another in the step; calls that overlap with other work save less."
        ),
    )


def table(judgement: Judgement, places: Places) -> Table:
    """Return a row for every candidate of every op."""
    rows = tuple(
        (*_head(worth, places), port.label, *_cells(port)) for worth in judgement.worths for port in worth.ports
    )
    return Table(("op", "use", *places.varying, "port", *COLUMNS), rows, "What each port leaves", headings=2)


def sentence(worth: Worth, places: Places) -> str:
    """Say which share the op has, how far any port could get, and what the surest one saves."""
    name = ", ".join(_head(worth, places))
    takes = f"{name}: {text.seconds(worth.call_seconds)} a call today, {text.percent(worth.share)} of the step"
    if worth.share >= 1:
        return f"{takes}: more than there is, so calls overlap, or the step or the calls are not those of this machine."
    ceiling = f"if it cost nothing at all, the step would be {text.ratio(worth.ceiling)} as fast, and no port does more"
    surest = best(worth.ports)
    if surest is None:
        return f"{takes}; {ceiling}. No port saves time for sure."
    saved = f"{surest.label} saves at least {text.number(surest.hours_low)} hours per million steps"
    return f"{takes}; {ceiling}. {saved}."


def _what_was_given(step: Step) -> str:
    calls = f"{text.number(step.calls)} {'call' if step.calls == 1 else 'calls'}"
    return (
        f"For a step of {text.seconds(step.seconds)} with {calls} of the op, as they were given. What is not the op "
        "stays as it is (Amdahl's law), so the op's share of the step is all that a port can save."
    )


def _head(worth: Worth, places: Places) -> tuple[str, ...]:
    return (worth.op, worth.use, *places.of({field: getattr(worth, field) for field in FIELDS}))


def _cells(port: Port) -> tuple[str, ...]:
    return (
        f"{text.percent(port.share)} ({text.percent(_low(port, port.share_low))})",
        f"{text.ratio(_finite(port.speed_up))} ({text.ratio(_low(port, port.speed_up_low))})",
        f"{text.number(port.hours)} ({text.number(_low(port, port.hours_low))})",
    )


def _low(port: Port, value: float) -> float | None:
    return _finite(value) if port.gain_low >= LEAST_GAIN else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


SECTION = Section("worth", "What a port is worth", 15, build, build)
