"""Made-up certificates, for the tests of what keeps, shows and judges by them."""

from __future__ import annotations

import json
from typing import Any

from pyopbench.store.certificate import (
    Certificate,
    ControlRun,
    Decisions,
    GivenAnswer,
    Loss,
    Overhead,
    Pairs,
    Renamed,
    RunEffect,
)

ENVIRONMENT: dict[str, Any] = {
    "cpu": "made up",
    "cores": 2,
    "tensorflow": "2.21.0",
    "numpy": "2.4.6",
    "python": "3.11.7",
    "pyopbench": "0.1.0",
    "commit": None,
    "dirty": False,
}


DECISIONS = Decisions(
    runs=3,
    decisions=24,
    renamed=(
        Renamed(
            "sinh",
            "training",
            (GivenAnswer("keep", None), GivenAnswer("undecided", None), GivenAnswer("port", "native")),
        ),
    ),
    mean_loss=0.005,
    worst=Loss("relu", "inference", 0.025),
    unbounded=0,
    covered=0.95,
)


def certificate(**changes: Any) -> Certificate:
    """Return a certificate that keeps every promise, but for what is changed."""
    content: dict[str, Any] = {
        "created": "2030-01-01T00:00:00+00:00",
        "command": ("pyopbench", "certify"),
        "quick": False,
        "seconds": 1400.0,
        "minimum_effect": 0.03,
        "environment": ENVIRONMENT,
        "mode": "node",
        "controls": (ControlRun(18, 24, "look"), ControlRun(24, 24, "launches"), ControlRun(20, 24, "budget")),
        "identical": Pairs(0, 1_080, 1, 0, 1_070, 9, 1.0002, 0.0044, 0.985),
        "injected": (
            Pairs(5, 120, 0, 118, 0, 2, 1.0502, 0.95, 0.0),
            Pairs(10, 120, 0, 120, 0, 0, 1.1003, 0.975, 0.0),
        ),
        "effect": 0.012,
        "effect_90": 0.025,
        "overheads": (Overhead(20e-6, 20.01e-6), Overhead(200e-6, 200.01e-6), Overhead(2e-3, 2.00001e-3)),
        "timer_seconds": 4.2e-8,
        "timer_error_seconds": 5e-10,
        "decisions": DECISIONS,
        "run_effect": RunEffect(0.02, 0.01, 0.125, 0.044, 3, 96),
        "undone": (),
    }
    return Certificate(**{**content, **changes})


def as_stored(made: Certificate) -> dict[str, Any]:
    """Return a certificate as it is read back."""
    content: dict[str, Any] = json.loads(made.as_json())
    return content
