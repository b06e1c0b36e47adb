"""What held a GPU back is told once for all groups; what only says that it was idle is not."""

from __future__ import annotations

from typing import Any

from pyopbench import nvml, throttling


def group(*reasons: list[str] | None) -> dict[str, Any]:
    return {"noise": {"load": 1.0, "gpus": [{"name": "G", "held_back_by": held} for held in reasons]}}


def test_groups_in_which_a_gpu_was_slowed_down_are_counted_by_reason() -> None:
    groups = [group(["power cap"]), group(["idle"], ["power cap", "power brake"]), group([]), group(None)]
    (told,) = throttling.warnings([*groups, {"noise": {"load": 1.0}}, {}])
    assert told.startswith("the GPU was held back in 2 of 4 groups: power cap (2) and power brake (1)")


def test_idle_clocks_and_clocks_that_somebody_set_are_no_news() -> None:
    assert throttling.warnings([group(["idle"], ["clocks set by the user"]), {}]) == []


def test_a_gpu_that_does_not_tell_is_told() -> None:
    assert throttling.warnings([group(), group([])]) == ["clocks of the GPU are not known for 1 of 2 groups"]


def test_every_reason_is_one_that_the_library_gives() -> None:
    assert set(throttling.SLOWING) < set(nvml.REASONS.values())
