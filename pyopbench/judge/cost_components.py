"""Where the time of a callback goes: its cost components, and how much of it the body takes by itself.

    dispatch    one call of a `tf.function` that does nothing: `native_floor`
    bridge      one element through the callback and back, such as `numpy_function_floor`, less dispatch
    bytes in    `floor_consume` at the bytes of the inputs, beyond one element through the same bridge
from collections.abc import Mapping
    bytes out   `floor_produce` at the bytes of the outputs, likewise; aligned ones for the share of results that a
                bridge can take over without a copy
    body        the body alone

Dispatch, bridge and body are measured in the same rounds as the callback. The floor of bytes is measured in groups of
its own, of which only the difference to the bridge in the same rounds is used, because a shared machine is not equally
fast at all times. Nothing is fitted: the parts predict the total, and what is left over is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from pyopbench.judge.latencies import checked_frame, measured_cases
from pyopbench.model import formatting
from pyopbench.model.case import (
    BRIDGE_BASELINE_DTYPE,
    BRIDGE_BASELINE_SUFFIX,
    FLOOR_IN,
    FLOOR_OUT,
    FLOOR_OUT_ALIGNED,
    NATIVE,
    NO_GRADIENT,
    Case,
)
from pyopbench.model.label import Label
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.judge.candidates import Setting, SettingComparison
    from pyopbench.judge.choice import Choice
    from pyopbench.judge.program import Mix
    from pyopbench.store.measured_run import Run
    from pyopbench.store.run_json import Catalogue


ROLE = "body_alone"

PARTS = ("dispatch", "bridge", "bytes_in", "bytes_out", "body")
"""What a prediction is the sum of."""

CLOSE = 0.15
"""A prediction this near to the total, as a share of it, explains the case."""

FLOOR_OPS = tuple(f"{op}/" for op in (FLOOR_IN, FLOOR_OUT, FLOOR_OUT_ALIGNED))
"""How the ids of cases that measure bytes begin."""

Launch: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class BodyShare:
    """The share of the current time that the body of the current callback takes by itself, over the mix.

    Attributes:
        op, mode, dtype, placement: of the decision, which is one for inference.
        baseline: label of the current callback.
        body: which body, for example `numpy`.
        share: of the current time; above 1 only by noise.
        around: labels of the other callbacks around the same body that were compared, which is all that the share
            bounds: a callback that compiles the body, as `njit` does, runs another one.
        saved_around: the largest share of the current time that one of them saves; nan if there is none.
    """

    op: str
    mode: str
    dtype: str
    placement: str
    baseline: str
    body: str
    share: float
    around: tuple[str, ...] = ()
    saved_around: float = math.nan

    @property
    def is_bound(self) -> bool:
        """Does the body take more than the bridge, and is no other bridge around it measured to save more than that?"""
        return self.share > 1 / 2 and not self.saved_around > 1 - min(self.share, 1.0)

    @property
    def most_gain(self) -> float:
        """Seconds today over the seconds that are left if the bridge cost nothing."""
        return 1 / min(self.share, 1.0)

    def text(self) -> str:
        """Return what a body takes of the cost of the callback around it, and so what no other bridge can gain."""
        taken = formatting.points(self.share)
        said = f"the {self.body} body takes {taken} of the time of {self.baseline}"
        if not self.is_bound:
            return f"{said}; the rest is overhead of the callback"
        most = formatting.ratio(self.most_gain)
        return (
            f"{said}, so a callback around the same {self.body} body gains at most {most}; another body may gain more"
        )


def body_costs(run: Run) -> pd.DataFrame:
    """Return what bodies alone cost in each round, as `costs.round_costs`."""
    frame = run.costs.frame
    names = run.catalogue.parts_of_role(ROLE)
    return costs.round_costs(frame[frame["variant"].isin(names)], estimate.UNIT)


def body_pairs(comparison: SettingComparison, mix: Mix, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return for each size of a mix the case of the body alone and that of the current callback around it.

    No pair for training, where bodies are not timed alone, and where the body is not measured at all.
    """
    setting, variant = comparison.setting, Label.parse(comparison.baseline).variant
    body = catalogue.variant(variant).body
    alone = [name for name in catalogue.parts_of_role(ROLE) if catalogue.parts[name].body == body]
    if not alone or setting.direction != "forward":
        return []
    return [(_case(setting, alone[0], size), _case(setting, variant, size)) for size in mix.needed]


def shares_of_bodies(
    bodies: pd.DataFrame, callbacks: pd.DataFrame, callback_of: Mapping[str, str]
) -> Mapping[str, float]:
    """Return the median over launches of each body's cost over its callback's in the same rounds, where there is one.

    Args:
        bodies: `body_costs`.
        callbacks: `costs.round_costs` of everything that is compared.
        callback_of: case of a body alone -> case of the callback around it; of all at once, because each time takes
            as long as all of them together.
    """
    chosen = [
        bodies[bodies["case"].isin(list(callback_of))],
        callbacks[callbacks["case"].isin(list(callback_of.values()))],
    ]
    ratios = costs.ratios(pd.concat(chosen, ignore_index=True), callback_of, estimate.UNIT)
    medians = costs.launch_medians(ratios, "ratio", estimate.UNIT)
    shares = medians.groupby("case", observed=True)["value"].median()
    return {str(case): float(share) for case, share in shares.items()}


def body_share_of(
    comparison: SettingComparison, made: tuple[Choice, Mix], catalogue: Catalogue, body_shares: Mapping[str, float]
) -> BodyShare | None:
    """Return the share of the current callback's body over a mix.

    Args:
        comparison: of one setting.
        made: the choice in it, and the mix of the sizes that the op is called with.
        catalogue: of the run.
        body_shares: `shares_of_bodies`, of these sizes among others.

    Returns:
        No pair for training, where bodies are not timed alone, and where some size of the mix has no such number.
    """
    choice, mix = made
    body = catalogue.variant(Label.parse(comparison.baseline).variant).body
    setting, pairs = comparison.setting, body_pairs(comparison, mix, catalogue)
    if not pairs:
        return None
    total = float(mix.cost([body_shares.get(alone, math.nan) for alone, _ in pairs]))
    place = (setting.op, setting.mode, setting.dtype, setting.placement)
    if not total > 0:
        return None
    around = {gain.label: gain.saved for gain in choice.gains if _runs(catalogue, gain.label, body)}
    return BodyShare(*place, comparison.baseline, body, total, tuple(around), max(around.values(), default=math.nan))


def _runs(catalogue: Catalogue, label: str, body: str) -> bool:
    """Is a label a callback around a body as it is, which nothing compiles?"""
    variant = catalogue.variant(Label.parse(label).variant)
    return (variant.kind, variant.body, variant.automatic) == ("callback", body, False)


def _case(setting: Setting, variant: str, size: int) -> str:
    where = (setting.mode, setting.dtype, size, setting.placement)
    return Case(setting.op, variant, NO_GRADIENT, "forward", *where).id


@dataclass(frozen=True)
class BodyNotAlone:
    """There is no prediction, because the body of the variant, such as `numpy`, was not measured alone."""

    body: str
    kind: Literal["body_not_alone"] = "body_not_alone"

    def text(self) -> str:
        """Return why there is no prediction."""
        return f"the {self.body} body was not measured separately"


@dataclass(frozen=True)
class PartMissing:
    """There is no prediction, because no launch has a number for a part.

    Attributes:
        part: the id of a case, or an op of the floor.
        variant: of the op of the floor; "" with a case.
        told: what the failure of the part says; "" where there is none.
    """

    part: str
    variant: str = ""
    told: str = ""
    kind: Literal["part_missing"] = "part_missing"

    def text(self) -> str:
        """Return why there is no prediction."""
        named = f"{self.part} of {self.variant}" if self.variant else self.part
        return f"{named} has no number: {self.told}" if self.told else f"{named} has no number"


@dataclass(frozen=True)
class Split:
    """Where the time of one callback case goes, in seconds per call; medians over launches.

    Attributes:
        case: the id of the case.
        total: what was measured.
        dispatch, bridge, bytes_in, bytes_out, body: the parts; None where one could not be told.
        remainder: total less prediction; below zero where the parts alone take longer.
        predicted: sum of the parts.
        launches: how many launches have all parts.
        reason: why there is no prediction; None where there is one.
    """

    case: str
    total: float
    dispatch: float | None = None
    bridge: float | None = None
    bytes_in: float | None = None
    bytes_out: float | None = None
    body: float | None = None
    remainder: float | None = None
    predicted: float | None = None
    launches: int = 0
    reason: BodyNotAlone | PartMissing | None = None

    @property
    def parts(self) -> dict[str, float | None]:
        """The parts by name, in the order of `PARTS`."""
        return {name: getattr(self, name) for name in PARTS}

    @property
    def is_explained(self) -> bool:
        """Is the prediction within `CLOSE` of the total?"""
        return self.predicted is not None and abs(self.predicted / self.total - 1) <= CLOSE


class _Missing(Exception):
    """A part has no number: a case, or an op of the floor over the bridge of a variant."""

    def __init__(self, part: str, variant: str = "") -> None:
        super().__init__(part, variant)
        self.part = part
        self.variant = variant


@dataclass(frozen=True)
class _Measured:
    """What one launch has: seconds per call by case, and what crosses the bridge, by part."""

    seconds: Mapping[str, float]
    crossings: Mapping[str, tuple[int, int, float | None]]

    def of(self, case: Case) -> float:
        if case.id not in self.seconds:
            raise _Missing(case.id)
        return self.seconds[case.id]

    def crossing(self, case: Case) -> tuple[int, int, float | None]:
        if case.id not in self.crossings:
            raise _Missing(case.id)
        return self.crossings[case.id]

    def beyond_bridge(self, op: str, variant: str, size: int) -> float:
        """Return what an op of the floor takes, less the bridge with nothing to do in the same rounds."""
        case = _floor_case(op, variant, size)
        return self.of(case) - self.of(replace(case, variant=variant + BRIDGE_BASELINE_SUFFIX))

    @cached_property
    def _floor_sizes(self) -> Mapping[tuple[str, str], list[int]]:
        """The sizes at which bytes were measured, ascending, by op of the floor and variant."""
        known: dict[tuple[str, str], list[int]] = {}
        for key in self.seconds:
            if key.startswith(FLOOR_OPS):
                case = Case.from_id(key)
                known.setdefault((case.op, case.variant), []).append(case.size)
        return {key: sorted(sizes) for key, sizes in known.items()}

    def of_bytes(self, op: str, variant: str, count: int) -> float:
        """Return what `count` bytes cost beyond one element: linear between measured sizes, and beyond the largest."""
        sizes = self._floor_sizes.get((op, variant))
        if not sizes:
            raise _Missing(op, variant)
        bytes_of = np.array([1, *sizes], dtype=float) * np.dtype(BRIDGE_BASELINE_DTYPE).itemsize
        costs = np.array([0.0, *(self.beyond_bridge(op, variant, size) for size in sizes)])
        if count > bytes_of[-1]:
            slope = (costs[-1] - costs[-2]) / (bytes_of[-1] - bytes_of[-2])
            return float(costs[-1] + slope * (count - bytes_of[-1]))
        return float(np.interp(count, bytes_of, costs))


def splits_of(run: Run) -> tuple[Split, ...]:
    """Return where the time goes for each measured callback case that runs forward in a `tf.function`.

    The same samples in any order give the same splits; none if the run measured no parts.
    """
    if not run.costs.cases:
        return ()
    frame = checked_frame(run)
    cases = [Case.from_id(key) for key in measured_cases(frame, run.catalogue)["case"]]
    wanted = [
        case
        for case in cases
        if run.catalogue.variant(case.variant).kind == "callback" and (case.mode, case.direction) == ("call", "forward")
    ]
    launches = _launches(pd.concat([frame, _right(run)], ignore_index=True), run.costs.crossings)
    return tuple(_split(run, case, launches) for case in wanted)


def _right(run: Run) -> pd.DataFrame:
    """Return the samples of parts and floor without what any launch found wrong."""
    wrong = {failure.case for failure in run.costs.failures if failure.status == "wrong"}
    frame: pd.DataFrame = run.costs.frame
    return frame[~frame["case"].isin(sorted(wrong))]


def _launches(frame: pd.DataFrame, crossings: pd.DataFrame) -> list[_Measured]:
    seconds: dict[Launch, dict[str, float]] = {}
    logs = estimate.launch_logs(frame)
    for case, value, *unit in logs[["case", "value", *estimate.UNIT]].itertuples(index=False, name=None):
        seconds.setdefault(tuple(unit), {})[str(case)] = float(np.exp(value))
    crossed: dict[Launch, dict[str, tuple[int, int, float | None]]] = {}
    for row in crossings.to_dict("records"):
        aligned = None if pd.isna(row["aligned"]) else float(row["aligned"])
        sides = (int(row["bytes_in"]), int(row["bytes_out"]), aligned)
        crossed.setdefault(tuple(row[key] for key in estimate.UNIT), {})[str(row["case"])] = sides
    return [_Measured(found, crossed.get(unit, {})) for unit, found in seconds.items()]


def _split(run: Run, case: Case, launches: Iterable[_Measured]) -> Split:
    parts = run.catalogue.parts
    body = run.catalogue.variant(case.variant).body
    alone = next(
        (name for name, part in parts.items() if part.body == body and not name.endswith(BRIDGE_BASELINE_SUFFIX)), None
    )
    there = [launch for launch in launches if case.id in launch.seconds]
    if alone is None:
        total = median(launch.of(case) for launch in there)
        return Split(case.id, total, reason=BodyNotAlone(body))
    return _of_launches(run, case, there, partial(_parts, case=case, alone=alone))


def _of_launches(
    run: Run, case: Case, there: Sequence[_Measured], parts_of: Callable[[_Measured], tuple[float, ...]]
) -> Split:
    """Return the medians over the launches that have every part; without such a launch, the reason."""
    whole: list[tuple[float, ...]] = []
    missing: list[_Missing] = []
    for launch in there:
        try:
            whole.append((launch.of(case), *parts_of(launch)))
        except _Missing as error:  # noqa: PERF203 - a handful of launches
            missing.append(error)
    if not whole:
        return Split(case.id, median(launch.of(case) for launch in there), reason=_why(run, missing[0]))
    total, *parts = (median(column) for column in zip(*whole, strict=True))
    predicted = sum(parts)
    named = dict(zip(PARTS, parts, strict=True))
    return Split(case.id, total, **named, remainder=total - predicted, predicted=predicted, launches=len(whole))


def _why(run: Run, missing: _Missing) -> PartMissing:
    told = next((failure.reason for failure in run.costs.failures if failure.case == missing.part), "")
    return PartMissing(missing.part, missing.variant, told)


def _parts(launch: _Measured, case: Case, alone: str) -> tuple[float, ...]:
    """Return dispatch, bridge, bytes in, bytes out and body of a case in one launch, in the order of `PARTS`."""
    part = Case(case.op, alone, NO_GRADIENT, "forward", case.mode, case.dtype, case.size, case.placement)
    bytes_in, bytes_out, aligned = launch.crossing(part)
    dispatch = launch.of(replace(part, variant=NATIVE + BRIDGE_BASELINE_SUFFIX))
    bridge = launch.of(replace(part, variant=case.variant + BRIDGE_BASELINE_SUFFIX)) - dispatch
    taken_in = launch.of_bytes(FLOOR_IN, case.variant, bytes_in)
    given_out = launch.of_bytes(FLOOR_OUT, case.variant, bytes_out)
    if aligned:
        given_out += aligned * (launch.of_bytes(FLOOR_OUT_ALIGNED, case.variant, bytes_out) - given_out)
    return dispatch, bridge, taken_in, given_out, launch.of(part)


def _floor_case(op: str, variant: str, size: int) -> Case:
    return Case(op, variant, NO_GRADIENT, "forward", "call", BRIDGE_BASELINE_DTYPE, size)
