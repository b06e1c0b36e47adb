"""Cases without a number are grouped by reason, and the reasons of several ops by what they have in common."""

from __future__ import annotations

import pytest

from frames import Bench
from pyopbench.core.model import Case, Failure
from pyopbench.judge.holes import Hole, Reason, around, cases_by_reason, holes_of

SINH = Case("sinh", "xla", "none", "forward", "call", "float32", 10).id
RELU = Case("relu", "xla", "none", "forward", "call", "float32", 10).id


def run_with(*failures: Failure, cases: tuple[str, ...] = ()):  # type: ignore[no-untyped-def]
    run = Bench({"native": 1.0}, launches=1).run()
    run.failures, run.cases = failures, cases
    return run


def test_numbers_of_traced_functions_do_not_tell_reasons_apart() -> None:
    failures = [Failure(SINH, "raised", f"no kernel in __inference_body_{number}", number) for number in (17, 27)]
    assert cases_by_reason(run_with(*failures), set()) == {
        Reason("raised", ("no kernel in __inference_body_…",)): [SINH]
    }


def test_what_was_planned_and_left_no_trace_was_not_measured() -> None:
    run = run_with(Failure(RELU, "timeout", "too long"), cases=(SINH, RELU))
    found = cases_by_reason(run, set())
    assert found == {Reason("timeout", ("too long",)): [RELU], Reason("not measured"): [SINH]}
    assert cases_by_reason(run, {SINH}) == {Reason("timeout", ("too long",)): [RELU]}


def test_ops_that_differ_in_their_name_alone_have_one_reason() -> None:
    groups = {Reason("raised", (f"no kernel for {op}",)): [case] for op, case in (("sinh", SINH), ("relu", RELU))}
    assert holes_of(groups) == (Hole(Reason("raised", ("no kernel for ", "")), 2, ("sinh", "relu")),)


def test_the_gravest_reason_comes_first_and_then_the_one_of_most_cases() -> None:
    groups = {
        Reason("not measured"): [SINH],
        Reason("unsupported", ("one",)): [SINH],
        Reason("unsupported", ("two",)): [SINH, RELU],
        Reason("wrong", ("three",)): [RELU],
    }
    assert [(hole.reason.status, hole.reason.said) for hole in holes_of(groups)] == [
        ("wrong", ("three",)),
        ("unsupported", ("two",)),
        ("unsupported", ("one",)),
        ("not measured", ()),
    ]


def test_what_is_no_case_is_a_hole_of_its_own_name() -> None:
    assert holes_of({Reason("raised", ("no",)): ["what/ever"]}) == (Hole(Reason("raised", ("no",)), 1, ("what/ever",)),)


@pytest.mark.parametrize(
    ("op", "said", "parts"),
    [
        ("sinh", "sinh has no python body", ("", " has no python body")),
        ("sinh", "no kernel", ("no kernel",)),
        ("log", "log of log_huber and of catalogue", ("", " of log_huber and of catalogue")),
        ("a|b", "in a|b, or a|b", ("in ", ", or ", "")),
    ],
)
def test_only_the_whole_name_of_an_op_is_left_out(op: str, said: str, parts: tuple[str, ...]) -> None:
    assert around(op, said) == parts
