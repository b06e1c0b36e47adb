"""From samples to a decision for each op and use."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import stored
from frames import Bench, Curve, run_of
from judgements import with_noise_for_today
from pyopbench.judge import judge
from pyopbench.judge.candidates import TOO_NOISY
from pyopbench.judge.decision import Answer, Decision
from pyopbench.judge.interim_analysis import interim_analysis_of
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import BadInput

TODAY = "py_function_numpy"
KEEP, UNDECIDED, PORT_NATIVE = Answer("keep", None), Answer("undecided", None), Answer("port", "native")

CASES = [stored.case("native"), stored.case("numpy_function")]


def judged(run: SimpleNamespace, **options: Any) -> Judgement:
    return judge_run(run, **options)  # type: ignore[arg-type]


def only_decision(run: SimpleNamespace, **options: Any) -> Decision:
    (decision,) = judged(run, **options).decisions
    return decision


def test_keep_when_every_variant_is_slower() -> None:
    """The finding that the project began with: native ports that are slower than the callback."""
    decision = only_decision(Bench({TODAY: 1e-5, "native": 6e-5, "xla": 1.2e-5}).run())
    assert (decision.op, decision.use, decision.answer, decision.baseline) == ("sinh", "inference", KEEP, TODAY)
    assert decision.saved == pytest.approx(-0.2, abs=0.02)
    ends = [decision.saved_low, decision.saved, decision.saved_high]
    assert None not in ends
    assert sorted({*ends, 0.03}, key=lambda end: end or 0.0) == [*ends, 0.03]
    assert (decision.loss, decision.is_provisional, decision.as_good) == (0.0, False, ())
    assert [one.after for one in decision.seconds] == [one.today for one in decision.seconds]
    assert [(one.low, one.high, one.answer) for one in decision.ranges] == [(1_000, 100_000, KEEP)]


def test_port_to_what_is_clearly_faster() -> None:
    decision = only_decision(Bench({TODAY: 3e-5, "native": 1e-5, "xla": 2e-5}).run())
    assert (decision.action, decision.choice, decision.answer) == ("port", "native", PORT_NATIVE)
    assert decision.saved == pytest.approx(2 / 3, rel=0.02)
    assert decision.reason.kind == "clear_gain"
    assert decision.reason.sentence.startswith("native saves 67%")
    assert [one.size for one in decision.seconds] == [1_000, 10_000, 100_000]
    for one in decision.seconds:
        assert (one.today, one.after) == pytest.approx((3e-5, 1e-5), rel=0.02)
    assert (decision.as_good, decision.is_provisional) == ((), False), "xla saves a third of the time less"


def test_switch_to_another_callback_when_that_is_as_fast_and_less_work() -> None:
    decision = only_decision(Bench({TODAY: 3e-5, "native": 1e-5, "numpy_function": 1.005e-5}).run())
    assert decision.answer == Answer("switch", "numpy_function")
    assert decision.as_good == ("native",)


def test_undecided_names_the_one_that_straddles_and_the_launches_needed() -> None:
    noisy = Bench({TODAY: 1e-5, "native": 0.95e-5, "xla": 5e-5}, between=0.08, launches=4)
    decision = only_decision(noisy.run())
    assert decision.answer == UNDECIDED
    assert (decision.reason.kind, decision.reason.launches) == ("still_open", 4)
    assert "; native: " in decision.reason.sentence
    assert "xla" not in decision.reason.sentence


def test_one_launch_is_undecided_and_says_why() -> None:
    judgement = judged(Bench({TODAY: 1e-5, "native": 0.1e-5}, launches=1).run())
    (decision,) = judgement.decisions
    assert decision.answer == UNDECIDED
    assert (decision.reason.kind, decision.reason.launches, decision.reason.enough) == ("still_open", 1, 2)
    assert decision.saved == pytest.approx(0.9, rel=0.01)
    assert (decision.saved_low, decision.saved_high) == (None, None)
    assert {verdict.outcome for verdict in judgement.verdicts} == {"unresolved"}
    assert [one.answer for one in decision.ranges] == [UNDECIDED]
    assert math.isnan(decision.ranges[0].saved_low)


CROSSING = {TODAY: lambda n: 1e-6 * n**0.5, "native": lambda n: 1e-8 * n}
"""Equal at 1e-6 sqrt(n) = 1e-8 n, that is at n = 10,000."""


def test_answers_by_size() -> None:
    """Native takes 30% of today's time more with each decade, and as long as today at 10,000."""
    sizes = (100, 1_000, 100_000, 1_000_000)
    curves: dict[str, Curve] = {TODAY: 1e-4, "native": lambda n: 1e-4 * (1 + 0.3 * np.log10(n / 1e4))}
    decision = only_decision(Bench(curves, sizes=sizes, within=0.002, between=0.001).run())
    answers = [(one.low, one.high, one.answer) for one in decision.ranges]
    assert answers == [(100, 1_000, PORT_NATIVE), (100_000, 1_000_000, KEEP)]
    assert decision.ranges[0].saved == pytest.approx(0.3, rel=0.02), "the least of both sizes"


@pytest.mark.parametrize(
    ("mix", "answer", "saved"),
    [
        ({100: 1.0}, PORT_NATIVE, 0.9),
        ({1_000_000: 1.0}, KEEP, -9.0),
        # By hand: 1000 calls of 1e-5 s and 1 of 1e-3 s are 10 ms and 1 ms; afterwards 1 ms and 10 ms.
        ({100: 1000.0, 1_000_000: 1.0}, KEEP, 0.0),
        # Half way between 100 and 1,000 in the log native leaves half of 0.1 and of 0.316.
        ({316: 5.0}, PORT_NATIVE, 1 - (0.1 + 10**-0.5) / 2),
    ],
)
def test_the_mix_decides(mix: dict[int, float], answer: Answer, saved: float) -> None:
    bench = Bench(CROSSING, sizes=(100, 1_000, 100_000, 1_000_000), within=0.002, between=0.001)
    decision = only_decision(bench.run(), mix=mix)
    assert decision.answer == answer
    assert decision.saved == pytest.approx(saved, abs=0.01 * (1 - saved))


def test_an_op_whose_baseline_failed_is_undecided_with_the_failure() -> None:
    judgement = judged(run_of(Bench({TODAY: {}, "native": 1e-6}), Bench({TODAY: 1.0, "native": 2.0}, op="cumsum")))
    gone, kept = judgement.decisions
    assert (gone.op, gone.answer, gone.saved, gone.ranges) == ("sinh", UNDECIDED, None, ())
    assert gone.reason.kind == "baseline_failed"
    assert "timeout at 1k: no answer in 60 s" in gone.reason.sentence
    assert kept.answer == KEEP
    assert {verdict.case.split("/")[0] for verdict in judgement.verdicts} == {"cumsum"}


@pytest.mark.parametrize(
    ("curves", "kind"),
    [
        ({"native": 1e-6}, "baseline_not_measured"),
        ({TODAY: 1e-6}, "no_candidate"),
        ({TODAY: 1e-4, "native": {1_000: 1e-5}}, "no_candidate"),
    ],
)
def test_without_a_pair_over_all_sizes_an_op_is_undecided_with_the_reason(curves: dict[str, Curve], kind: str) -> None:
    decision = only_decision(Bench(curves).run())
    assert (decision.answer, decision.saved, decision.reason.kind) == (UNDECIDED, None, kind)


def test_an_op_with_nothing_but_skips_still_gets_an_answer() -> None:
    skips = [Case("lost", name, "none", "forward", "call", "float32", 10).id for name in (TODAY, "native")]
    failures = [Failure(key, "unsupported", "no kernel here") for key in skips]
    judgement = judged(run_of(Bench({TODAY: 1.0, "native": 2.0}), failures=failures))
    assert [(one.op, one.answer) for one in judgement.decisions] == [("sinh", KEEP), ("lost", UNDECIDED)]
    assert "unsupported at 10: no kernel here" in judgement.decisions[1].reason.sentence


def test_a_candidate_that_lacks_sizes_counts_only_where_it_was_measured() -> None:
    run = Bench({TODAY: 1e-5, "native": 0.5e-5, "custom_op": {1_000: 1e-6}}).run()
    decision = only_decision(run)
    assert decision.answer == PORT_NATIVE
    assert [one.split(",")[0] for one in decision.caveats] == ["custom_op has no number at 10k and 100k (timeout)"]
    answers = [(one.low, one.high, one.answer) for one in decision.ranges]
    assert answers == [(1_000, 1_000, Answer("port", "custom_op")), (10_000, 100_000, PORT_NATIVE)]
    assert only_decision(run, mix={1_000: 1.0}).answer == Answer("port", "custom_op")


def test_sizes_that_the_baseline_lacks_are_left_out_and_told() -> None:
    decision = only_decision(Bench({TODAY: {1_000: 1e-5, 10_000: 1e-5}, "native": 1e-6}).run())
    assert decision.answer == PORT_NATIVE
    assert decision.ranges[-1].high == 10_000
    assert [one.split(",")[0] for one in decision.caveats] == [f"{TODAY} has no number at 100k (timeout)"]


def test_what_was_found_wrong_is_never_chosen() -> None:
    bench = Bench({TODAY: 1e-5, "native": 1e-7, "xla": 0.5e-5})
    wrong = [case.id for case, _ in bench.cases() if case.variant == "native"]
    judgement = judged(run_of(bench, failures=[Failure(key, "wrong", "values differ", 2) for key in wrong]))
    assert judgement.decisions[0].answer == Answer("port", "xla")
    assert not any("/native/" in verdict.case for verdict in judgement.verdicts)
    assert "native" not in set(judgement.latencies["label"])


def test_training_is_forward_and_backward_and_its_baseline_has_the_usual_gradient() -> None:
    curves = {TODAY: 2e-5, f"{TODAY}+override_map": 1e-5, "py_function": 3e-5, "py_function+custom_gradient": 3e-5}
    run = Bench(curves, directions=("forward", "backward", "forward_backward")).run()
    inference, training = judged(run).decisions
    assert (inference.use, inference.answer) == ("inference", KEEP)
    assert (training.use, training.baseline) == ("training", TODAY)
    assert training.answer == Answer("switch", f"{TODAY}+override_map")


def test_backward_alone_is_no_training() -> None:
    both = Bench({TODAY: 2e-5, "native": 1e-5}, directions=("forward", "backward"))
    assert [one.use for one in judged(both.run()).decisions] == ["inference"]
    alone = judged(replace(both, directions=("backward",)).run())
    assert [(one.use, one.answer) for one in alone.decisions] == [("inference", UNDECIDED)]
    assert len(alone.verdicts) == 3


def test_every_mode_and_dtype_has_a_decision_of_its_own() -> None:
    benches = [
        Bench({TODAY: 2e-5, "native": 1e-5 if mode == "call" else 9e-5}, mode=mode, dtype=dtype)
        for mode in ("call", "eager")
        for dtype in ("float64", "float32")
    ]
    found = [(one.mode, one.dtype, one.action) for one in judged(run_of(*benches)).decisions]
    assert found == [
        ("call", "float32", "port"),
        ("call", "float64", "port"),
        ("eager", "float32", "keep"),
        ("eager", "float64", "keep"),
    ]


def test_another_baseline_can_be_named_and_an_unknown_one_is_bad_input() -> None:
    run = Bench({"py_func": 2e-5, "native": 1e-5}).run()
    assert only_decision(run, baseline="py_func").answer == PORT_NATIVE
    with pytest.raises(BadInput) as error:
        judged(run, baseline="py_fnuc")
    assert error.value.received == "py_fnuc"
    assert "py_func," in str(error.value.legal)


def test_a_larger_minimum_effect_asks_for_more() -> None:
    run = Bench({TODAY: 1.2e-5, "native": 1e-5}, within=0.001, between=0.001).run()
    assert only_decision(run).answer == PORT_NATIVE
    assert only_decision(run, minimum_effect=0.3).answer == KEEP


def test_an_empty_run_has_no_decisions() -> None:
    run = run_of()
    run.frame = pd.DataFrame([], columns=list(run.frame.columns))
    judgement = judged(run)
    assert (judgement.verdicts, judgement.decisions, len(judgement.latencies)) == ((), (), 0)


def test_shuffled_rows_give_the_same_judgement_to_the_last_bit() -> None:
    curves: dict[str, Curve] = {
        TODAY: 1e-5,
        "native": lambda n: 1e-6 + 1e-9 * n,
        "xla": 0.9e-5,
        "numpy_function": 1.02e-5,
    }
    run = run_of(Bench(curves, directions=("forward", "forward_backward")), Bench(curves, op="cumsum", seed=5))
    expected = judged(run, mix={1_000: 2, 20_000: 1})
    run.frame = run.frame.sample(frac=1, random_state=8)
    found = judged(run, mix={20_000: 1, 1_000: 2})
    assert found.verdicts == expected.verdicts
    assert found.decisions == expected.decisions
    pd.testing.assert_frame_equal(found.latencies, expected.latencies, check_exact=True)


def test_a_mix_by_dtype_weighs_each_dtype_by_its_own_calls() -> None:
    """By hand: only float32 is called at 100, where native is 10 times as fast; float64 only at 10, where it is 2."""
    curves: dict[str, Curve] = {TODAY: 1e-3, "native": {10: 5e-4, 100: 1e-4}}
    benches = [Bench(curves, sizes=(10, 100), dtype=one, within=0.0, between=0.0) for one in ("float32", "float64")]
    found = judged(run_of(*benches), mix={("float32", 100): 1.0, ("float64", 10): 1.0}).decisions
    assert {one.dtype: one.saved for one in found} == pytest.approx({"float32": 0.9, "float64": 0.5})


@pytest.mark.parametrize("launches", [(-486e-6, 459.6e-6), (-2e-4, 6e-4)])
def test_a_callback_whose_cost_is_noise_was_measured_and_is_too_noisy(launches):
    """It was called "not measured", above a table that had -13.2 us for it."""
    judged = with_noise_for_today(launches)
    (made,) = judged.decisions
    assert made.action == "undecided"
    assert (made.reason.kind, made.reason.launches) == ("baseline_too_noisy", 2)
    noisy = judged.latencies.set_index("variant")["too_noisy"]
    assert noisy[TODAY]
    assert not noisy["native"]
    assert interim_analysis_of(judged, 2, 8).open == set(judged.latencies["case"]), "more launches may be clear"


def test_at_sizes_where_the_cost_of_the_callback_is_noise_that_is_said():
    """At 10 elements it costs less than the empty function, at 1,000 it is clear."""
    bench = Bench({TODAY: {10: 1e-9, 1_000: 1e-3}, "native": 1e-5}, sizes=(10, 1_000), mode="node", floor=1e-3)
    run = bench.run()
    shift = ((run.frame["variant"] == TODAY) & (run.frame["size"] == 10)) * run.frame["calls"] * 2e-4
    run.frame = run.frame.assign(seconds=run.frame["seconds"] - shift)
    (made,) = judge_run(run).decisions
    assert [one.split(",")[0] for one in made.caveats] == [f"{TODAY} has no number at 10 ({TOO_NOISY})"]


def test_a_look_judges_what_is_stored(tmp_path: Path) -> None:
    """Two launches that agree to the last digit show that both are equal within 30%; of one everything is open."""
    lines = [stored.launch_line(0), stored.group_line(0, CASES, seconds=1.0)]
    folder = stored.write(tmp_path / "run", stored.run(CASES), lines)
    how = judge.Judging("numpy_function", 0.3)
    assert judge.interim_analysis(folder, how, 1, 3).open == frozenset(CASES)
    for line in (stored.launch_line(1), stored.group_line(1, CASES, seconds=1.0)):
        stored.append(folder, line)
    seen = judge.interim_analysis(folder, how, 2, 3)
    assert (seen.open, seen.text) == (frozenset(), "after 2 launches: 1 of 1 verdict resolved; done")
