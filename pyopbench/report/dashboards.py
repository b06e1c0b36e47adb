"""Latencies in the formats of dashboards that plot results over commits: a value with both ends of its interval.

Sources: Bencher, "Bencher Metric Format" (bencher.dev/docs/reference/bencher-metric-format), where latency is in
nanoseconds; benchmark-action/github-action-benchmark, README, `customSmallerIsBetter`; Nyrkiö's API, as
nyrkio/change-detection passes it on (`nyrkioJson`), which has no interval, so its ends are separate metrics.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyopbench.judge.judge import Judgement
from pyopbench.model import formatting
from pyopbench.model.command_line import DASHBOARDS
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store.own_runs import OF_USER

NANOSECONDS = 1e9
UNIT = "ns"


@dataclass(frozen=True)
class Value:
    """The value of a case on a dashboard: nanoseconds, with a 95% interval whose ends are None if there is none.

    No end is below zero: an interval of two launches may reach below it, but no latency does.
    """

    case: str
    nanoseconds: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Origin:
    """The origin of values, for dashboards that need it.

    Attributes:
        created: time of the run, ISO 8601.
        commit: the measured commit; "" if it is unknown.
        repository: its address; "" if it is unknown.
        branch: likewise.
    """

    created: str
    commit: str = ""
    repository: str = ""
    branch: str = ""


def values_of(judgement: Judgement) -> tuple[list[Value], int]:
    """Return the value of each case, and how many cases are too noisy to have one.

    Raises:
        NothingMeasured: no case has a value.
    """
    rows = judgement.latencies.to_dict("records")
    shown = [row for row in rows if not row["too_noisy"] and row["seconds"] > 0]
    if not shown:
        raise NothingMeasured(
            "no case has a time that a dashboard could show",
            received=f"{len(rows):,} cases, all too noisy or not above zero" if rows else "no case with a time",
            hint="measure with more launches, or on a machine that does nothing else",
        )
    found = [
        Value(str(row["case"]), row["seconds"] * NANOSECONDS, _finite(row["low"]), _finite(row["high"]))
        for row in shown
    ]
    return found, len(rows) - len(shown)


def _finite(seconds: float) -> float | None:
    return max(seconds, 0.0) * NANOSECONDS if math.isfinite(seconds) else None


def bencher(values: Sequence[Value], origin: Origin) -> Any:
    """Return Bencher's metric format: case -> latency -> value, and both ends if there are any."""
    return {
        one.case: {"latency": _without_none(value=one.nanoseconds, lower_value=one.low, upper_value=one.high)}
        for one in values
    }


def github_action_benchmark(values: Sequence[Value], origin: Origin) -> Any:
    """Return github-action-benchmark's format `customSmallerIsBetter`, in which a range is a text."""
    return [
        _without_none(
            name=one.case,
            unit=UNIT,
            value=one.nanoseconds,
            range=None if one.low is None or one.high is None else f"{one.low:.6g} to {one.high:.6g}",
        )
        for one in values
    ]


def nyrkio(values: Sequence[Value], origin: Origin) -> Any:
    """Return Nyrkiö's format: one result, with three metrics for each case that has an interval.

    Raises:
        BadInput: commit, repository or branch is unknown; Nyrkiö requires them.
    """
    missing = [name for name in ("commit", "repository", "branch") if not getattr(origin, name)]
    if missing:
        raise BadInput(
            "Nyrkiö requires the commit, repository and branch of a result",
            received=f"no {', no '.join(missing)}",
            hint="export a run that was made in a git repository; outside of GitHub Actions, set GITHUB_SERVER_URL, "
            "GITHUB_REPOSITORY and GITHUB_REF_NAME",
        )
    metrics = [
        {"name": f"{one.case}{name}", "unit": UNIT, "value": value}
        for one in values
        for name, value in (("", one.nanoseconds), (" low", one.low), (" high", one.high))
        if value is not None
    ]
    attributes = {"git_repo": origin.repository, "branch": origin.branch, "git_commit": origin.commit}
    return [{"timestamp": int(formatting.seconds_of(origin.created)), "metrics": metrics, "attributes": attributes}]


def _without_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


FORMATS: Mapping[str, Callable[[Sequence[Value], Origin], Any]] = dict(
    zip(DASHBOARDS, (bencher, github_action_benchmark, nyrkio), strict=True)
)


def as_text(judgement: Judgement, export: str, repository: str, branch: str) -> tuple[str, int]:
    """Return the latencies of a judgement as JSON for a dashboard, and how many cases are left out as too noisy.

    Args:
        judgement: of one run.
        export: a key of `FORMATS`.
        repository: address of the repository; "" if it is unknown.
        branch: likewise.

    Raises:
        NothingMeasured: no case has a value.
        BadInput: the dashboard needs something that is unknown.
    """
    values, noisy = values_of(judgement)
    run = judgement.run
    commit = run.environment.get(f"{OF_USER}commit" if run.own else "commit")
    origin = Origin(run.created, str(commit or ""), repository, branch)
    return json.dumps(FORMATS[export](values, origin), indent=1, allow_nan=False, ensure_ascii=False) + "\n", noisy
