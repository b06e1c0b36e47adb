"""The user's mix of sizes, and what a port is worth in a step."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from frames import Bench, run_of
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.program import Port, Step, Worth, calls_in, calls_mix, even_mix
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.report import terminal, write
from pyopbench.report.sections import Bullets, Table
from pyopbench.report.sections import worth as section

TODAY = "py_function_numpy"
CURVES = {TODAY: 2e-3, "native": 5e-4, "numpy_function": 4e-3}
STEP = Step(calls=5, seconds=0.04)

NATIVE = Port("native", 0.75, 0.744, 0.0625, 0.064, 2.08, 2.06, 1.23, 1.22)
PLACE = ("sinh", "inference", "call", "float32", "cpu", "py_func")
CEILING = "without it the step would be about 1.33× as fast"


def test_an_even_mix_is_the_trapezoid_rule_over_the_log_of_the_size() -> None:
    """By hand: decades of 1 and 2 give the weights 1/2, 3/2 and 1, over 3."""
    mix = even_mix((10, 100, 10_000))
    np.testing.assert_allclose(mix.shares, [1 / 6, 1 / 2, 1 / 3])
    assert mix.needed == mix.sizes == (10, 100, 10_000)


def test_all_of_an_even_mix_is_at_the_only_size() -> None:
    assert even_mix((7,)).shares.tolist() == [1.0]


def test_the_cost_weighs_shares_by_todays_time() -> None:
    """By hand: a quarter of the time at each end, half in the middle; 0.25 * 1 + 0.5 * 2 + 0.25 * 4 = 2.25."""
    mix = even_mix((10, 100, 1000))
    np.testing.assert_allclose(mix.cost([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]]), [2.25, 1.0])
    np.testing.assert_allclose(mix.pull, mix.shares)


def test_calls_are_turned_into_time_by_the_baseline() -> None:
    """By hand: 3 calls of 1 s and 1 call of 9 s are 3 s and 9 s."""
    mix = calls_mix({100: 1, 10: 3}, {10: 1.0, 100: 9.0}, "it")
    assert mix.sizes == (10, 100)
    np.testing.assert_allclose(mix.shares, [0.25, 0.75])


def test_between_measured_sizes_seconds_are_straight_in_the_logs_and_shares_over_the_log_of_the_size() -> None:
    """By hand: 100 is half way from 10 to 1000, so seconds are sqrt(1 * 16) and the share is (0.2 + 0.8) / 2."""
    mix = calls_mix({10: 1, 100: 1}, {10: 1.0, 1000: 16.0, 100_000: 5.0}, "it")
    np.testing.assert_allclose(mix.shares, [0.2, 0.8])
    assert mix.needed == (10, 1000)
    np.testing.assert_allclose(mix.at_points([0.2, 0.8]), [0.2, 0.5])
    np.testing.assert_allclose(mix.cost([[0.2, 0.8]]), [0.2 * 0.2 + 0.8 * 0.5])
    np.testing.assert_allclose(mix.pull, [0.2 + 0.8 / 2, 0.8 / 2])


def test_a_mix_at_measured_sizes_draws_on_no_others() -> None:
    assert calls_mix({100: 1}, {10: 1.0, 100: 2.0, 1000: 3.0}, "it").needed == (100,)
    assert calls_mix({10: 1}, {10: 1.0}, "it").needed == (10,)


@pytest.mark.parametrize("size", [9, 1001])
def test_a_size_outside_the_measured_range_is_bad_input(size: int) -> None:
    with pytest.raises(BadInput) as error:
        calls_mix({size: 1, 100: 1}, {10: 1.0, 1000: 3.0}, "py_func for sinh")
    assert error.value.received == str(size)
    assert error.value.legal == "sizes from 10 to 1000"
    assert error.value.message == "the mix has sizes outside the measured range of py_func for sinh"
    assert "--axis" in error.value.hint


def test_the_calls_of_a_dtype_are_those_of_all_where_the_mix_names_none() -> None:
    calls = {("uint8", 60): 2.0, ("float32", 500): 1.0, ("float32", 60): 3.0}
    assert calls_in(calls, "float32") == {500: 1.0, 60: 3.0}
    assert calls_in(calls, "float64") == {}
    assert calls_in({60: 2.0}, "float64") == {60: 2.0}


def test_a_share_of_nothing_or_less_is_a_number() -> None:
    """What costs next to nothing comes out on either side of it."""
    np.testing.assert_allclose(even_mix((10, 1000)).cost([[0.1, -0.1], [-0.2, 0.0]]), [0.0, -0.1], atol=1e-15)


def test_shares_sum_to_one() -> None:
    mix = calls_mix({20: 0.3, 30: 7, 900: 2}, {10: 1e-5, 1000: 1e-3}, "it")
    assert math.isclose(mix.shares.sum(), 1.0)
    np.testing.assert_allclose(mix.weights.sum(axis=1), 1.0)


def judged(step: Step | None = STEP, **changes: object) -> Judgement:
    bench = Bench({**CURVES}, op="mine", within=0.0, between=0.0, launches=6, **changes)  # type: ignore[arg-type]
    return judge_run(bench.run(), step=step)


def test_the_share_is_the_calls_of_a_step_over_the_step() -> None:
    """5 calls of 2 ms are 10 of 40 ms: a quarter, so that nothing makes the step more than 4/3 as fast."""
    (worth,) = judged().worths
    assert worth.call_seconds == worth.apart_seconds == pytest.approx(2e-3)
    assert worth.share == pytest.approx(0.25)
    assert worth.ceiling == pytest.approx(4 / 3)


def test_a_port_leaves_its_share_and_saves_the_rest() -> None:
    """At 4 times the speed 2.5 of 10 ms are left: 7.5 ms of a step, 7,500 s of a million, 2.0833 hours.

    Another run may find 4% more or less of the 2.5: with two candidates, 2.2414 standard errors of 0.1 ms.
    """
    (worth,) = judged().worths
    native = worth.ports[0]
    assert native.label == "native"
    assert native.share == pytest.approx(0.0625)
    assert native.hours == pytest.approx(7500 / 3600)
    assert native.hours_low == pytest.approx((7500 - 2.2414 * 100) / 3600, rel=1e-4)
    assert native.speed_up == pytest.approx(40 / 32.5)


def test_what_is_slower_costs_hours() -> None:
    """At half the speed 10 ms become 20: 10,000 s more in a million steps."""
    slower = judged().worths[0].ports[-1]
    assert (slower.label, slower.hours) == ("numpy_function", pytest.approx(-10_000 / 3600))


def test_the_lower_end_saves_less_than_the_centre() -> None:
    bench = Bench({**CURVES}, op="mine", within=0.0, between=0.05, launches=6)
    port = judge_run(bench.run(), step=STEP).worths[0].ports[0]
    assert port.hours_low < port.hours
    assert port.share_low > port.share
    assert port.speed_up_low < port.speed_up


def test_seconds_of_a_call_are_the_mean_over_the_calls_of_the_mix() -> None:
    """3 calls of 1 ms and 1 of 9 ms are 12 ms in 4 calls."""
    bench = Bench({TODAY: {10: 1e-3, 100: 9e-3}, "native": 1e-4}, op="mine", sizes=(10, 100), within=0, between=0)
    (worth,) = judge_run(bench.run(), mix={10: 3, 100: 1}, step=STEP).worths
    assert worth.call_seconds == pytest.approx(3e-3)


def test_calls_apart_cost_what_the_first_does() -> None:
    """In a graph 1 ms each, and 2 ms more for the first of them: 11 and 3 ms in a step of ten and of one."""
    benches = [
        Bench({TODAY: 1e-3, "native": 1e-5}, sizes=(10,), mode="node", copies=many, launches=4, rounds=20, within=0.0)
        for many in (1, 8)
    ]
    run = run_of(*benches)
    frame = pd.concat([bench.frame() for bench in benches], ignore_index=True)
    frame["seconds"] += 2e-3 * frame["calls"] * (frame["variant"] == TODAY)
    run.frame = frame
    (worth,) = judge_run(run, step=Step(calls=10, seconds=1.0)).worths
    assert worth.call_seconds == pytest.approx(1.2e-3, rel=0.05)
    assert worth.apart_seconds == pytest.approx(3e-3, rel=0.05)


def test_a_share_above_1_is_said_and_nothing_is_computed_with_it() -> None:
    """30 calls of 2 ms in a step of 40 ms overlap; the step would gain 1 / (1 - 1.5 * 0.75) < 0 from native."""
    judgement = judged(Step(calls=30, seconds=0.04))
    (worth,) = judgement.worths
    assert worth.share == pytest.approx(1.5)
    assert (worth.overlaps, worth.at_once, worth.ceiling) == (True, 2, math.inf)
    for port in worth.ports:
        step = (port.share, port.share_low, port.hours, port.hours_low, port.speed_up, port.speed_up_low)
        assert all(map(math.isnan, step))
    assert [port.label for port in worth.ports] == ["native", "numpy_function"]
    assert worth.ports[0].saved == pytest.approx(0.75)
    blocks = section.build(judgement)
    assert [block.items for block in blocks if isinstance(block, Bullets)] == [(worth.text("mine, inference"),)]
    assert not any(isinstance(block, Table) for block in blocks)
    assert [table.title for table in terminal.tables(judgement)] == ["What to do"]


def test_a_step_gains_no_more_than_the_op() -> None:
    """Up to the whole step: with a share of 1 the step gains what the op does."""
    for calls in (1, 5, 19.99, 20):
        (worth,) = judged(Step(calls=calls, seconds=0.04)).worths
        for port in worth.ports:
            gain = 1 / (1 - port.saved)
            assert min(gain, 1) - 1e-9 <= port.speed_up <= max(gain, 1) + 1e-9


def test_a_lower_end_that_tells_nothing_says_so() -> None:
    noisy = Bench({**CURVES}, op="mine", within=0.0, between=2.0, launches=2)
    judgement = judge_run(noisy.run(), step=STEP)
    (table,) = (block for block in section.build(judgement) if isinstance(block, Table))
    assert [tuple(map(str, row[-3:])) for row in table.rows] == [(formatting.TOO_NOISY,) * 3] * 2


def test_without_a_step_nothing_is_said() -> None:
    judgement = judged(None)
    assert judgement.worths == ()
    assert section.build(judgement) == ()


def test_every_output_holds_it() -> None:
    judgement = judged()
    shown = write.render(judgement)
    assert section.SECTION.title in shown["report.html"]
    assert judgement.worths[0].text("mine, inference") in shown["report.md"]
    found = json.loads(shown["decisions.json"])
    assert found["step"] == {"calls": 5, "seconds": 0.04}
    assert found["worths"][0]["ports"][0]["label"] == "native"
    titles = [table.title for table in terminal.tables(judgement)]
    assert titles == ["What to do", "What a port is worth (in brackets: at worst)"]


def test_what_was_given() -> None:
    def given(calls: str) -> str:
        return (
            f"For your step of 40.0 ms with {calls} of the op. The op's share is the measured time of its calls, one "
            "after another. If calls in your program wait for the GIL, it is larger, and a port can save more."
        )

    assert Step(calls=5, seconds=0.04).text() == given("5.00 calls")
    assert Step(calls=1, seconds=0.04).text() == given("1.00 call")


def test_the_surest_port_is_named_with_its_hours() -> None:
    assert Worth(*PLACE, 2e-3, 2e-3, 0.25, (NATIVE,)).text("sinh, inference") == (
        f"sinh, inference: 2.00 ms per call, 25% of the step; {CEILING}. native saves at least 2.06 hours per "
        "million steps."
    )


def test_callbacks_between_other_ops_cost_what_the_first_does() -> None:
    assert Worth(*PLACE, 2e-4, 6e-4, 0.25, (NATIVE,)).text("sinh") == (
        "sinh: 200 µs per call (up to 600 µs if other ops run between the calls), 25% of the step; "
        f"{CEILING}. native saves at least 2.06 hours per million steps."
    )


def test_without_a_port_that_saves_for_sure_that_is_said() -> None:
    unsure = Port("native", 0.75, math.nan, 0.0625, math.nan, 2.08, math.nan, 1.23, math.nan)
    assert Worth(*PLACE, 2e-3, 2e-3, 0.25, (unsure,)).text("sinh") == (
        f"sinh: 2.00 ms per call, 25% of the step; {CEILING}. No port is certain to save time."
    )


def test_calls_that_take_more_than_the_step_overlap() -> None:
    said = (
        "sinh: 2.00 ms per call. All calls together take 1.42 times as long as the step, so at least 2 overlap "
        "(or your step was timed on another machine), and how much of the step a port saves is unknown. "
    )
    assert Worth(*PLACE, 2e-3, 2e-3, 1.42, (NATIVE,)).text("sinh") == (
        f"{said}native saves at least 74.4% of the time of the calls; time a step with it to see what the step gains."
    )
    assert Worth(*PLACE, 2e-3, 2e-3, 1.42, ()).text("sinh") == f"{said}No port is certain to save time."
