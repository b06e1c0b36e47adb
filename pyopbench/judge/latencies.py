"""Measurements, case by case: labels, latencies with intervals, and which case is the baseline of which.

A case without a number is a hole, which has its reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pandas as pd

from pyopbench.model import formatting
from pyopbench.model.case import DIRECTIONS, Case, Status, make_label
from pyopbench.model.errors import BadInput
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run
    from pyopbench.store.types import Catalogue


FIELDS = ["case", "group", "op", "variant", "gradient", "direction", "mode", "dtype", "size", "placement"]
ORDER = ["op_rank", "direction_rank", "mode", "dtype", "placement", "size", "label"]

NOT_REACHED = "the run ended before it was measured"
SHORT_REASON = 200

WhyNone: TypeAlias = Status | Literal["not measured"]

STATUSES: tuple[WhyNone, ...] = (
    "wrong", "crashed", "raised", "elided", "timeout", "unsupported", "not measured",
)  # fmt: skip
"""From the gravest on: those of a failure, then of a planned case that no launch got to."""


def usual_gradients(catalogue: Catalogue, variant: str) -> list[str]:
    """Return the gradients of a variant, the usual one first; none for a variant that the catalogue does not know."""
    return catalogue.variant(variant).gradients


def label_of(catalogue: Catalogue, variant: str, gradient: str) -> str:
    """Return the label of a case, as in frames and reports."""
    return make_label(variant, gradient, usual_gradients(catalogue, variant))


def standing(gradient: str, order: Sequence[str]) -> tuple[float, str]:
    """Return a sort key: gradients as in `order` first, then any others by name."""
    return (order.index(gradient) if gradient in order else math.inf), gradient


def checked_frame(run: Run) -> pd.DataFrame:
    """Return the samples of a run without the cases that any launch found wrong: those are never called fast."""
    wrong = {failure.case for failure in run.failures if failure.status == "wrong"}
    frame: pd.DataFrame = run.frame
    return frame[~frame["case"].isin(sorted(wrong))] if wrong else frame


def with_pipeline(run: Run) -> Run:
    """Return a run with its cases in an input pipeline among all others, for whoever compares case by case."""
    inside = run.pipeline
    if inside is None:
        return run
    return replace(
        run,
        cases=(*run.cases, *inside.cases),
        failures=(*run.failures, *inside.failures),
        frame=pd.concat([run.frame, inside.frame], ignore_index=True) if len(run.frame) else inside.frame,
        pipeline=None,
    )


def measured_cases(frame: pd.DataFrame, catalogue: Catalogue) -> pd.DataFrame:
    """Return one row per measured case, with its fields and label.

    Sorted by op in the order of the catalogue, direction, mode, dtype, placement, size and label.
    """
    cases = frame[FIELDS].drop_duplicates("case")
    named = zip(cases["variant"], cases["gradient"], strict=True)
    ops = {op: rank for rank, op in enumerate([*catalogue.ops, *sorted(set(cases["op"]) - set(catalogue.ops))])}
    cases = cases.assign(
        case=cases["case"].astype(object),
        label=[label_of(catalogue, variant, gradient) for variant, gradient in named],
        op_rank=cases["op"].map(ops),
        direction_rank=cases["direction"].map({name: rank for rank, name in enumerate(DIRECTIONS)}),
    )
    return cases.sort_values(ORDER, kind="stable")[[*FIELDS, "label"]].reset_index(drop=True)


def latency_table(
    frame: pd.DataFrame,
    catalogue: Catalogue,
    rounds: pd.DataFrame | None = None,
    baseline: str = "",
) -> pd.DataFrame:
    """Return `measured_cases` with the latency of each.

    Args:
        frame: as `measured_run.Run.frame`.
        catalogue: of the run.
        rounds: `costs.round_costs` of the frame, where it is there already.
        baseline: the variant that is the current callback; "" for none.

    Returns:
        The columns of `measured_cases` and seconds, low, high (seconds per call, in mode node per op inside the graph:
        mean over launches and its 95% t interval; low and high are nan for one launch), launches and too_noisy
        (`Estimate.is_too_noisy`: the numbers are there, and are not to be shown as the cost). A cost in mode node may
        be below zero, where it is smaller than it is uncertain by. Cases without any cost are absent.
    """
    cases = measured_cases(frame, catalogue)
    rounds = costs.round_costs(frame, estimate.UNIT) if rounds is None else rounds
    medians = costs.launch_medians(rounds, "seconds", estimate.UNIT)
    numbers = estimate.launches_by_case(medians)
    estimates = {case: estimate.Estimate.of(one.values) for case, one in numbers.items()}
    cases = cases[cases["case"].isin(list(estimates))].reset_index(drop=True)
    found = [estimates[case] for case in cases["case"]]
    ends = [estimate.interval() for estimate in found]
    baselines = baseline_of(cases, baseline, usual_gradients(catalogue, baseline))
    today = {case: max(estimates[case].mean, 0.0) for case in set(baselines.values())}
    today = {case: seconds for case, seconds in today.items() if not estimates[case].is_too_noisy()}
    scales = [today.get(baselines.get(case, ""), 0.0) for case in cases["case"]]
    return cases.assign(
        seconds=[estimate.mean for estimate in found],
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
        launches=np.array([estimate.n for estimate in found], dtype=np.int64),
        too_noisy=np.array(
            [estimate.is_too_noisy(scale) for estimate, scale in zip(found, scales, strict=True)], dtype=bool
        ),
    )


def baseline_of(cases: pd.DataFrame, baseline: str, gradients: Sequence[str]) -> dict[str, str]:
    """Return for each case the baseline case of its group, direction and mode.

    Among the baseline variant's own cases that is the one whose gradient comes first in `gradients`.

    Args:
        cases: `measured_cases` or `latency_table`.
        baseline: the baseline variant.
        gradients: its gradients, the usual one first.

    Returns:
        Id of a case -> id of its baseline, in the order of `cases`; without the baselines themselves, and without the
        groups that have none.
    """
    first: dict[tuple[str, str, str], tuple[float, str, str]] = {}
    rows = list(cases[["case", "group", "direction", "mode", "variant", "gradient"]].itertuples(index=False, name=None))
    for case, group, direction, mode, variant, gradient in rows:
        if variant == baseline:
            place = (*standing(str(gradient), gradients), str(case))
            first[group, direction, mode] = min(place, first.get((group, direction, mode), place))
    found = [(str(case), first.get((group, direction, mode))) for case, group, direction, mode, *_ in rows]
    return {case: place[2] for case, place in found if place is not None and case != place[2]}


def partners_of(cases: pd.DataFrame, pairs: Mapping[str, str]) -> dict[str, str]:
    """Return for each case of a variant in `pairs` the same case of the variant that it is compared with."""
    measured = {str(case): Case.from_id(case) for case in cases["case"]}
    partners = {
        key: replace(case, variant=pairs[case.variant]).id for key, case in measured.items() if case.variant in pairs
    }
    return {key: partner for key, partner in partners.items() if partner in measured}


def without_number_text(counts: Mapping[WhyNone, int]) -> str:
    """Return how many cases have no number, by status, in a line for a terminal."""
    if len(counts) == 1:
        ((status, n),) = counts.items()
        return f"No number: {formatting.count(n, f'{status} case')}; the report says why"
    statuses = ", ".join(f"{n:,} {status}" for status, n in counts.items())
    return f"No number: {formatting.count(sum(counts.values()), 'case')} ({statuses}); the report says why"


@dataclass(frozen=True)
class Hole:
    """The cases that have no number for the same reason; a number in another launch does not matter."""

    status: WhyNone  # of the failure, or which other reason it is
    reason: str
    cases: tuple[str, ...]  # their ids, each once

    def text(self) -> str:
        """Return how many cases have no number, of which ops, and why, in a line."""
        why = formatting.shorten(self.reason, SHORT_REASON)
        ops = formatting.listing(list(dict.fromkeys(map(op_of, self.cases))))
        return f"{formatting.count(len(self.cases), 'case')} {self.status}, of {ops}: {why}"


def holes_of(run: Run, measured: Collection[str]) -> tuple[Hole, ...]:
    """Return the reasons why cases have no number, the gravest status first and then the most cases."""
    groups: dict[tuple[WhyNone, str], dict[str, None]] = {}
    for failure in run.failures:
        groups.setdefault((failure.status, failure.reason), {})[failure.case] = None
    gone = {*measured, *(failure.case for failure in run.failures)}
    if lost := dict.fromkeys(case for case in run.cases if case not in gone):
        groups["not measured", NOT_REACHED] = lost
    holes = [Hole(status, reason, tuple(cases)) for (status, reason), cases in groups.items()]
    return tuple(sorted(holes, key=lambda hole: (rank(hole.status), -len(hole.cases), hole.reason)))


def parse_case(case: str) -> Case | None:
    """Return the case of an id; None for what is not one, such as the name of a benchmark of another suite."""
    try:
        return Case.from_id(case)
    except BadInput:
        return None


def op_of(case: str) -> str:
    """Return the op of a case; of what is not the id of one, all of it."""
    known = parse_case(case)
    return case if known is None else known.op


def rank(status: WhyNone) -> int:
    """Return the place of a status from the gravest on."""
    return STATUSES.index(status)
