"""What the hosts of a fleet are, which of them are alike, and what each of them lacks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pyopbench.engine.fleet.answers import Known
from pyopbench.engine.fleet.connection import Connection
from pyopbench.engine.fleet.messages import Facts
from pyopbench.store.fleet_findings import HostProblem

GIB = 2**30
LEAST_FREE_BYTES = 2 * GIB
"""Of the disk of the cache: environments of TensorFlow take about 3 GB, shards some megabytes."""
MOST_OFFSET_SECONDS = 1.0
"""By which a clock may be off: results have the times at which they were begun."""


@dataclass(frozen=True)
class Examined:
    """A host that was looked at.

    Attributes:
        address: of its worker.
        facts: what it is; None if it did not answer.
        offset_seconds: by which its clock is ahead of this machine's; None if it did not answer.
        error_seconds: by how much that may be wrong: half of what the question took.
    """

    address: str
    facts: Facts | None
    offset_seconds: float | None = None
    error_seconds: float = 0.0

    @property
    def name(self) -> str:
        """The name of the host; the address of one that does not tell."""
        return self.address if self.facts is None else self.facts.host


def examine(connection: Connection) -> tuple[list[Examined], list[HostProblem]]:
    """Return every host of a scheduler, and what is wrong with each."""
    examined: list[Examined] = []
    problems: list[HostProblem] = []
    for known in connection.workers():
        one = _examine(connection, known)
        examined.append(one)
        problems += problems_of(one, known)
    return examined, problems


def _examine(connection: Connection, known: Known) -> Examined:
    if known.facts is None:
        return Examined(known.address, None)
    before = time.time()
    facts = connection.ask_for_facts(known.address)
    after = time.time()
    if facts is None:
        return Examined(known.address, None)
    return Examined(known.address, facts, facts.now - (before + after) / 2, (after - before) / 2)


def problems_of(one: Examined, known: Known) -> list[HostProblem]:
    """Return what a host lacks, or what is to be known before it measures."""
    name, facts = one.name, one.facts
    if facts is None:
        return [HostProblem(name, "address" if known.refused else "silent", known.refused)]
    offset = one.offset_seconds or 0.0
    found = [
        (not known.has_resource, HostProblem(name, "resource")),
        (bool(known.refused), HostProblem(name, "version", known.refused)),
        (not facts.tensorflow and not facts.environments, HostProblem(name, "tensorflow")),
        (facts.compiler is None, HostProblem(name, "compiler")),
        (bool(facts.lock), HostProblem(name, "lock", facts.lock)),
        (facts.free_bytes is not None and facts.free_bytes < LEAST_FREE_BYTES, HostProblem(name, "disk")),
        (abs(offset) - one.error_seconds > MOST_OFFSET_SECONDS, HostProblem(name, "clock", seconds=offset)),
        (bool(facts.dask), HostProblem(name, "dask", " and ".join(facts.dask))),
        (bool(facts.is_measuring), HostProblem(name, "measuring")),
    ]
    return [problem for is_so, problem in found if is_so]


def kinds_of(examined: Sequence[Examined]) -> list[list[str]]:
    """Return the names of hosts that are alike in all that a time depends on, most of them first."""
    found: dict[object, list[str]] = defaultdict(list)
    for one in examined:
        if one.facts is not None:
            found[_kind(one.facts)].append(one.name)
    return sorted(found.values(), key=lambda names: (-len(names), names))


def _kind(facts: Facts) -> tuple[object, ...]:
    memory = None if facts.memory_bytes is None else round(facts.memory_bytes / GIB)
    machine = (facts.cpu, facts.cores, memory, facts.governor, tuple(facts.gpus))
    return (*machine, facts.tensorflow, facts.compiler, facts.cuda_compiler)
