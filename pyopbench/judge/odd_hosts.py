"""Which hosts of a fleet are unlike the others: values that are wrong there alone, or blocks that spread far more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from pyopbench.store import run_folder, run_sides
from pyopbench.store.fleet_findings import OddHost
from pyopbench.store.lines import FAILING, GroupLine

LEAST_HOSTS = 3
"""With two hosts nobody can say which of them is the odd one."""
LEAST_CASES = 10
"""Cases by which a host is judged: fewer say more of the cases than of the host."""
MOST_SPREAD = 3.0
"""Times the typical spread of all hosts: hosts that are alike differ by tens of percent, as cases of shards do."""
LEAST_SPREAD = 0.01
"""A spread that is worth no word, however quiet the others are."""
CALLS, SECONDS, COPIES = 2, 3, 4
"""Which numbers of a sample are the calls of its block, their time, and the copies in the graph."""


@dataclass
class HostResults:
    """What a host has measured.

    Attributes:
        shards: their numbers.
        wrong: ids of cases with wrong values.
        right: of cases with samples.
        spreads: of the blocks of each case in each launch, relative to their median.
    """

    shards: list[int] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    right: set[str] = field(default_factory=set)
    spreads: list[float] = field(default_factory=list)


def results_by_host(shards: Mapping[int, tuple[str, Path]]) -> dict[str, HostResults]:
    """Return what each host has measured.

    Args:
        shards: the host and the folder of each.

    Raises:
        BadInput: a folder is not readable.
    """
    found: dict[str, HostResults] = defaultdict(HostResults)
    for shard, (host, folder) in shards.items():
        found[host].shards.append(shard)
        parts = [one.folder for one in run_sides.read(folder)] if run_sides.is_here(folder) else [folder]
        for part in parts:
            _add(found[host], part)
    return dict(found)


def odd_hosts(found: Mapping[str, HostResults]) -> list[OddHost]:
    """Return the hosts that are unlike the others, wrong values first."""
    return [*_wrong(found), *_noisy(found)]


def _add(results: HostResults, folder: Path) -> None:
    for line in run_folder.read_lines(folder)[0]:
        if isinstance(line, FAILING):
            results.wrong |= {failure.case for failure in line.failures if failure.status == "wrong"}
        if isinstance(line, GroupLine):
            results.right |= set(line.samples)
            results.spreads += [spread for samples in line.samples.values() for spread in _spread(samples)]


def _spread(samples: Sequence[Sequence[float]]) -> list[float]:
    """Return half the distance between the quartiles of the blocks of a case in a launch, relative to their median.

    Blocks of graphs with other numbers of copies, the fifth number of a sample, are not of the same time.
    """
    blocks: dict[tuple[float, ...], list[float]] = defaultdict(list)
    for sample in samples:
        blocks[tuple(sample[COPIES:])].append(sample[SECONDS] / sample[CALLS])
    quartiles = [np.quantile(seconds, (0.25, 0.5, 0.75)) for seconds in blocks.values()]
    return [float((high - low) / 2 / middle) for low, middle, high in quartiles if middle > 0]


def _wrong(found: Mapping[str, HostResults]) -> Iterable[OddHost]:
    several = [host for host, results in found.items() if results.wrong]
    for host, results in found.items():
        right_elsewhere = {case for other, one in found.items() if other != host for case in one.right - one.wrong}
        if here := results.wrong & right_elsewhere:
            yield OddHost(host, "wrong_here", len(here), 0.0, 0.0, tuple(results.shards))
        elif results.wrong and several == [host] and len(found) >= LEAST_HOSTS:
            yield OddHost(host, "wrong_only_here", len(results.wrong), 0.0, 0.0, tuple(results.shards))


def _noisy(found: Mapping[str, HostResults]) -> Iterable[OddHost]:
    spreads = {host: median(one.spreads) for host, one in found.items() if len(one.spreads) >= LEAST_CASES}
    if len(spreads) < LEAST_HOSTS:
        return
    typical = median(spreads.values())
    for host, spread in spreads.items():
        if spread > max(MOST_SPREAD * typical, LEAST_SPREAD):
            results = found[host]
            yield OddHost(host, "noisy", len(results.spreads), spread, typical, tuple(results.shards))
