"""Parts of one plan that several machines measure, and what was put together from them: what `run.json` says of it.

A *unit* is an op in one mode, dtype and placement, with all its sizes, variants and directions: whatever is paired, or
weighed against something else in a decision, is of one unit. A *part* is the units of one shard. With replicates, as
many shards measure each part, which are to run on machines of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from pyopbench.model.case import Case
from pyopbench.store.certificate import Environment
from pyopbench.store.validation import corrupt

Number: TypeAlias = Annotated[int, Meta(ge=1)]
PlanHash: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Launches: TypeAlias = Annotated[list[int], Meta(min_length=2, max_length=2)]


def unit_of(case: Case) -> str:
    """Return the unit that a case belongs to, for example `sinh/node/float32/cpu`."""
    return "/".join((case.op, case.mode, case.dtype, case.placement))


class Division(Struct, frozen=True, kw_only=True):
    """How a plan is divided.

    Attributes:
        of: how many shards there are.
        replicates: how many of them measure each part.
        plan: hash of the whole plan, the same in every shard of it.
        parts: units of each part.
    """

    of: Number
    replicates: Number
    plan: PlanHash
    parts: list[list[str]]

    def part_of(self, index: int) -> list[str]:
        """Return the units of a shard, by its number from 1."""
        return self.parts[(index - 1) % len(self.parts)]

    def check(self, place: str) -> None:
        """Check what no type can say.

        Raises:
            BadInput: the numbers do not fit each other; names `place`.
        """
        if self.of != self.replicates * len(self.parts):
            raise corrupt(place, f"{self.of} shards are not {self.replicates} for each of {len(self.parts)} parts")


class Shard(Division, frozen=True, kw_only=True):
    """The part of a plan that a run measures.

    Attributes:
        index: number of the shard, from 1.
        host: name of the machine that it was begun on.
    """

    index: Number
    host: str

    @property
    def units(self) -> list[str]:
        """What it measures."""
        return self.part_of(self.index)

    def check(self, place: str) -> None:
        """Check what no type can say, as `Division.check`."""
        super().check(place)
        if self.index > self.of:
            raise corrupt(place, f"shard {self.index} of {self.of}")


class MergedShard(Struct, frozen=True, kw_only=True):
    """A shard that a run was merged from.

    Attributes:
        index: its number, from 1.
        run: name of its run.
        created: when that was begun, ISO 8601.
        host: name of the machine that it was begun on.
        launches: number of its first launch here, and of the first that is of another shard.
    """

    index: Number
    run: str
    created: str
    host: str
    launches: Launches


class Merged(Division, frozen=True, kw_only=True):
    """What a run was merged from.

    Attributes:
        shards: those that are in it, in the order of their numbers.
        missing: numbers of those that are not.
        hosts: environment of each machine, by name.
    """

    shards: list[MergedShard]
    missing: list[Number]
    hosts: dict[str, Environment]


def lacking(division: Division, there: Sequence[int]) -> list[str]:
    """Return the units that none of the shards with these numbers measures, in order."""
    measured = {unit for index in there for unit in division.part_of(index)}
    return sorted({unit for part in division.parts for unit in part} - measured)
