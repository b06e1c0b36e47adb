"""What a port is worth in a step, in whole sentences."""

from __future__ import annotations

import math

from pyopbench.judge.step_savings import Port, Step, Worth
from pyopbench.report.wording.step_savings import step_text, worth_text

NATIVE = Port("native", 0.75, 0.744, 0.0625, 0.064, 2.08, 2.06, 1.23, 1.22)
PLACE = ("sinh", "inference", "call", "float32", "cpu", "py_func")
CEILING = "without it the step would be about 1.33× as fast"


def test_what_was_given() -> None:
    def given(calls: str) -> str:
        return (
            f"For your step of 40.0 ms with {calls} of the op. The op's share is the measured time of its calls, one "
            "after another. If calls in your program wait for the GIL, it is larger, and a port can save more."
        )

    assert step_text(Step(calls=5, seconds=0.04)) == given("5.00 calls")
    assert step_text(Step(calls=1, seconds=0.04)) == given("1.00 call")


def test_the_surest_port_is_named_with_its_hours() -> None:
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 0.25, (NATIVE,)), "sinh, inference") == (
        f"sinh, inference: 2.00 ms per call, 25% of the step; {CEILING}. native saves at least 2.06 hours per "
        "million steps."
    )


def test_callbacks_between_other_ops_cost_what_the_first_does() -> None:
    assert worth_text(Worth(*PLACE, 2e-4, 6e-4, 0.25, (NATIVE,)), "sinh") == (
        "sinh: 200 µs per call (up to 600 µs if other ops run between the calls), 25% of the step; "
        f"{CEILING}. native saves at least 2.06 hours per million steps."
    )


def test_without_a_port_that_saves_for_sure_that_is_said() -> None:
    unsure = Port("native", 0.75, math.nan, 0.0625, math.nan, 2.08, math.nan, 1.23, math.nan)
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 0.25, (unsure,)), "sinh") == (
        f"sinh: 2.00 ms per call, 25% of the step; {CEILING}. No port is certain to save time."
    )


def test_calls_that_take_more_than_the_step_overlap() -> None:
    said = (
        "sinh: 2.00 ms per call. All calls together take 1.42 times as long as the step, so at least 2 overlap "
        "(or your step was timed on another machine), and how much of the step a port saves is unknown. "
    )
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 1.42, (NATIVE,)), "sinh") == (
        f"{said}native saves at least 74.4% of the time of the calls; time a step with it to see what the step gains."
    )
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 1.42, ()), "sinh") == f"{said}No port is certain to save time."
