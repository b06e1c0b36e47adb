"""The report of an op in an input pipeline: as a table and sentences, and as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from msgspec import to_builtins

from pyopbench.judge import pipeline as wording
from pyopbench.judge.findings import finite
from pyopbench.judge.pipeline import PipelineJudgement, Throughput
from pyopbench.model import formatting
from pyopbench.model.case import Case

DECISION = "pipeline-decision.json"
"""The file with what `as_data` returns."""
OF_FAILURE = ("status", "reason", "launch")
COLUMNS = ("arrangement", "elements/s", "interval", "times current")


@dataclass(frozen=True)
class PipelineReport:
    """What is shown of a judgement, the same in every output.

    Attributes:
        title: of the table.
        columns, rows: of the table, the quickest arrangement first.
        answer: what to do.
        sentences: why, and what else there is to know.
        left_out: what has no number, and why: a reason, and the arrangements that it holds for.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    answer: str
    sentences: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def report_of(judgement: PipelineJudgement) -> PipelineReport:
    """Return the report of a judgement."""
    rows, current = judgement.rows, judgement.rows.current
    size = formatting.sized(current.size, rows.size_unit)
    body = formatting.seconds(rows.plan.body_seconds)
    place = "alone in tf.data" if judgement.program is None else f"in {judgement.program.name}"
    title = f"{current.op} {place} ({size}, {current.dtype}, body alone {body})"
    chosen = judgement.chosen
    sentences = [
        wording.measured_text(judgement),
        judgement.why_text(),
        judgement.file_text(),
        judgement.loss_text(),
        judgement.as_good_text(),
        judgement.step_text(),
        chosen.pool_text() if chosen is not None and chosen.pool_start_seconds is not None else "",
    ]
    return PipelineReport(
        title,
        COLUMNS,
        tuple(_row(one, judgement) for one in judgement.throughputs),
        judgement.answer_text(),
        tuple(filter(None, sentences)),
        _left_out(judgement),
    )


def _row(one: Throughput, judgement: PipelineJudgement) -> tuple[str, ...]:
    mark = "→ " if one is judgement.chosen else ""
    known = math.isfinite(one.low) and math.isfinite(one.high)
    interval = f"{formatting.number(1 / one.high)}–{formatting.number(1 / one.low)}" if known else formatting.MISSING
    return (
        f"{mark}{one.arrangement.key}",
        formatting.number(one.rate),
        interval,
        formatting.ratio(judgement.current.seconds / one.seconds),
    )


def _left_out(judgement: PipelineJudgement) -> tuple[tuple[str, str], ...]:
    keys: dict[str, list[str]] = {}
    for one in judgement.rows.failures:
        reason = one.reason if one.status == "unsupported" else f"{one.status}: {one.reason}"
        keys.setdefault(reason, []).append(Case.from_id(one.case).arrangement)
    return tuple((", ".join(dict.fromkeys(names)), reason) for reason, names in keys.items())


def as_data(judgement: PipelineJudgement) -> dict[str, Any]:
    """Return what was decided and what it rests on, as plain data; a number that does not exist is null."""
    choice, step = judgement.choice, judgement.step
    gain, chosen = choice.gain, judgement.chosen
    after = None if chosen is None else judgement.steps_per_second(chosen)
    return {
        "action": judgement.action,
        "arrangement": None if chosen is None else chosen.arrangement.key,
        "code": None if chosen is None else chosen.arrangement.code,
        "command": list(judgement.command) or None,
        "gain": None if gain is None else _numbers(gain.value, gain.low, gain.high),
        "loss": finite(choice.loss),
        "as_good": list(choice.as_good),
        "minimum_effect": choice.minimum_effect,
        "program": None if judgement.program is None else to_builtins(judgement.program),
        "step": {
            "elements": step.elements,
            "seconds": step.seconds,
            "input_seconds": _numbers(*judgement.input_seconds(judgement.current)),
            "is_hidden": judgement.is_hidden,
            "steps_per_second": _numbers(*(judgement.steps_per_second(judgement.current) or ())),
            "steps_per_second_after": _numbers(*(after or ())),
        },
        "arrangements": [_as_data(one) for one in judgement.throughputs],
        "left_out": [
            {"key": Case.from_id(one.case).arrangement, **{name: getattr(one, name) for name in OF_FAILURE}}
            for one in judgement.rows.failures
        ],
    }


def _as_data(one: Throughput) -> dict[str, Any]:
    return {
        "key": one.arrangement.key,
        **{name: getattr(one.arrangement, name) for name in ("form", "action", "variant", "batch", "parallel")},
        "seconds_per_element": _numbers(one.seconds, one.low, one.high),
        "launches": one.launches,
        "pool_start_seconds": one.pool_start_seconds,
    }


def _numbers(*values: float) -> list[float | None] | None:
    return [finite(value) for value in values] if values else None
