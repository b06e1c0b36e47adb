"""The frames of results: one row for each thing, one column for each fact, with its unit. `docs/api.md` shows them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd

from pyopbench.judge.latencies import label_of
from pyopbench.model.case import Case

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison
    from pyopbench.judge.comparison.gate import Gate
    from pyopbench.judge.judge import Judgement
    from pyopbench.judge.pipeline import PipelineJudgement
    from pyopbench.stats.unresolved import Unresolved


@dataclass(frozen=True)
class Column:
    """A column of a frame: its name, its unit or type, and what it says."""

    name: str
    unit: str
    meaning: str


def _columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


_WHERE = (
    ("mode", "text", "`node`, `call` or `eager`"),
    ("dtype", "text", "of the inputs"),
    ("placement", "text", "`cpu` or `gpu`"),
)
_CASE = (
    ("op", "text", "name of the op"),
    ("label", "text", "`variant`, or `variant+gradient` where that is not the usual one"),
    ("variant", "text", "name of the variant"),
    ("gradient", "text", "gradient mechanism; `none` in direction `forward`"),
    ("direction", "text", "`forward`, `backward` or `forward_backward`"),
    *_WHERE,
    ("size", "count", "in the unit of the op, usually elements of the largest input"),
)

DECISIONS = _columns(
    ("op", "text", "name of the op"),
    ("use", "text", "`inference` (forward) or `training` (forward and backward)"),
    *_WHERE,
    ("baseline", "text", "label of the current callback"),
    ("action", "text", "`keep`, `switch`, `port` or `undecided`"),
    ("choice", "text", "label to go to; missing for `keep` and `undecided`"),
    ("saved", "share", "of the current time, over the mix of sizes; 0.4 is 40%"),
    ("saved_low", "share", "lower end of its 95% interval"),
    ("saved_high", "share", "upper end of its 95% interval"),
    ("loss", "share", "of the current time that the answer may cost at most against the best candidate"),
    ("is_provisional", "bool", "whether `loss` is large"),
    ("launches", "count", "worker processes that `saved` comes from"),
    ("answer", "text", "the answer in words"),
    ("reason", "text", "why, in words"),
)
VERDICTS = _columns(
    *_CASE,
    ("baseline", "text", "label that it is compared with"),
    ("ratio", "ratio", "time over the time of the baseline; below 1 is faster"),
    ("low", "ratio", "lower end of its 95% interval"),
    ("high", "ratio", "upper end of its 95% interval"),
    ("launches", "count", "worker processes"),
    ("p", "probability", "corrected for all verdicts of the run and for interim analyses"),
    ("outcome", "text", "`faster`, `slower`, `equivalent` or `unresolved`"),
    ("needed", "count", "launches in all that would resolve it; missing where that is not known"),
    ("reason", "text", "why it is unresolved, in words; missing where it is not"),
)
LATENCIES = _columns(
    *_CASE,
    ("seconds", "s", "per call, in mode `node` per op inside the graph: mean over launches"),
    ("low", "s", "lower end of its 95% interval; missing for one launch"),
    ("high", "s", "upper end of its 95% interval; missing for one launch"),
    ("launches", "count", "worker processes"),
    ("too_noisy", "bool", "whether it is too noisy for reports to show it as a number"),
)
FAILURES = _columns(
    *_CASE,
    ("status", "text", "`unsupported`, `wrong`, `elided`, `raised`, `timeout` or `crashed`"),
    ("launch", "count", "in which it was seen, from 0; missing where it was known before the first"),
    ("reason", "text", "why the case has no number, in words"),
)
COMPARED = _columns(
    ("case", "text", "what both sides have measured, as `op/variant/gradient/...`"),
    ("ratio", "ratio", "time on side B over time on side A; below 1 is faster"),
    ("low", "ratio", "lower end of the interval that the outcome goes by"),
    ("high", "ratio", "upper end of that interval"),
    ("level", "probability", "of that interval"),
    ("p", "probability", "corrected for all cases and for interim analyses"),
    ("outcome", "text", "`slower`, `faster`, `equivalent` or `unresolved`, for B"),
    ("seconds_a", "s", "per call on side A, geometric mean over launches"),
    ("seconds_b", "s", "per call on side B"),
    ("launches_a", "count", "worker processes of side A"),
    ("launches_b", "count", "worker processes of side B"),
    ("reason", "text", "why it is unresolved, in words; missing where it is not"),
)
UNMATCHED = _columns(
    ("case", "text", "case that has a number on one side only"),
    ("side", "text", "the side that has it: `A` or `B`"),
    ("kind", "text", "`failed`, `not_reached` or `not_measured` on the other side"),
    ("reason", "text", "the same in words"),
)
ARRANGEMENTS = _columns(
    ("arrangement", "text", "how the op is arranged in the pipeline, such as `map parallel=AUTOTUNE`"),
    (
        "action",
        "text",
        "what you do to get there: `keep`, `parallel`, `batch`, `processes`, `port`",
    ),
    ("code", "text", "the change in one line"),
    ("seconds", "s", "per element, geometric mean over launches"),
    ("low", "s", "lower end of its 95% interval; missing for one launch"),
    ("high", "s", "upper end of its 95% interval; missing for one launch"),
    ("elements_per_second", "1/s", "the inverse of `seconds`"),
    ("launches", "count", "worker processes"),
    ("pool_start_seconds", "s", "to start its processes; missing where it has none"),
    ("is_chosen", "bool", "whether it is the answer"),
)
_SIDE = ("side", "text", "label of the side: of an environment or a revision")
CHANGES = (*_columns(_SIDE), *COMPARED)
VALUES = _columns(
    _SIDE,
    ("op", "text", "name of the op"),
    ("size", "count", "in the unit of the op"),
    ("dtype", "text", "of the inputs"),
    ("kind", "text", "`outputs`, `gradients`, `inputs`, `raised` or `unknown`"),
    ("reason", "text", "the first place that differs, or why it is not known, in words"),
)

TYPES: dict[str, Any] = {"count": "Int64", "bool": "bool", "text": "string"}
"""Unit -> dtype of pandas, each of which knows what is missing; all others are float64, where missing is NaN."""


def decisions(judgement: Judgement) -> pd.DataFrame:
    """Return a row for each op and use, with the columns `DECISIONS`."""
    made = judgement.decisions
    texts = ({"answer": one.answer.text(), "reason": one.why()} for one in made)
    return _frame(DECISIONS, ({**vars(one), **words} for one, words in zip(made, texts, strict=True)))


def verdicts(judgement: Judgement) -> pd.DataFrame:
    """Return a row for each case beside the baseline, with the columns `VERDICTS`."""
    rows = (
        {
            **_case(one.case, judgement),
            **vars(one),
            "baseline": _case(one.baseline, judgement)["label"],
            "reason": _reason(one.reason),
        }
        for one in judgement.verdicts
    )
    return _frame(VERDICTS, rows)


def latencies(judgement: Judgement) -> pd.DataFrame:
    """Return a row for each measured case, with the columns `LATENCIES`."""
    return _frame(LATENCIES, judgement.latencies.to_dict("records"))


def failures(judgement: Judgement) -> pd.DataFrame:
    """Return a row for each case without a number, with the columns `FAILURES`."""
    return _frame(FAILURES, ({**_case(one.case, judgement), **vars(one)} for one in judgement.run.failures))


def compared(comparison: Comparison) -> pd.DataFrame:
    """Return a row for each case of both sides, the worst first, with the columns `COMPARED`."""
    rows = (
        {
            **vars(one.verdict),
            "case": str(one.key),
            "seconds_a": one.first_seconds,
            "seconds_b": one.second_seconds,
            "launches_a": one.first_launches,
            "launches_b": one.second_launches,
            "reason": _reason(one.verdict.reason),
        }
        for one in comparison.cases
    )
    return _frame(COMPARED, rows)


def unmatched(comparison: Comparison) -> pd.DataFrame:
    """Return a row for each case of one side alone, with the columns `UNMATCHED`."""
    found = comparison.unmatched
    rows = ({"case": str(one.key), "side": one.side, "kind": one.kind, "reason": one.text()} for one in found)
    return _frame(UNMATCHED, rows)


def arrangements(judgement: PipelineJudgement) -> pd.DataFrame:
    """Return a row for each arrangement with a number, the quickest first, with the columns `ARRANGEMENTS`."""
    rows = (
        {
            **vars(one),
            "arrangement": one.arrangement.key,
            "action": one.arrangement.action,
            "code": one.arrangement.code,
            "elements_per_second": one.rate,
            "is_chosen": one is judgement.chosen,
        }
        for one in judgement.throughputs
    )
    return _frame(ARRANGEMENTS, rows)


def by_side(found: Mapping[str, pd.DataFrame], columns: Sequence[Column] = ()) -> pd.DataFrame:
    """Return frames below each other, with a first column `side`.

    Args:
        found: label of the side -> its frame; all have the same columns.
        columns: of a frame; they are needed where there is no side.
    """
    if not found:
        return _frame((*_columns(_SIDE), *columns), ())
    labelled = []
    for label, frame in found.items():
        labelled.append(frame.copy())
        labelled[-1].insert(0, "side", pd.Series(label, index=frame.index, dtype="string"))
    return pd.concat(labelled, ignore_index=True)


def value_differences(gate: Gate) -> pd.DataFrame:
    """Return a row for each input on which a revision computes otherwise, with the columns `VALUES`."""
    rows = ({"side": label, **msgspec.structs.asdict(one)} for label, one in gate.differences)
    return _frame(VALUES, rows)


def _case(key: str, judgement: Judgement) -> dict[str, Any]:
    case = Case.from_id(key)
    return {**vars(case), "label": label_of(judgement.run.catalogue, case.variant, case.gradient)}


def _reason(reason: Unresolved | None) -> str | None:
    return None if reason is None else reason.text()


def _frame(columns: Sequence[Column], rows: Iterable[dict[Any, Any]]) -> pd.DataFrame:
    listed = list(rows)
    return pd.DataFrame(
        {
            one.name: pd.Series([_known(row.get(one.name)) for row in listed], dtype=TYPES.get(one.unit, "float64"))
            for one in columns
        }
    )


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
