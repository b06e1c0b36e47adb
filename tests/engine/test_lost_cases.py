"""A lost worker costs the case that it was at, what is timed with it, and the floor that explains it; nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import stored
from pyopbench.engine.lost_cases import MOST_LOSSES, failures_elsewhere, failures_of, refused_with_gradient
from pyopbench.engine.worker_process import CaseLost

KEYS = [
    f"double/{variant}/custom_gradient/{direction}/call/float32/1/cpu"
    for variant in ("crashing", "well")
    for direction in ("backward", "forward_backward")
]


def lost(case: str | None) -> CaseLost:
    return CaseLost(case, "crashed", "it ended")


def test_what_is_timed_in_one_pass_is_lost_together() -> None:
    found = failures_of(lost(KEYS[0]), KEYS, 3, retried=False)
    assert [(one.case, one.status, one.reason, one.launch) for one in found] == [
        (key, "crashed", "it ended", 3) for key in KEYS[:2]
    ]


def test_a_group_is_blamed_for_a_loss_before_any_case_the_second_time() -> None:
    assert failures_of(lost(None), KEYS, 0, retried=False) == []
    assert [one.case for one in failures_of(lost(None), KEYS, 0, retried=True)] == KEYS


def test_a_case_is_blamed_for_a_worker_that_somebody_ended_the_second_time() -> None:
    killed = CaseLost(KEYS[0], "crashed", "it was ended", from_outside=True)
    assert failures_of(killed, KEYS, 0, retried=False) == []
    assert [one.case for one in failures_of(killed, KEYS, 0, retried=True)] == KEYS[:2]


def test_the_floor_of_a_variant_goes_with_it() -> None:
    floor = [stored.case("crashing_floor"), stored.case("crashing", op="floor_produce", size=10)]
    others = [stored.case("well_floor"), stored.case("crashing"), stored.case("well", op="floor_produce", size=10)]
    for culprit in (stored.case("crashing"), stored.case("crashing_floor", op="sinh")):
        found = failures_elsewhere(lost(culprit), [*floor, *others], 0, {floor[0]}, Counter())
        assert [one.case for one in found] == [floor[1]]
        assert found[0].reason == "not measured, because crashing was lost: it ended"


def test_a_variant_that_has_cost_enough_is_left_alone_on_its_op() -> None:
    same = [stored.case("crashing", size=2), stored.case("crashing", size=3)]
    others = [stored.case("well"), stored.case("crashing", op="sinh")]
    losses: Counter[tuple[str, str]] = Counter()
    for _ in range(MOST_LOSSES - 1):
        assert failures_elsewhere(lost(stored.case("crashing")), [*same, *others], 1, {same[0]}, losses) == []
    found = failures_elsewhere(lost(stored.case("crashing")), [*same, *others], 1, {same[0]}, losses)
    assert [(one.case, one.status, one.launch) for one in found] == [(same[1], "crashed", 1)]
    assert found[0].reason == f"not measured, because crashing of the op has cost {MOST_LOSSES} workers: it ended"


def test_a_loss_before_any_case_costs_nothing_elsewhere_and_counts_for_nobody() -> None:
    losses: Counter[tuple[str, str]] = Counter()
    assert failures_elsewhere(lost(None), [stored.case("crashing"), stored.case("crashing_floor")], 0, (), losses) == []
    assert not losses


def test_a_floor_that_is_lost_often_has_one_failure_for_each_case() -> None:
    """A case that is of the floor and of what is left alone has the first reason."""
    floor = stored.case("crashing", op="floor_produce")
    losses = Counter({("floor_produce", "crashing"): MOST_LOSSES})
    (found,) = failures_elsewhere(lost(stored.case("crashing", op="floor_produce", size=2)), [floor], 0, (), losses)
    assert found.reason == "not measured, because crashing was lost: it ended"


def test_what_holds_a_refused_forward_pass_is_refused_with_it() -> None:
    """All directions with a gradient, at that size, on that device, by that variant; and for nothing but a refusal."""

    def row(status: str, **parts: Any) -> dict[str, Any]:
        return {"case": stored.case("xla", **parts), "status": status, "reason": "no", "launch": 3}

    with_gradient = [
        stored.case("xla", direction=direction, gradient="autodiff") for direction in ("backward", "forward_backward")
    ]
    others = [
        stored.case("xla", direction="backward", gradient="autodiff", size=7),
        stored.case("native", direction="backward", gradient="autodiff"),
        stored.case("xla", op="other", direction="backward", gradient="autodiff"),
        stored.case("xla"),
    ]
    found = refused_with_gradient([row("unsupported")], [*with_gradient, *others])
    assert found == [{"case": key, "status": "unsupported", "reason": "no", "launch": 3} for key in with_gradient]
    for status in ("wrong", "raised", "elided", "crashed"):
        assert refused_with_gradient([row(status)], with_gradient) == []
    gradient = row("unsupported", direction="backward", gradient="autodiff")
    assert refused_with_gradient([gradient], [*with_gradient, *others]) == [], "forward may work all the same"
