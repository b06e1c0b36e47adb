"""What is asked for of revisions, and what a comparison of them fails on, for the command line and for Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text
from pyopbench.model.parse import parse_fail_on

USUAL_FAILURE = "slower"
EXAMPLE = ["main", "HEAD"]
EFFECT_PER_SLOWDOWN = 3
"""A slowdown that is to fail is as often the smallest difference that counts, where only the one is given."""


@dataclass(frozen=True)
class RevisionRequest:
    """Which revisions to measure.

    Attributes:
        asked: those that are named.
        every: of a range, take each so many-th commit.
        each_has_budget: is the budget that of one revision, and not of all?
    """

    asked: tuple[str, ...]
    every: int
    each_has_budget: bool


def check_revisions(
    rev: Sequence[str], tf: Sequence[str], fail_on: str | None, every: int, minimum_effect: float
) -> None:
    """Check what is asked for of revisions before anything is done.

    Raises:
        BadInput: versions of TensorFlow beside revisions, or nothing that a comparison can fail on.
    """
    slowdown_of(fail_on, minimum_effect)
    if every < 1:
        raise BadInput(
            "no such step",
            received=option_text("every", every),
            legal="1 or more",
            hint=f"for example {option_text('every', 5)}",
        )
    if not rev and (fail_on is not None or every > 1):
        raise BadInput(
            "without revisions there is nothing to compare",
            received=option_text("every", every) if fail_on is None else option_text("fail_on", fail_on),
            legal=f"together with {option_text('rev')}, two or a range",
            hint=f"for example {option_text('rev', EXAMPLE)}; for stored results use pyopbench compare --fail-on",
        )
    if rev and tf:
        raise BadInput(
            "a run compares either revisions or TensorFlow versions",
            received=f"{option_text('rev', list(rev))} with {option_text('tf', list(tf))}",
            legal=f"{option_text('rev')} with the installed TensorFlow, or {option_text('tf')}",
            hint=f"use {option_text('rev')} in a separate environment for each TensorFlow",
        )


def slowdown_of(fail_on: str | None, minimum_effect: float) -> float | None:
    """Return the slowdown that fails, as a share; None if none does.

    Raises:
        BadInput: as `parse.parse_fail_on`.
    """
    return parse_fail_on(fail_on or USUAL_FAILURE, minimum_effect)


def usual_effect(fail_on: str | None) -> float:
    """Return the smallest difference that counts where none is given: the usual one, or less for a strict gate.

    A verdict says that a slowdown is above the smallest difference that counts, so that one which is to fail has to be
    well above it to be found.
    """
    slowdown = parse_fail_on(fail_on, 0.0) if fail_on else None
    return min(round(slowdown / EFFECT_PER_SLOWDOWN, 6), MINIMUM_EFFECT) if slowdown else MINIMUM_EFFECT
