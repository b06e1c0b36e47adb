"""The tables of results: one list of columns for data frames, for `decisions.json` and for docs/python.md."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyopbench.judge.latencies import label_of
from pyopbench.model.case import Case
from pyopbench.store.json_file import without_nan

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison
    from pyopbench.judge.judge import Judgement
    from pyopbench.judge.pipeline import PipelineJudgement

SCHEMA = 4
"""Of `decisions.json`; it grows when a key changes its meaning or goes."""
TYPES: dict[str, Any] = {"count": "Int64", "bool": "bool", "text": "string"}
"""Unit -> dtype of pandas, each of which knows what is missing; all others are float64, where missing is NaN."""


@dataclass(frozen=True)
class Column:
    """A column: its name, its unit or type, and its meaning."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Facts:
    """A table: the property that returns it as a frame, its columns, and a mapping from name to value for each row."""

    owner: str
    columns: tuple[Column, ...]
    rows: Callable[[Any], Iterable[Mapping[Any, Any]]]

    def records(self, source: Any) -> list[dict[str, Any]]:
        """Return the rows of what the table is of, with the columns and no other."""
        return [{one.name: row.get(one.name) for one in self.columns} for row in self.rows(source)]

    def frame(self, source: Any) -> pd.DataFrame:
        """Return the table as a frame, whose columns have the dtypes of their units."""
        records = self.records(source)
        return pd.DataFrame(
            {
                one.name: pd.Series([_known(row[one.name]) for row in records], dtype=TYPES.get(one.unit, "float64"))
                for one in self.columns
            }
        )


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _columns(*rows: tuple[str, str, str]) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in rows)


_WHERE = (
    ("mode", "text", "`node`, `call`, `eager` or `threads:N`"),
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
_RATIO_INTERVAL = (
    ("low", "ratio", "lower end of its 95% interval"),
    ("high", "ratio", "upper end of its 95% interval"),
)
_SECONDS_INTERVAL = (
    ("low", "s", "lower end of its 95% interval; missing for one launch"),
    ("high", "s", "upper end of its 95% interval; missing for one launch"),
)
_WHY_UNRESOLVED = ("reason", "text", "why it is unresolved, in words; missing where it is not")


def _decisions(judgement: Judgement) -> Iterable[dict[str, Any]]:
    return ({**asdict(one), "answer": one.answer.text(), "reason": one.why()} for one in judgement.decisions)


def _verdicts(judgement: Judgement) -> Iterable[dict[str, Any]]:
    return (
        {
            **_case(one.case, judgement),
            **vars(one),
            "baseline": _case(one.baseline, judgement)["label"],
        }
        for one in judgement.verdicts
    )


def _case(key: str, judgement: Judgement) -> dict[str, Any]:
    case = Case.from_id(key)
    return {**vars(case), "label": label_of(judgement.run.catalogue, case.variant, case.gradient)}


def _compared(comparison: Comparison) -> Iterable[dict[str, Any]]:
    return (
        {
            **vars(one.verdict),
            "case": one.case,
            "seconds_a": one.first_seconds,
            "seconds_b": one.second_seconds,
            "launches_a": one.first_launches,
            "launches_b": one.second_launches,
        }
        for one in comparison.cases
    )


def _arrangements(judgement: PipelineJudgement) -> Iterable[dict[str, Any]]:
    return (
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


DECISIONS = Facts(
    "RunResult.decisions",
    _columns(
        ("op", "text", "name of the op"),
        ("use", "text", "`inference` (forward) or `training` (forward and backward)"),
        *_WHERE,
        ("baseline", "text", "label of the current callback"),
        ("action", "text", "`keep`, `switch`, `port` or `undecided`"),
        ("choice", "text", "label to change to; missing for `keep` and `undecided`"),
        ("saved", "share", "of the current time, over the mix of sizes; 0.4 is 40%"),
        ("saved_low", "share", "lower end of its 95% interval"),
        ("saved_high", "share", "upper end of its 95% interval"),
        ("loss", "share", "of the current time that the answer may cost at most, compared with the best candidate"),
        ("is_provisional", "bool", "whether `loss` is large"),
        ("launches", "count", "worker processes that `saved` comes from"),
        ("answer", "text", "the answer in words"),
        ("reason", "text", "why, in words"),
    ),
    _decisions,
)
VERDICTS = Facts(
    "RunResult.verdicts",
    _columns(
        *_CASE,
        ("baseline", "text", "label that it is compared with"),
        ("ratio", "ratio", "time over the time of the baseline; below 1 is faster"),
        *_RATIO_INTERVAL,
        ("launches", "count", "worker processes"),
        ("p", "probability", "corrected for all verdicts of the same op and use"),
        ("outcome", "text", "`faster`, `slower`, `equivalent` or `unresolved`"),
        ("needed", "count", "launches in all that would resolve it; missing where that is not known"),
        _WHY_UNRESOLVED,
    ),
    _verdicts,
)
LATENCIES = Facts(
    "RunResult.latencies",
    _columns(
        *_CASE,
        (
            "seconds",
            "s",
            "per call; in `node`, per op in the graph; in `threads:N`, 1 / (calls a second of all threads); mean",
        ),
        *_SECONDS_INTERVAL,
        ("launches", "count", "worker processes"),
        ("too_noisy", "bool", "whether it is too noisy for reports to show it as a number"),
    ),
    lambda judgement: judgement.latencies.to_dict("records"),
)
FAILURES = Facts(
    "RunResult.failures",
    _columns(
        *_CASE,
        ("status", "text", "`unsupported`, `wrong`, `elided`, `raised`, `timeout` or `crashed`"),
        ("launch", "count", "in which it was seen, from 0; missing if it was known before the first launch"),
        ("reason", "text", "why the case has no number, in words"),
    ),
    lambda judgement: ({**_case(one.case, judgement), **vars(one)} for one in judgement.run.failures),
)
ARRANGEMENTS = Facts(
    "RunResult.arrangements",
    _columns(
        ("arrangement", "text", "how the op is arranged in the pipeline, such as `map parallel=AUTOTUNE`"),
        ("action", "text", "what you do to get there: `keep`, `parallel`, `batch`, `processes`, `port`"),
        ("code", "text", "the change in one line"),
        ("seconds", "s", "per element, geometric mean over launches"),
        *_SECONDS_INTERVAL,
        ("elements_per_second", "1/s", "the inverse of `seconds`"),
        ("launches", "count", "worker processes"),
        ("pool_start_seconds", "s", "to start its processes; missing where it has none"),
        ("is_chosen", "bool", "whether it is the answer"),
    ),
    _arrangements,
)
COMPARED = Facts(
    "ComparisonResult.verdicts",
    _columns(
        ("case", "text", "id of the case that both sides have, as `op/variant/gradient/...`"),
        ("ratio", "ratio", "time on side B over time on side A; below 1 is faster"),
        *_RATIO_INTERVAL,
        ("p", "probability", "corrected for all cases"),
        ("outcome", "text", "`slower`, `faster`, `equivalent` or `unresolved`, for B"),
        ("seconds_a", "s", "per call on side A, geometric mean over launches"),
        ("seconds_b", "s", "per call on side B"),
        ("launches_a", "count", "worker processes of side A"),
        ("launches_b", "count", "worker processes of side B"),
        _WHY_UNRESOLVED,
    ),
    _compared,
)
UNMATCHED = Facts(
    "ComparisonResult.unmatched",
    _columns(
        ("case", "text", "case that has a number on one side only"),
        ("side", "text", "the side that has it: `A` or `B`"),
        ("kind", "text", "`failed`, `not_reached` or `not_measured` on the other side"),
        ("reason", "text", "the same in words"),
    ),
    lambda comparison: (
        {"case": one.case, "side": one.side, "kind": one.kind, "reason": one.text()} for one in comparison.unmatched
    ),
)
ALL = (DECISIONS, VERDICTS, LATENCIES, FAILURES, ARRANGEMENTS, COMPARED, UNMATCHED)


def page() -> str:
    """Return the part of `docs/python.md` that describes every frame, as Markdown."""
    lines = []
    for table in ALL:
        lines += [f"#### `{table.owner}`", "", "| column | unit | meaning |", "|---|---|---|"]
        lines += [f"| `{one.name}` | {one.unit} | {one.meaning} |" for one in table.columns]
        lines.append("")
    return "\n".join(lines)


def decisions_json(judgement: Judgement) -> str:
    """Return the text of `decisions.json`: a number that does not exist is null, the same judgement is the same text.

    A decision has what its columns have, and what a table has no room for: answers and seconds by size, what saves as
    much, what `--require` removed. docs/reading-a-report.md describes the keys.
    """
    run = judgement.run
    document = {
        "schema": SCHEMA,
        "run": run.name,
        "created": run.created,
        "tool": run.tool,
        "baseline": judgement.baseline,
        "minimum_effect": judgement.minimum_effect,
        "mix": judgement.mix and {_mix_key(key): weight for key, weight in judgement.mix.items()},
        "requires": judgement.requires,
        "notes": [one.text() for one in (*run.cannot, *run.warnings)],
        "noise": {**asdict(judgement.machine), "is_quiet": judgement.machine.is_quiet},
        "decisions": list(_decisions(judgement)),
        "verdicts": VERDICTS.records(judgement),
        "latencies": LATENCIES.records(judgement),
        "failures": FAILURES.records(judgement),
        "devices": [asdict(one) for one in judgement.devices],
    }
    return json.dumps(without_nan(document), indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _mix_key(key: int | tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}" if isinstance(key, tuple) else str(key)
