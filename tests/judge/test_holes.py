"""Cases without a number are grouped by reason, and the reasons of several ops by what they have in common."""

from __future__ import annotations

from frames import Bench
from pyopbench.judge.holes import Hole, Reason, cases_by_reason, holes_of
from pyopbench.model.case import Case, Failure

SINH = Case("sinh", "xla", "none", "forward", "call", "float32", 10).id
LARGER = Case("sinh", "xla", "none", "forward", "call", "float32", 100).id
RELU = Case("relu", "xla", "none", "forward", "call", "float32", 10).id


def run_with(*failures: Failure, cases: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    run = Bench({"native": 1.0}, launches=1).run()
    run.failures, run.cases = failures, cases
    return run


def test_a_case_that_fails_in_every_launch_for_one_reason_is_one_case() -> None:
    failures = [Failure(SINH, "raised", "no kernel", launch) for launch in (0, 1)]
    assert cases_by_reason(run_with(*failures), set()) == {Reason("raised", "no kernel"): [SINH]}


def test_what_was_planned_and_left_no_trace_was_not_measured() -> None:
    run = run_with(Failure(RELU, "timeout", "too long"), cases=(SINH, RELU))
    found = cases_by_reason(run, set())
    assert found == {Reason("timeout", "too long"): [RELU], Reason("not measured"): [SINH]}
    assert cases_by_reason(run, {SINH}) == {Reason("timeout", "too long"): [RELU]}


def test_ops_with_the_same_reason_are_one_hole() -> None:
    groups = {Reason("raised", "no kernel"): [SINH, RELU, LARGER]}
    assert holes_of(groups) == (Hole(Reason("raised", "no kernel"), 3, ("sinh", "relu")),)


def test_the_gravest_reason_comes_first_and_then_the_one_of_most_cases() -> None:
    groups = {
        Reason("not measured"): [SINH],
        Reason("unsupported", "one"): [SINH],
        Reason("unsupported", "two"): [SINH, RELU],
        Reason("wrong", "three"): [RELU],
    }
    assert [(hole.reason.status, hole.reason.said) for hole in holes_of(groups)] == [
        ("wrong", "three"),
        ("unsupported", "two"),
        ("unsupported", "one"),
        ("not measured", ""),
    ]


def test_what_is_no_case_is_a_hole_of_its_own_name() -> None:
    assert holes_of({Reason("raised", "no"): ["what/ever"]}) == (Hole(Reason("raised", "no"), 1, ("what/ever",)),)
