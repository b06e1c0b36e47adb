"""How much of a callback's cost its body is, as whole lines."""

from __future__ import annotations

import pytest

from pyopbench.judge.body_share import BodyShare
from pyopbench.report.wording.body_share import body_share_text


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.2, "the numpy body is 20% of the cost of today: the rest is the bridge"),
        (0.8, "the numpy body is 80% of the cost of today: around the same body, no bridge can gain more than 1.25×"),
    ],
)
def test_body_share(share: float, said: str) -> None:
    assert body_share_text(BodyShare("sinh", "node", "float32", "cpu", "today", "numpy", share)) == said
