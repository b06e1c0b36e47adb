"""How a run is measured, from what its caller says of it: the command line and Python ask here alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyopbench.engine import start
from pyopbench.engine.settings import Settings
from pyopbench.model.case import UNLIMITED, UNTIL, Axes
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text


def settings_for(  # noqa: PLR0913 - an option of the command line each, and each has its default
    axes: Axes,
    *,
    launches: int | None = None,
    rounds: int | None = None,
    until: str | None = None,
    budget_seconds: float | None = None,
    case_timeout_seconds: float | None = None,
    memory_limit_bytes: int | None = None,
    linearity: bool = False,
    seed: int = 0,
    versions: Sequence[str] = (),
    revisions: Sequence[str] = (),
) -> Settings:
    """Return the settings of a quick run or of a full one, with what is given in place of the usual.

    Args:
        axes: what to cover; `quick` says which settings are the usual ones.
        launches: as in `Settings`, as all that follow; None for the usual. Where versions or revisions are compared
            within a budget, and neither launches nor rounds are given, there are as many of both as it allows.
        rounds: None for the usual, as of launches.
        until: None for the usual: a quick run stops once its answers are decided.
        budget_seconds: None for the usual: a quick run of few ops has less, and one on several versions more.
        case_timeout_seconds: None for the usual.
        memory_limit_bytes: None for no limit.
        linearity: make graphs of 1, 2, 4 ... copies.
        seed: of the order.
        versions: of TensorFlow, that one budget is for.
        revisions: to compare.

    Raises:
        BadInput: `until` is not one of `UNTIL`.
    """
    if until is not None and until not in UNTIL:
        raise BadInput(
            "a run cannot stop at that",
            received=option_text("until", until),
            legal=f"one of {', '.join(UNTIL)}",
            hint="leave it out for the usual",
        )
    usual = start.QUICK if axes.quick else start.FULL
    budget = _usual_budget(axes, usual, versions) if budget_seconds is None else budget_seconds
    if budget is not None and (versions or revisions) and launches is None and rounds is None:
        usual = replace(usual, launches=UNLIMITED, rounds=UNLIMITED)
    return replace(
        usual,
        seed=seed,
        launches=launches or usual.launches,
        first_rounds=min(usual.first_rounds, rounds or usual.rounds),
        rounds=rounds or usual.rounds,
        until=until or usual.until,
        budget_seconds=budget,
        case_timeout_seconds=usual.case_timeout_seconds if case_timeout_seconds is None else case_timeout_seconds,
        memory_limit_bytes=memory_limit_bytes,
        linearity=linearity,
    )


def _usual_budget(axes: Axes, usual: Settings, versions: Sequence[str]) -> float | None:
    """Return the usual budget: of a quick run less where it names few ops, and as often as there are versions."""
    if usual.budget_seconds is None:
        return None
    named = start.QUICK_OP_SECONDS * len(axes.ops) or usual.budget_seconds
    return min(named, usual.budget_seconds) * len(versions or [""])
