"""Which cases the machine's limits bound: ops say what a forward pass moves, and the limits are those of the CPU."""

from __future__ import annotations

from pyopbench.model.case import Case

BOUNDED = {"direction": "forward", "mode": "call", "placement": "cpu"}


def may_have_bound(case: Case) -> bool:
    """Has a case a bound if its op says what it moves? In a run without any, the limits tell nothing."""
    return all(getattr(case, name) == value for name, value in BOUNDED.items())
