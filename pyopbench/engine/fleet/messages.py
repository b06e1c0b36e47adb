"""What happens to a fleet of hosts, and what is odd about some of them, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.model import formatting
from pyopbench.store.fleet_findings import FleetEvent, HostProblem, OddHost

if TYPE_CHECKING:
    from pyopbench.engine.fleet.dispatch import Snapshot

LONGEST_TOLD = 200
"""Characters of what a host said that stand in a line."""


def event_text(event: FleetEvent) -> str:
    """Return what happened."""
    host, shard, told = event.host, event.shard, _shown(event.told)
    return {
        "joined": f"{host} can measure",
        "refused": f"{host} gets no work: {told}",
        "disturbed": f"{host} measures with Dask's {told} on, which disturbs its worker",
        "lost": f"{host} is gone" + (f"; shard {shard} goes to another host" if shard else ""),
        "arrived": f"shard {shard} is here, measured by {host} in {formatting.duration(event.seconds)}",
        "doubled": f"shard {shard} arrived a second time, from {host}, and is ignored",
        "failed": f"shard {shard} failed on {host}: {told or 'without a message'}",
        "given_up": f"shard {shard} is given up: no host can measure it",
        "set_aside": f"{host} gets no more shards, because it failed twice in a row",
        "not_heard": "the scheduler does not answer; waiting for it",
        "heard_again": "the scheduler answers again",
    }[event.kind]


def progress_text(snapshot: Snapshot) -> str:
    """Return how far a fleet is, for a line of progress."""
    measuring = formatting.count(len(snapshot.running), "host") + " measuring"
    idle = f", {len(snapshot.idle)} idle" if snapshot.idle else ""
    return f"{snapshot.done:,} of {snapshot.of:,} shards, {measuring}{idle}"


def left_text(snapshot: Snapshot) -> str:
    """Return how long a fleet will still take; nothing where that is not known."""
    return "" if snapshot.seconds_left is None else f"about {formatting.duration(snapshot.seconds_left)} left"


def odd_text(odd: OddHost) -> str:
    """Return what is odd about a host."""
    shards = formatting.listing([str(shard) for shard in odd.shards])
    of = f"{odd.host} (shards {shards})" if len(odd.shards) > 1 else f"{odd.host} (shard {shards})"
    cases = formatting.count(odd.cases, "case")
    if odd.kind == "wrong_here":
        return f"{of} found {cases} wrong that another host found right"
    if odd.kind == "wrong_only_here":
        return f"{of} found {cases} wrong, and no other host found any"
    spreads = f"{formatting.percent(odd.spread)} of their median, {formatting.percent(odd.others)} on a typical host"
    return f"{of} is noisier than the others: half of its blocks differ by more than {spreads}"


def problem_text(problem: HostProblem) -> str:
    """Return what a host lacks, and what to do about it."""
    told = _shown(problem.told)
    offset = f"{abs(problem.seconds):.1f} s {'ahead' if problem.seconds > 0 else 'behind'}"
    return {
        "resource": "gets no work: start its worker with --resources measure=1",
        "address": f"is not contacted: {told}",
        "silent": "does not answer",
        "version": f"has another pyopbench ({told}); install the same on all hosts",
        "tensorflow": "has no TensorFlow and no environment yet; --tf VERSION creates one",
        "compiler": "has no g++, so C++ kernels cannot be compiled there",
        "lock": f"cannot be locked: {told}",
        "disk": "has less than 2 GB left on the disk of its cache",
        "clock": f"has a clock that is {offset} of this machine's",
        "dask": f"has Dask's {told} on; DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED=False and "
        "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED=False switch them off",
        "measuring": "is measuring now",
    }[problem.kind]


def kinds_text(kinds: Sequence[Sequence[str]]) -> list[str]:
    """Return which hosts are alike, a line for each kind of machine."""
    if len(kinds) == 1:
        return ["all hosts that answer are alike: their times can be compared"]
    return [f"kind {number}: {formatting.listing(list(names))}" for number, names in enumerate(kinds, start=1)]


def _shown(told: str) -> str:
    """Return what a host said, in one line, of which the end counts most."""
    line = " ".join(told.split())
    return line if len(line) <= LONGEST_TOLD else f"... {line[-LONGEST_TOLD:]}"
