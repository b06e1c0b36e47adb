"""Warnings about GPUs that were held back."""

from __future__ import annotations

from typing import Any

from msgspec import structs

import stored
from pyopbench.store.caveats import Caveat, gpu_warnings
from pyopbench.store.types import GroupLine


def group(*reasons: list[str] | None) -> GroupLine:
    return with_gpus([{"name": "G", "held_back_by": held} for held in reasons])


def with_gpus(gpus: list[dict[str, Any]] | None) -> GroupLine:
    line = stored.group_line(0, [stored.case("well")])
    found = stored.typed_line({**line, "noise": {**stored.NOISE, "gpus": gpus}})
    assert isinstance(found, GroupLine)
    return found


def test_groups_in_which_a_gpu_was_slowed_down_are_counted_by_reason() -> None:
    groups = [group(["power cap"]), group([], ["power cap", "power brake"]), group([]), group(None)]
    (warning,) = gpu_warnings([*groups, with_gpus(None), structs.replace(with_gpus(None), noise=None)])
    assert warning.kind == "slowed_gpu"
    assert "in 2 of 4 groups: power cap (2) and power brake (1)" in warning.text()


def test_a_gpu_that_nothing_holds_back_is_no_news() -> None:
    assert gpu_warnings([group([], []), with_gpus(None)]) == ()


def test_a_gpu_that_does_not_report_its_clocks_is_a_warning() -> None:
    expected = Caveat("unknown_clocks", "the clocks of the GPU are unknown in 1 of 2 groups")
    assert gpu_warnings([group(), group([])]) == (expected,)
