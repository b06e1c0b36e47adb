"""What is known of a body's cost, on a clock whose every reading, call and wait costs what the test says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyopbench.worker import sampling
from pyopbench.worker.sampling import DURATIONS, known_seconds, waiting

READING = 2.0**-25


class FakeClock:
    """Moves on by `READING` with each reading."""

    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        self.now += READING
        return self.now


@pytest.mark.parametrize("seconds", DURATIONS)
def test_a_body_waits_until_its_time_is_over_and_no_step_longer(seconds: float) -> None:
    clock = FakeClock()
    start = clock.now
    waiting(seconds, clock)()
    assert seconds < clock.now - start <= seconds + 2 * READING


def test_what_is_known_is_what_a_call_costs_without_the_clock_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call costs a microsecond beyond its wait; a row that something interrupts does not count."""
    clock, calls = FakeClock(), iter(range(1_000_000))

    def costly(seconds: float, _: Callable[[], float]) -> Callable[[], None]:
        def body() -> None:
            clock.now += seconds + 1e-6 + (0.5 if next(calls) % 37 == 0 else 0.0)

        return body

    monkeypatch.setattr(sampling, "waiting", costly)
    assert known_seconds(clock) == pytest.approx([seconds + 1e-6 for seconds in DURATIONS])
