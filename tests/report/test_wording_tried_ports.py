"""Ports that were tried by themselves, in words."""

from __future__ import annotations

import pytest

from pyopbench.model.case import CHANGES, Change
from pyopbench.report.wording.tried_ports import change_text, works_text


def test_the_change_is_given_with_its_line_and_the_reason() -> None:
    assert change_text(Change("length", 12, "len(x)", "x.shape[0]")) == (
        "Line 12: replace `len(x)` with `x.shape[0]`, because the length of a tensor is in its shape."
    )


@pytest.mark.parametrize("kind", CHANGES)
def test_every_kind_has_words(kind: str) -> None:
    assert change_text(Change(kind, 1, "a", "b")).startswith("Line 1: replace `a` with `b`, because ")


def test_where_else_a_port_runs_is_said_of_what_says_so() -> None:
    assert works_text(["JAX", "PyTorch"]) == "yes; its functions exist for JAX and PyTorch too"
    assert works_text([]) == "yes"
