"""How a run is measured: what its `run.json` keeps, so that it can be continued."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        seed: makes the order of groups and rounds repeatable.
        first_look: launches of everything that is planned, before the data are looked at.
        launches: worker processes at the most, each of which gives one number for each case that it measures.
        rounds: timed blocks of each case in a launch, at the most; `LATER_ROUNDS` times that after the first look.
        block_seconds: about how long a block lasts.
        group_seconds: about how long the rounds of one group may take in a launch; slow cases get fewer rounds.
        budget_seconds: no launch is begun that would probably end later than this; None for no limit.
        case_timeout_seconds: how long one case may be silent.
        memory_limit_bytes: how much memory a worker may take, as in `memory_limit.limit`; None for as much as there is.
    """

    seed: int
    first_look: int
    launches: int
    rounds: int
    block_seconds: float
    group_seconds: float
    budget_seconds: float | None
    case_timeout_seconds: float
    memory_limit_bytes: int | None = None
