"""What each case takes, and why some have no number."""

from __future__ import annotations

import pandas as pd
import pytest

from frames import VARIANTS, Bench, run_of
from pyopbench.judge.latencies import (
    Hole,
    baseline_of,
    checked_frame,
    holes_of,
    label_of,
    latency_table,
    measured_cases,
    partners_of,
)
from pyopbench.model.case import Case, Failure
from pyopbench.store.types import UNKNOWN_OP, Catalogue

OPS = Catalogue(ops={"sinh": UNKNOWN_OP}, variants=VARIANTS)
GRADIENTS = VARIANTS["py_function_numpy"].gradients

SINH = Case("sinh", "xla", "none", "forward", "call", "float32", 10).id
LARGER = Case("sinh", "xla", "none", "forward", "call", "float32", 100).id
RELU = Case("relu", "xla", "none", "forward", "call", "float32", 10).id


@pytest.mark.parametrize(
    ("variant", "gradient", "label"),
    [
        ("native", "none", "native"),
        ("py_function", "tape", "py_function"),
        ("py_function", "override_map", "py_function+override_map"),
        ("unheard_of", "none", "unheard_of"),
        ("unheard_of", "tape", "unheard_of+tape"),
    ],
)
def test_a_label_names_the_gradient_only_if_it_is_not_the_usual_one(variant: str, gradient: str, label: str) -> None:
    assert label_of(OPS, variant, gradient) == label


def test_a_latency_is_the_mean_over_launches_per_call() -> None:
    """By hand: launches of 1e-5 and 4e-5 have the mean 2.5e-5, and t(0.975, 1) = 12.706 standard errors of 1.5e-5."""
    launches = [
        Bench({"native": seconds}, sizes=(10,), launches=1, first_launch=number, within=0, between=0).frame()
        for number, seconds in enumerate((1e-5, 4e-5))
    ]
    row = latency_table(pd.concat(launches), OPS).iloc[0]
    assert row["seconds"] == pytest.approx(2.5e-5)
    assert row["high"] == pytest.approx(2.5e-5 + 12.7062 * 1.5e-5, rel=1e-4)
    assert row["low"] == pytest.approx(2.5e-5 - 12.7062 * 1.5e-5, rel=1e-4)
    assert row["launches"] == 2


def test_in_a_graph_it_is_what_one_op_costs_beyond_the_empty_function() -> None:
    """The call takes 200 us around it; what costs nothing has a latency that may be below zero."""
    bench = Bench({"native": 1e-5, "traced": 0.0}, sizes=(10,), mode="node", rounds=50)
    found = latency_table(bench.frame(), OPS).set_index("variant")
    for variant, true in (("native", 1e-5), ("traced", 0.0)):
        low, high = found.loc[variant, ["low", "high"]]
        assert low - 2e-7 < true < high + 2e-7
        assert abs(found.loc[variant, "seconds"] - true) < 1e-6


def test_cases_come_in_the_order_of_the_catalogue_then_direction_size_and_label() -> None:
    curves = {"xla": 1.0, "native": 1.0}
    late = Bench(curves, op="absent", directions=("backward", "forward"), sizes=(100, 9))
    early = Bench(curves, op="zeta", sizes=(9,))
    run = run_of(early, late)
    cases = measured_cases(
        run.frame.sample(frac=1, random_state=0), Catalogue(ops={"zeta": UNKNOWN_OP}, variants=VARIANTS)
    )
    rows = list(cases[["op", "direction", "size", "label"]].itertuples(index=False, name=None))
    assert rows[:4] == [
        ("zeta", "forward", 9, "native"),
        ("zeta", "forward", 9, "xla"),
        ("absent", "forward", 9, "native"),
        ("absent", "forward", 9, "xla"),
    ]
    assert rows[-1] == ("absent", "backward", 100, "xla")


def test_what_any_launch_found_wrong_has_no_latency() -> None:
    bench = Bench({"native": 1e-5, "xla": 1e-6}, sizes=(10,))
    wrong = next(case.id for case, _ in bench.cases() if case.variant == "xla")
    run = run_of(bench, failures=[Failure(wrong, "wrong", "values differ", 3)])
    assert set(checked_frame(run)["variant"]) == {"native"}  # type: ignore[arg-type]


def test_a_case_that_crashed_in_one_launch_keeps_the_others() -> None:
    bench = Bench({"native": 1e-5}, sizes=(10,))
    run = run_of(bench, failures=[Failure(bench.cases()[0][0].id, "crashed", "signal 11", 3)])
    assert len(checked_frame(run)) == len(run.frame)  # type: ignore[arg-type]


def test_the_baseline_has_its_usual_gradient_and_its_other_gradients_are_compared_with_it() -> None:
    curves = {"py_function_numpy+override_map": 1.0, "py_function_numpy": 1.0, "native": 1.0}
    bench = Bench(curves, sizes=(10,), directions=("backward", "forward_backward"))
    found = baseline_of(measured_cases(bench.frame(), OPS), "py_function_numpy", GRADIENTS)
    tail = "call/float32/10/cpu"
    assert found == {
        f"sinh/{key}/{direction}/{tail}": f"sinh/py_function_numpy/custom_gradient/{direction}/{tail}"
        for direction in ("backward", "forward_backward")
        for key in ("native/autodiff", "py_function_numpy/override_map")
    }


def test_where_the_usual_gradient_was_not_measured_the_next_one_is_the_baseline() -> None:
    bench = Bench({"py_function_numpy+override_map": 1.0, "native": 1.0}, sizes=(10,), directions=("backward",))
    found = baseline_of(measured_cases(bench.frame(), OPS), "py_function_numpy", GRADIENTS)
    assert list(found.values()) == ["sinh/py_function_numpy/override_map/backward/call/float32/10/cpu"]


def test_pairs_of_their_own_replace_the_baseline_case_by_case_of_the_same_gradient() -> None:
    curves = {"py_function_numpy": 1.0, "native": 1.0, "xla": 1.0, "py_func": 1.0, "py_func+override_map": 1.0}
    bench = Bench(curves, sizes=(10,), directions=("forward", "backward"))
    cases = measured_cases(bench.frame(), OPS)
    found = partners_of(cases, {"xla": "native", "py_func": "py_function_numpy"})
    pairs = {(*key.split("/")[1:4], *partner.split("/")[1:3]) for key, partner in found.items()}
    assert pairs == {
        ("xla", "none", "forward", "native", "none"),
        ("xla", "autodiff", "backward", "native", "autodiff"),
        ("py_func", "none", "forward", "py_function_numpy", "none"),
        ("py_func", "custom_gradient", "backward", "py_function_numpy", "custom_gradient"),
    }


def run_with(*failures: Failure, cases: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    run = Bench({"native": 1.0}, launches=1).run()
    run.failures, run.cases = failures, cases
    return run


def test_a_case_that_fails_in_every_launch_for_one_reason_is_one_case() -> None:
    failures = [Failure(SINH, "raised", "no kernel", launch) for launch in (0, 1)]
    assert holes_of(run_with(*failures), set()) == (Hole("raised", "no kernel", (SINH,)),)


def test_what_was_planned_and_left_no_trace_was_not_measured() -> None:
    run = run_with(Failure(RELU, "timeout", "too long"), cases=(SINH, RELU))
    timeout = Hole("timeout", "too long", (RELU,))
    assert holes_of(run, set()) == (timeout, Hole("not measured", "the run ended before it was measured", (SINH,)))
    assert holes_of(run, {SINH}) == (timeout,)


def test_the_gravest_reason_comes_first_and_then_the_one_of_most_cases() -> None:
    failures = [
        Failure(SINH, "unsupported", "one"),
        Failure(SINH, "unsupported", "two"),
        Failure(RELU, "unsupported", "two"),
        Failure(RELU, "wrong", "three"),
    ]
    holes = holes_of(run_with(*failures, cases=(SINH, RELU, LARGER)), set())
    assert [hole.reason for hole in holes[:3]] == ["three", "two", "one"]
    assert holes[3].status == "not measured"
