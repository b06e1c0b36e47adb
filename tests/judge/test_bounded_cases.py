"""A forward call on the CPU may have a bound, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyopbench.judge.bounded_cases import may_have_bound
from pyopbench.model.case import Case

FORWARD_CALL = Case("sinh", "native", "none", "forward", "call", "float32", 1000)


def test_a_forward_call_may_have_a_bound() -> None:
    assert may_have_bound(FORWARD_CALL)


@pytest.mark.parametrize("change", [{"direction": "backward"}, {"mode": "node"}, {"placement": "gpu"}])
def test_no_other_case_has_one(change: dict[str, str]) -> None:
    assert not may_have_bound(replace(FORWARD_CALL, **change))  # type: ignore[arg-type]
