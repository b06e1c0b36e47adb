"""The cases that every tool measures, and how they reach its processes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from pyopbench.model.case import NO_GRADIENT, Case

OPS = ("sinh", "relu", "log", "identity")
SIZES = (1, 1_000, 100_000)
VARIANTS = ("native", "numpy_function")

VARIABLE = "PYOPBENCH_PEER_CASES"
"""Environment variable with the ids of the cases, one per line."""


def cases(most: int | None = None) -> tuple[Case, ...]:
    """Return forward cases of `tf.function` calls: ops by sizes by variants, the first `most` of them.

    A product of axes, because that is what `pyopbench run` measures; every other tool takes any list.
    """
    every = (
        Case(op, variant, NO_GRADIENT, "forward", "call", "float32", size)
        for op in OPS
        for size in SIZES
        for variant in VARIANTS
    )
    return tuple(every)[:most]


def environment_of(chosen: Sequence[Case]) -> dict[str, str]:
    """Return the environment variable that hands cases to a tool's processes."""
    return {VARIABLE: "\n".join(case.id for case in chosen)}


def handed_over() -> list[str]:
    """Return the ids of the cases that `environment_of` handed to this process."""
    return os.environ[VARIABLE].splitlines()
