"""Where each op should run: the fastest variant on the CPU is compared with the fastest on a GPU, size by size.

Different processes measure the two devices, in turns within one run. So the ratio of two devices is not paired: the
speed of a launch on one device does not predict that on the other, and the variance of the log ratio is the sum of both
variances (B. L. Welch, Biometrika 34 (1947) 28-35). Launches on a GPU may spread many times as much as those on the
CPU, so each device has a usual spread of its own, and the interval has the degrees of freedom of the device with fewer
(M. R. Mickey and M. B. Brown, Ann. Math. Stat. 37 (1966) 639-642). docs/gpu.md says how often that errs.

Inputs and results are on the device that the op runs on. Copying them there is not included, except for callbacks,
whose Python runs on the host wherever they are pinned.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pandas as pd

from pyopbench.model import formatting
from pyopbench.model.case import DEVICES
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import Estimate, Launches
from pyopbench.stats.unpaired import difference

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


CANDIDATES = ("callback", "port")
"""Kinds of variants that a program can use; the others are measured only to explain these."""

Row: TypeAlias = Mapping[str, Any]
"""A row of `latencies.latency_table`."""
Where: TypeAlias = tuple[str, str, str, str, int]
"""Op, direction, mode, dtype and size."""


@dataclass(frozen=True)
class OnDevice:
    """The fastest variant on one device: its label, its seconds per call, and how many launches measured it."""

    label: str
    seconds: float
    launches: int


@dataclass(frozen=True)
class DeviceComparison:
    """Where an op should run at one size.

    Attributes:
        op, direction, mode, dtype, size: the cases that are compared.
        cpu, gpu: the fastest variant on each device.
        ratio: time on the GPU over time on the CPU, each with its fastest variant; above 1 the CPU is faster.
        low, high: the interval of the ratio, corrected for all comparisons; None for one launch.
        device: where to run the op; None if the difference is not clear: it is below the minimum effect, or the
            interval includes 1.
    """

    op: str
    direction: str
    mode: str
    dtype: str
    size: int
    cpu: OnDevice
    gpu: OnDevice
    ratio: float
    low: float | None
    high: float | None
    device: Literal["cpu", "gpu"] | None


def device_comparisons(found: Judgement) -> tuple[DeviceComparison, ...]:
    """Return where each op should run, in the order of the latencies; empty if only one device was measured."""
    pairs = _pairs(found)
    return tuple(_compared(pair, _level(found, pairs), found.minimum_effect) for pair in pairs)


def open_device_cases(found: Judgement, failed: Collection[str]) -> frozenset[str]:
    """Return the fastest cases of both devices, wherever more launches could show which device is faster.

    Args:
        found: the comparisons so far.
        failed: ids of cases that are not measured again.
    """
    pairs = [pair for pair in _pairs(found) if not set(pair.cases) & set(failed)]
    level, border = _level(found, pairs), math.log1p(found.minimum_effect)
    open_cases: set[str] = set()
    for pair in pairs:
        low, high = pair.difference.interval(level)
        are_alike = -border < low and high < border  # False without an interval
        if not are_alike and _compared(pair, level, found.minimum_effect).device is None:
            open_cases.update(pair.cases)
    return frozenset(open_cases)


@dataclass(frozen=True)
class _Pair:
    """The fastest variant on each device, the ids of their cases, and the log of the ratio of their costs."""

    where: Where
    cpu: OnDevice
    gpu: OnDevice
    cases: tuple[str, str]
    difference: Estimate


def _level(found: Judgement, pairs: Sequence[_Pair]) -> float:
    """Return the level of an interval that is corrected for all comparisons of the run."""
    return 1 - found.rules.error / max(len(pairs), 1)


def _pairs(found: Judgement) -> list[_Pair]:
    kinds = {name: found.run.catalogue.variant(name).kind for name in set(found.latencies["variant"])}
    placed: dict[Where, dict[str, list[Row]]] = {}
    for row in (row for rows in found.rows_by_op.values() for row in rows):
        if kinds[row["variant"]] in CANDIDATES and row["seconds"] > 0 and not row["too_noisy"]:
            where = (row["op"], row["direction"], row["mode"], row["dtype"], int(row["size"]))
            placed.setdefault(where, {}).setdefault(row["placement"], []).append(row)
    fastest = {
        where: [min(at[place], key=lambda row: (row["seconds"], row["label"])) for place in DEVICES]
        for where, at in placed.items()
        if {*DEVICES} <= set(at)
    }
    if not fastest:
        return []
    cases = [(str(cpu["case"]), str(gpu["case"])) for cpu, gpu in fastest.values()]
    logs = _logs(found.rounds, {case for both in cases for case in both})
    # Each spread is moved towards what is usual on its device.
    on_cpus, on_gpus = (estimate.moderated([logs[one] for one in device]) for device in zip(*cases, strict=True))
    differences = map(difference, on_cpus, on_gpus)
    return [
        _Pair(where, _on_device(cpu), _on_device(gpu), both, difference)
        for (where, (cpu, gpu)), both, difference in zip(fastest.items(), cases, differences, strict=True)
    ]


def _on_device(row: Row) -> OnDevice:
    return OnDevice(str(row["label"]), float(row["seconds"]), int(row["launches"]))


def _logs(rounds: pd.DataFrame, cases: set[str]) -> dict[str, Launches]:
    """Return the log of each case's cost, by launch."""
    medians = costs.launch_medians(rounds[rounds["case"].isin(list(cases))], "seconds", estimate.UNIT)
    medians = medians[medians["value"] > 0]
    logs = medians.assign(value=medians["value"].map(math.log), error=medians["error"] / medians["value"])
    return estimate.launches_by_case(logs)


def _compared(pair: _Pair, level: float, minimum_effect: float) -> DeviceComparison:
    low, high = pair.difference.interval(level)
    mean = pair.difference.mean
    is_clear = abs(mean) > math.log1p(minimum_effect) and (low > 0 or high < 0)
    least, most = (None if math.isnan(end) else estimate.exp(end) for end in (low, high))
    device: Literal["cpu", "gpu"] | None = ("cpu" if mean > 0 else "gpu") if is_clear else None
    return DeviceComparison(*pair.where, pair.cpu, pair.gpu, estimate.exp(mean), least, most, device)


@dataclass(frozen=True)
class DeviceSummary:
    """Where an op should run over its sizes.

    Attributes:
        op, direction, mode, dtype: the cases that are compared.
        sizes: the comparison at each measured size, ascending.
    """

    op: str
    direction: str
    mode: str
    dtype: str
    sizes: tuple[DeviceComparison, ...]

    def devices_text(self) -> str:
        """Return the device at each range of sizes: `cpu at 10–1 k, gpu at 1 M`."""
        ranges = ((device, list(some)) for device, some in groupby(self.sizes, lambda one: one.device))
        return ", ".join(
            f"{device or 'unclear'} at {formatting.size_range(some[0].size, some[-1].size)}" for device, some in ranges
        )

    def ratios_text(self) -> str:
        """Return the smallest and the largest ratio of all sizes, GPU to CPU, or one number if they look equal."""
        least, most = min(one.ratio for one in self.sizes), max(one.ratio for one in self.sizes)
        ends = dict.fromkeys(map(formatting.ratio, (least, most)))
        return " to ".join(ends)


def summaries_of(comparisons: Sequence[DeviceComparison]) -> tuple[DeviceSummary, ...]:
    """Return the comparisons by op, direction, mode and dtype, in their order."""
    found: dict[tuple[str, str, str, str], list[DeviceComparison]] = {}
    for one in comparisons:
        found.setdefault((one.op, one.direction, one.mode, one.dtype), []).append(one)
    return tuple(DeviceSummary(*where, tuple(sorted(some, key=lambda one: one.size))) for where, some in found.items())
