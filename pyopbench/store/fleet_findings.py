"""What happens to a fleet, and what its hosts lack or do otherwise than the others: values, worded by the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "joined",
    "refused",
    "disturbed",
    "lost",
    "arrived",
    "doubled",
    "failed",
    "given_up",
    "set_aside",
    "not_heard",
    "heard_again",
]


@dataclass(frozen=True)
class FleetEvent:
    """Something that happened while a fleet was running.

    Attributes:
        kind: `joined`, a host can measure; `refused`, it may not; `disturbed`, something of Dask runs beside what it
            measures; `lost`, it is gone, and its shard goes to another; `arrived`, a shard is on the disk; `doubled`,
            it came a second time and was thrown away; `failed`, it could not be measured on the host; `given_up`, nor
            on others; `set_aside`, a host gets no more shards; `not_heard`, nobody answers for the scheduler;
            `heard_again`, it does.
        host: that it is about; empty for none.
        shard: that it is about; 0 for none.
        seconds: what measuring the shard took.
        told: what the host said, or what is on.
    """

    kind: Kind
    host: str = ""
    shard: int = 0
    seconds: float = 0.0
    told: str = ""


Lack = Literal[
    "resource", "address", "silent", "version", "tensorflow", "compiler", "lock", "disk", "clock", "dask", "measuring"
]


@dataclass(frozen=True)
class HostProblem:
    """What is wrong with a host, or is to be known of it.

    Attributes:
        host: its name; its address where it does not tell a name.
        kind: `resource`, its worker has none that is called measure; `address`, it may not be spoken to; `silent`, it
            does not answer; `version`, it has another pyopbench; `tensorflow`, it has none; `compiler`, likewise;
            `lock`, it cannot be locked; `disk`, it is nearly full; `clock`, it is off; `dask`, something of Dask is on
            that disturbs; `measuring`, somebody measures there now.
        told: the value.
        seconds: by which the clock is off.
    """

    host: str
    kind: Lack
    told: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class OddHost:
    """A host whose results are unlike those of the others.

    Attributes:
        host: its name.
        kind: `wrong_here`, cases are wrong that are right on another host; `wrong_only_here`, cases are wrong, and none
            on any other host; `noisy`, its blocks spread far more.
        cases: how many are wrong, or were looked at.
        spread: of blocks, relative to their median, typically; 0 where it is about values.
        others: the same of all hosts, typically.
        shards: that it measured.
    """

    host: str
    kind: Literal["wrong_here", "wrong_only_here", "noisy"]
    cases: int
    spread: float
    others: float
    shards: tuple[int, ...]
