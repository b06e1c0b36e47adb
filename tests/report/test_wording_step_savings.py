"""What a port is worth in a step, in whole sentences."""

from __future__ import annotations

import math

from pyopbench.judge.step_savings import Port, Step, Worth
from pyopbench.report.wording.step_savings import step_text, worth_text

NATIVE = Port("native", 0.75, 0.744, 0.0625, 0.064, 2.08, 2.06, 1.23, 1.22)
PLACE = ("sinh", "inference", "call", "float32", "cpu", "py_func")
CEILING = "if it cost nothing at all, the step would be 1.33× as fast, and no port does more"


def test_what_was_given() -> None:
    def given(calls: str) -> str:
        return (
            f"For a step of 40.0 ms with {calls} of the op, as they were given. What is not the op stays as it is "
            "(Amdahl's law), so the op's share of the step is all that a port can save."
        )

    assert step_text(Step(calls=5, seconds=0.04)) == given("5.00 calls")
    assert step_text(Step(calls=1, seconds=0.04)) == given("1.00 call")


def test_the_surest_port_is_named_with_its_hours() -> None:
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 0.25, (NATIVE,)), "sinh, inference") == (
        f"sinh, inference: 2.00 ms a call today, 25% of the step; {CEILING}. "
        "native saves at least 2.06 hours per million steps."
    )


def test_callbacks_between_other_ops_cost_what_the_first_does() -> None:
    assert worth_text(Worth(*PLACE, 2e-4, 6e-4, 0.25, (NATIVE,)), "sinh") == (
        "sinh: 200 µs a call today (up to 600 µs with other ops between the calls, and so much more to save), 25% of "
        f"the step; {CEILING}. native saves at least 2.06 hours per million steps."
    )


def test_without_a_port_that_saves_for_sure_that_is_said() -> None:
    unsure = Port("native", 0.75, math.nan, 0.0625, math.nan, 2.08, math.nan, 1.23, math.nan)
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 0.25, (unsure,)), "sinh") == (
        f"sinh: 2.00 ms a call today, 25% of the step; {CEILING}. No port saves time for sure."
    )


def test_calls_that_take_more_than_the_step_overlap() -> None:
    said = (
        "sinh: 2.00 ms a call today, and all calls together take 1.42 times as long as the step, so they overlap, at "
        "least 2 at a time (or the step or the calls are not those of this machine). What a port saves of the step "
        "cannot be told from that: it may wait for these calls or for something else. "
    )
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 1.42, (NATIVE,)), "sinh") == (
        f"{said}native saves at least 74.4% of the time of the calls; the step gains no more than they do. Time a step "
        "with it to know."
    )
    assert worth_text(Worth(*PLACE, 2e-3, 2e-3, 1.42, ()), "sinh") == f"{said}No port saves time for sure."
