"""An answer in words."""

from __future__ import annotations

import pytest

from pyopbench.decision import Decision


def decision(action: str, choice: str | None) -> Decision:
    return Decision("sinh", "inference", "call", "float32", "cpu", "today", action, choice, None, None, None, "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "choice", "answer"),
    [
        ("keep", None, "keep"),
        ("undecided", None, "undecided"),
        ("port", "native", "port to native"),
        ("switch", "numpy_function", "switch to numpy_function"),
    ],
)
def test_an_answer_reads_as_a_sentence(action: str, choice: str | None, answer: str) -> None:
    assert decision(action, choice).answer == answer
