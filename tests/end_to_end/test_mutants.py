"""Commands end as documented whatever was done to the results that they read, as `helpers/mutants.py` does."""

from __future__ import annotations

import pytest

import mutants

COUNT = 500
"""Some eight seconds; `make fuzz` goes on for as many as it is told."""


@pytest.mark.parametrize("seed", [0, *mutants.FOUND])
def test_mutants_end_as_documented(seed: int) -> None:
    assert list(mutants.run(1 if seed else COUNT, seed)) == []


def test_a_command_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "call", lambda words: (2, f"pyopbench {mutants.UNEXPECTED}"))
    assert len(list(mutants.run(2, 0))) == 2
