"""How near each call comes to what the machine can do at most: the roofline bound of its op, and the share of it.

A forward call moves `Op.bytes_moved` bytes and does `Op.flops` operations at least. It cannot take less than either of
them takes by itself, and the longer of the two bounds it (Williams, Waterman and Patterson, Roofline, Communications of
the ACM 52(4), 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from pyopbench.judge.latencies import BOUNDED
from pyopbench.store.run_json import UNKNOWN_OP, OpFacts

if TYPE_CHECKING:
    from pyopbench.store.line_types import Bandwidth as StoredBandwidth
    from pyopbench.store.measured_run import Run


BEYOND_SHARE = 1.25
"""That far above its bound a call is not by chance: it does less than its op counts, or less far away."""
Beyond: TypeAlias = Literal["handed_on", "fewer_bytes", "fewer_operations"]
"""Why a call may be faster than its bound: an op that only moves data may hand its input on and copy nothing; else it
needs fewer bytes or operations than its op counts."""

BRIEF: dict[Beyond, str] = {
    "handed_on": "passed on, not copied",
    "fewer_bytes": "fewer bytes",
    "fewer_operations": "fewer operations",
}
"""For a cell, behind the share."""


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second of copies and triads that move `working_set_bytes` in one pass."""

    working_set_bytes: int
    copy: float
    triad: float

    @property
    def best(self) -> float:
        """The faster of the two, because a bound is a best case."""
        return max(self.copy, self.triad)


@dataclass(frozen=True)
class Limits:
    """What the machine can do at most; medians over launches.

    Attributes:
        bandwidths: by working set, ascending.
        peaks: dtype -> arithmetic operations per second.
        launches: how many measured it.
    """

    bandwidths: tuple[Bandwidth, ...]
    peaks: Mapping[str, float]
    launches: int

    def bandwidth(self, count: int) -> float:
        """Return the bytes per second at which `count` bytes, at least 1, are moved.

        Between two working sets it is on the line between them, both axes logarithmic; beyond the ends as there.
        """
        sets = [one.working_set_bytes for one in self.bandwidths]
        logs = np.log([one.best for one in self.bandwidths])
        return float(np.exp(np.interp(np.log(count), np.log(sets), logs)))


@dataclass(frozen=True)
class Bound:
    """What the machine's limits leave of a case.

    Attributes:
        case: the id of the case.
        latency: seconds per call that were measured.
        seconds: the least that a call can take.
        limit: what takes that long, moving the bytes (`memory`) or the operations (`arithmetic`).
        only_moves: does the op no arithmetic at all, such as `identity`?
    """

    case: str
    latency: float
    seconds: float
    limit: Literal["memory", "arithmetic"]
    only_moves: bool = False

    @property
    def share(self) -> float:
        """The bound as a share of the measured time: 1 is as fast as the machine can be."""
        return self.seconds / self.latency

    @property
    def beyond(self) -> Beyond | None:
        """Why the call is faster than its bound; None where it is not, by more than the two may be off."""
        if self.share <= BEYOND_SHARE:
            return None
        if self.limit == "arithmetic":
            return "fewer_operations"
        return "handed_on" if self.only_moves else "fewer_bytes"


def limits_of(run: Run) -> Limits | None:
    """Return the limits that a run has stored, or None where no launch could measure them."""
    lines = [line for line in run.limits if line.bandwidths]
    if not lines:
        return None
    found: dict[int, list[StoredBandwidth]] = {}
    for line in lines:
        for bandwidth in line.bandwidths:
            found.setdefault(bandwidth.working_set_bytes, []).append(bandwidth)
    bandwidths = tuple(
        Bandwidth(count, median(one.copy for one in same), median(one.triad for one in same))
        for count, same in sorted(found.items())
    )
    dtypes = sorted({dtype for line in lines for dtype in line.peaks})
    peaks = {dtype: median(line.peaks[dtype] for line in lines if dtype in line.peaks) for dtype in dtypes}
    return Limits(bandwidths, peaks, len(lines))


def bounds_of(latencies: pd.DataFrame, ops: Mapping[str, OpFacts], limits: Limits | None) -> tuple[Bound, ...]:
    """Return the bound of each case that can have one, in the order of `latencies`.

    Args:
        latencies: one row per measured case, as `latencies.latency_table`.
        ops: what the catalogue says about each op; a case that its op says nothing about has no bound.
        limits: of the machine; None gives no bounds.
    """
    if limits is None:
        return ()
    found = (_bound(row, ops.get(row["op"], UNKNOWN_OP), limits) for row in bounded_rows(latencies))
    return tuple(bound for bound in found if bound is not None)


def bounded_rows(latencies: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of the cases that have a bound if their op says what it moves and the limits are known."""
    rows: Iterable[dict[Any, Any]] = latencies.to_dict("records")
    return [row for row in rows if all(row[name] == value for name, value in BOUNDED.items())]


def _bound(row: Mapping[str, Any], op: OpFacts, limits: Limits) -> Bound | None:
    size = int(row["size"])
    moved = op.bytes_moved.get(row["dtype"], {}).get(size)
    operations, peak = op.flops.get(size), limits.peaks.get(row["dtype"])
    if moved is None or operations is None or peak is None:
        return None
    memory, arithmetic = moved / limits.bandwidth(max(moved, 1)), operations / peak
    limit: Literal["memory", "arithmetic"] = "arithmetic" if arithmetic > memory else "memory"
    return Bound(str(row["case"]), float(row["seconds"]), max(memory, arithmetic), limit, only_moves=operations == 0)


def nearest(bounds: Sequence[Bound]) -> Bound:
    """Return the one that comes nearest its bound, the first of equals; there has to be one."""
    return max(bounds, key=lambda bound: bound.share)


def beyond_text(beyond: Beyond) -> str:
    """Return why a call is faster than its bound; a clause, without a full stop."""
    match beyond:
        case "handed_on":
            return (
                "above 100%: TensorFlow passes the buffer on instead of copying it, or the copy stays in a nearer cache"
            )
        case "fewer_bytes":
            return "above 100%: it moves fewer bytes than the op counts, or they are in a nearer cache"
        case "fewer_operations":
            return "above 100%: it needs fewer operations than the op counts, or faster ones than those of the peak"
