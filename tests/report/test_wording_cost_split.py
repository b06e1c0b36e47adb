"""Why there is no prediction, as whole lines."""

from __future__ import annotations

import pytest

from pyopbench.judge.cost_split import BodyNotAlone, PartMissing
from pyopbench.report.wording.cost_split import unpredicted_text


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (BodyNotAlone("numpy"), "the numpy body was not measured separately"),
        (PartMissing("a/b"), "a/b has no number"),
        (PartMissing("a/b", told="ValueError: no"), "a/b has no number: ValueError: no"),
        (PartMissing("floor_produce", "py_func"), "floor_produce of py_func has no number"),
    ],
)
def test_reasons(reason: BodyNotAlone | PartMissing, said: str) -> None:
    assert unpredicted_text(reason) == said
