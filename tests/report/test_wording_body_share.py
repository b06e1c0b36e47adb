"""How much of a callback's cost its body is, as whole lines."""

from __future__ import annotations

import pytest

from pyopbench.judge.body_share import BodyShare
from pyopbench.report.wording.body_share import body_share_text

BOUND = (
    "the numpy body takes 80% of the time of today, so a callback around the same numpy body gains at most 1.25×; "
    "another body may gain more"
)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.2, "the numpy body takes 20% of the time of today; the rest is overhead of the callback"),
        (0.8, BOUND),
    ],
)
def test_body_share(share: float, said: str) -> None:
    assert body_share_text(BodyShare("sinh", "node", "float32", "cpu", "today", "numpy", share)) == said
