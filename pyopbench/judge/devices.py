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

from pyopbench.model import formatting
from pyopbench.model.case import DEVICES
from pyopbench.stats import estimate
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.unpaired import difference

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


CANDIDATES = ("callback", "port")
"""Kinds of variants that a program can use; the others are measured only to explain these."""

Row: TypeAlias = Mapping[str, Any]
"""A row of `latencies.latency_table`."""
Pair: TypeAlias = tuple[Row, Row, Estimate]
"""The fastest variant on the CPU and on the GPU, and the log of the ratio of their costs, GPU to CPU."""
WHERE = ("op", "direction", "mode", "dtype", "size")


@dataclass(frozen=True)
class OnDevice:
    """The fastest variant on one device: its label, its seconds per call, and how many launches measured it."""

    label: str
    seconds: float
    launches: int


@dataclass(frozen=True)
class DeviceComparison:
    """Where an op should run at one size."""

    op: str  # op, direction, mode, dtype and size: the cases that are compared
    direction: str
    mode: str
    dtype: str
    size: int
    cpu: OnDevice  # cpu and gpu: the fastest variant on each device
    gpu: OnDevice
    ratio: float  # time on the GPU over time on the CPU, each with its fastest variant; above 1 the CPU is faster
    low: float | None  # low and high: the interval of the ratio, corrected for all comparisons; None for one launch
    high: float | None
    # Where to run the op; None if the difference is not clear: it is below the minimum effect, or the interval includes
    # 1
    device: Literal["cpu", "gpu"] | None


def device_comparisons(found: Judgement) -> tuple[DeviceComparison, ...]:
    """Return where each op should run, in the order of the latencies; empty if only one device was measured."""
    pairs = _pairs(found)
    return tuple(_compared(pair, _level(found, pairs), found.minimum_effect) for pair in pairs)


def open_device_cases(found: Judgement, failed: Collection[str]) -> frozenset[str]:
    """Return the fastest cases of both devices, wherever more launches could show which device is faster."""
    pairs = [pair for pair in _pairs(found) if pair[0]["case"] not in failed and pair[1]["case"] not in failed]
    level, border = _level(found, pairs), math.log1p(found.minimum_effect)
    open_cases: set[str] = set()
    for pair in pairs:
        cpu, gpu, difference = pair
        low, high = difference.interval(level)
        are_alike = -border < low and high < border  # False without an interval
        if not are_alike and _compared(pair, level, found.minimum_effect).device is None:
            open_cases |= {cpu["case"], gpu["case"]}
    return frozenset(open_cases)


def _level(found: Judgement, pairs: Sequence[Pair]) -> float:
    """Return the level of an interval that is corrected for all comparisons of the run."""
    return 1 - found.rules.error / max(len(pairs), 1)


def _pairs(found: Judgement) -> list[Pair]:
    kinds = {name: found.run.catalogue.variant(name).kind for name in set(found.latencies["variant"])}
    placed: dict[tuple[Any, ...], dict[str, list[Row]]] = {}
    for row in (row for rows in found.rows_by_op.values() for row in rows):
        if kinds[row["variant"]] in CANDIDATES and row["seconds"] > 0 and not row["too_noisy"]:
            where = tuple(row[name] for name in WHERE)
            placed.setdefault(where, {}).setdefault(row["placement"], []).append(row)
    fastest = [
        [min(at[place], key=lambda row: (row["seconds"], row["label"])) for place in DEVICES]
        for at in placed.values()
        if {*DEVICES} <= set(at)
    ]
    if not fastest:
        return []
    compared = [row["case"] for both in fastest for row in both]
    of_launches = estimate.launch_logs(found.rounds[found.rounds["case"].isin(compared)]).dropna(subset="value")
    logs = estimate.launches_by_case(of_launches)
    # Each spread is moved towards what is usual on its device.
    on_cpus, on_gpus = (
        estimate.moderated([logs[row["case"]] for row in device]) for device in zip(*fastest, strict=True)
    )
    return [(cpu, gpu, difference(*each)) for (cpu, gpu), *each in zip(fastest, on_cpus, on_gpus, strict=True)]


def _compared(pair: Pair, level: float, minimum_effect: float) -> DeviceComparison:
    cpu, gpu, difference = pair
    low, high = difference.interval(level)
    is_clear = abs(difference.mean) > math.log1p(minimum_effect) and (low > 0 or high < 0)
    least, most = (None if math.isnan(end) else estimate.exp(end) for end in (low, high))
    device: Literal["cpu", "gpu"] | None = ("cpu" if difference.mean > 0 else "gpu") if is_clear else None
    on_cpu, on_gpu = (OnDevice(row["label"], float(row["seconds"]), int(row["launches"])) for row in (cpu, gpu))
    op, direction, mode, dtype, size = (cpu[name] for name in WHERE)
    ratio = estimate.exp(difference.mean)
    return DeviceComparison(op, direction, mode, dtype, size, on_cpu, on_gpu, ratio, least, most, device)


@dataclass(frozen=True)
class DeviceSummary:
    """Where an op should run over its sizes."""

    op: str  # op, direction, mode and dtype: the cases that are compared
    direction: str
    mode: str
    dtype: str
    sizes: tuple[DeviceComparison, ...]  # the comparison at each measured size, ascending

    def devices_text(self) -> str:
        """Return the device at each range of sizes: `cpu at 10 to 1k, gpu at 1M`."""
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
