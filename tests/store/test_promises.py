"""What a certificate is held to, each promise missed by a little."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from certificates import DECISIONS, certificate
from pyopbench.store.certificate import Loss, Overhead, Pairs
from pyopbench.store.promises import (
    BoundsTooTight,
    LosesTooMuch,
    MayBeToldApart,
    Miss,
    NotShownEquivalent,
    SlowdownMissed,
    ToldApart,
    TooCostly,
    TooManyRenamed,
    Undone,
    misses_of,
)

MANY_APART = Pairs(0, 1_000, 1, 1, 980, 18, 1.0, 0.0063, 0.97)
FEW = Pairs(0, 50, 0, 0, 50, 0, 1.0, 0.0582, 0.94)
OPEN = Pairs(0, 1_000, 0, 0, 949, 51, 1.0, 0.003, 0.936)
FIVE = Pairs(5, 100, 0, 94, 0, 6, 1.05, 0.9, 0.0)
TEN = Pairs(10, 100, 0, 98, 2, 0, 1.1, 0.9, 0.0)
RENAMED = replace(DECISIONS, renamed=3 * DECISIONS.renamed)
COSTLY = replace(DECISIONS, mean_loss=0.011)
DEAR = replace(DECISIONS, worst=Loss("relu", "inference", 0.051))
UNBOUNDED = replace(DECISIONS, unbounded=1)


def test_a_good_certificate_misses_nothing() -> None:
    assert misses_of(certificate()) == ()
    assert misses_of(certificate(decisions=replace(DECISIONS, renamed=2 * DECISIONS.renamed))) == ()


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"identical": MANY_APART}, ToldApart(MANY_APART, 0.001)),
        ({"identical": FEW}, MayBeToldApart(FEW, 0.05)),
        ({"identical": OPEN}, NotShownEquivalent(OPEN, 0.95)),
        ({"injected": (FIVE,)}, SlowdownMissed(FIVE, 0.95)),
        ({"injected": (TEN,)}, SlowdownMissed(TEN, 0.99)),
        ({"overheads": (Overhead(20e-6, 20.5e-6),)}, TooCostly(Overhead(20e-6, 20.5e-6), 0.02)),
        ({"overheads": (Overhead(20e-6, 19.5e-6),)}, TooCostly(Overhead(20e-6, 19.5e-6), 0.02)),
        ({"decisions": RENAMED}, TooManyRenamed(RENAMED, 1 / 12)),
        ({"decisions": COSTLY}, LosesTooMuch(COSTLY, 0.01, 0.05)),
        ({"decisions": DEAR}, LosesTooMuch(DEAR, 0.01, 0.05)),
        ({"decisions": UNBOUNDED}, BoundsTooTight(UNBOUNDED)),
        ({"undone": ("decisions-3",)}, Undone(("decisions-3",))),
    ],
)
def test_what_is_not_as_good_as_promised_is_named(changes: dict[str, Any], missed: Miss) -> None:
    assert misses_of(certificate(**changes)) == (missed,)


@pytest.mark.parametrize(
    "changes", [{"identical": FEW}, {"decisions": RENAMED}, {"decisions": COSTLY}, {"decisions": UNBOUNDED}]
)
def test_a_quick_certificate_is_not_held_to_what_takes_many_pairs_and_decisions(changes: dict[str, Any]) -> None:
    assert misses_of(certificate(quick=True, **changes)) == ()


def test_what_was_not_measured_is_not_held_to_anything() -> None:
    assert misses_of(certificate(decisions=None, run_effect=None)) == ()
    assert misses_of(certificate(injected=(Pairs(5, 0, 0, 0, 0, 0, None, 0.0, 0.0),))) == ()
