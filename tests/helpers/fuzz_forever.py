"""Fuzzing for as long as it is let: Hypothesis chooses what is tampered with and how, and makes failing inputs small.

`python tests/helpers/fuzz_forever.py [SECONDS]` goes on until SECONDS are over, or until Ctrl-C. What fails is printed,
kept below `.fuzz/` (the input, and what Hypothesis needs to try it again first the next time), and does not end it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.errors import Flaky

import mutants

EXAMPLES = 100
"""In a round, a few seconds; Hypothesis begins each anew, with what has failed before."""
EXIT_FAILED = 1

Attempt = Callable[[random.Random], list[str]]


class NotAsDocumented(Exception):
    """A command did not end as documented."""


def fuzz(seconds: float, tell: Callable[[str], object], examples: int = EXAMPLES) -> tuple[int, int]:
    """Try mutants in rounds until some seconds are over.

    Args:
        seconds: from now; a round that has begun is ended.
        tell: is told each failure.
        examples: mutants in a round.

    Returns:
        How many mutants were tried, and how many rounds failed.
    """
    end, tried, failed = time.monotonic() + seconds, 0, 0
    with mutants.fuzzing() as fuzzer:

        def counted(rng: random.Random) -> list[str]:
            nonlocal tried
            tried += 1
            return fuzzer.attempt(rng)

        while time.monotonic() < end:
            problem = _round(counted, examples)
            if problem is not None:
                failed += 1
                tell(problem)
    return tried, failed


def _round(attempt: Attempt, examples: int) -> str | None:
    """Return what failed in a round, or None."""
    kept = settings(
        max_examples=examples,
        deadline=None,
        database=DirectoryBasedExampleDatabase(mutants.KEPT / "examples"),
        phases=[Phase.reuse, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )

    @kept
    @given(seed=st.integers(0, 2**64 - 1))  # one draw: how many a mutant takes depends on what a command has left
    def ends_as_documented(seed: int) -> None:
        problems = attempt(random.Random(seed))
        if problems:
            raise NotAsDocumented("\n".join(problems))

    try:
        ends_as_documented()
    except (NotAsDocumented, Flaky) as error:  # flaky: the same mutant is not always seen through
        return str(error)
    return None


def main() -> int:
    """Fuzz, print what is found, and return the exit code."""
    seconds = float(sys.argv[1]) if sys.argv[1:] and sys.argv[1] else float("inf")
    began = time.monotonic()
    try:
        tried, failed = fuzz(seconds, lambda problem: sys.stdout.write(f"{problem}\n") and sys.stdout.flush())
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(f"{tried:,} mutants in {time.monotonic() - began:.0f} s; {failed:,} rounds failed\n")
    return EXIT_FAILED if failed else 0


if __name__ == "__main__":
    sys.exit(main())
