"""What a port is worth in a step: all expected numbers by hand."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from frames import Bench, run_of
from pyopbench.judge.decide import Judgement, judge
from pyopbench.judge.step_savings import Step
from pyopbench.model import formatting
from pyopbench.report import terminal, write
from pyopbench.report.sections import Bullets, Table
from pyopbench.report.sections import worth as section
from pyopbench.report.wording.step_savings import worth_text

TODAY = "py_function_numpy"
CURVES = {TODAY: 2e-3, "native": 5e-4, "numpy_function": 4e-3}
STEP = Step(calls=5, seconds=0.04)


def judged(step: Step | None = STEP, **changes: object) -> Judgement:
    bench = Bench({**CURVES}, op="mine", within=0.0, between=0.0, launches=6, **changes)  # type: ignore[arg-type]
    return judge(bench.run(), step=step)


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
    port = judge(bench.run(), step=STEP).worths[0].ports[0]
    assert port.hours_low < port.hours
    assert port.share_low > port.share
    assert port.speed_up_low < port.speed_up


def test_seconds_of_a_call_are_the_mean_over_the_calls_of_the_mix() -> None:
    """3 calls of 1 ms and 1 of 9 ms are 12 ms in 4 calls."""
    bench = Bench({TODAY: {10: 1e-3, 100: 9e-3}, "native": 1e-4}, op="mine", sizes=(10, 100), within=0, between=0)
    (worth,) = judge(bench.run(), mix={10: 3, 100: 1}, step=STEP).worths
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
    (worth,) = judge(run, step=Step(calls=10, seconds=1.0)).worths
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
    assert [block.items for block in blocks if isinstance(block, Bullets)] == [(worth_text(worth, "mine, inference"),)]
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
    judgement = judge(noisy.run(), step=STEP)
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
    assert worth_text(judgement.worths[0], "mine, inference") in shown["report.md"]
    found = json.loads(shown["decisions.json"])
    assert found["step"] == {"calls": 5, "seconds": 0.04}
    assert found["worths"][0]["ports"][0]["label"] == "native"
    titles = [table.title for table in terminal.tables(judgement)]
    assert titles == ["What to do", "What a port is worth (in brackets: at worst)"]
