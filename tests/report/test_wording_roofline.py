"""Why a share of the bound is above 100%: a clause for each reason, and a word for a cell."""

from __future__ import annotations

from typing import get_args

from pyopbench.judge.roofline import Beyond
from pyopbench.report.wording.roofline import BRIEF, beyond_text


def test_every_reason_has_a_clause_and_a_word() -> None:
    assert set(BRIEF) == set(get_args(Beyond))
    clauses = {beyond: beyond_text(beyond) for beyond in BRIEF}
    assert all(clause.startswith("above 100%") for clause in clauses.values())
    assert len(set(clauses.values())) == len(clauses)
