"""How a run is measured: what its `run.json` keeps, so that it can be continued."""

from __future__ import annotations

from dataclasses import dataclass

from pyopbench.model.case import Until


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        seed: makes the order of groups, workers and rounds repeatable.
        launches: worker processes at the most for each case, each of which gives one number for it.
        first_rounds: timed blocks of each case in a launch before the data are looked at.
        rounds: timed blocks of each case in a launch, at the most, in all its sweeps.
        until: `decided` ends a case once no answer depends on it, `resolved` once its comparison with the baseline is
            resolved or out of reach as well; `end` measures all cases alike to the end, whatever the data look like.
        block_seconds: about how long a block lasts.
        group_seconds: about how long the rounds of one group may take in one sweep of one launch; slow cases get fewer.
        budget_seconds: nothing is begun that would probably end later than this, but what it takes to have two numbers
            for each case; None for no limit.
        case_timeout_seconds: how long one case may be silent.
        memory_limit_bytes: how much memory a worker may take, as in `memory_limit.limit`; None for as much as there is.
        linearity: in mode node, make graphs of 1, 2, 4 ... 32 copies, which show whether each copy adds as much.
        further: in mode node, callbacks have a graph of two copies beside that of one, which tells what each further
            one costs; no difference between two cases is made of its blocks, so without it the others have their time.
    """

    seed: int
    launches: int
    first_rounds: int
    rounds: int
    until: Until
    block_seconds: float
    group_seconds: float
    budget_seconds: float | None
    case_timeout_seconds: float
    memory_limit_bytes: int | None = None
    linearity: bool = False
    further: bool = True
