"""What a variant answers, by its role."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from made_nouns import OWN_OPS, made_op, made_variant

QUESTIONS = ("is_callback", "is_part", "is_usual", "is_attempt")


@pytest.mark.parametrize(
    ("role", "answers"),
    [
        ("candidate", {"is_callback", "is_usual"}),
        ("attempt", {"is_callback", "is_usual", "is_attempt"}),
        ("own_attempt", {"is_callback", "is_attempt"}),
        ("by_name", {"is_callback"}),
        ("control", {"is_callback"}),
        ("body_alone", {"is_part"}),
        ("empty", {"is_part"}),
        ("twin", {"is_part"}),
    ],
)
def test_the_role_of_a_callback_answers_each_question(role: Any, answers: set[str]) -> None:
    variant = made_variant(role=role)
    assert {question for question in QUESTIONS if getattr(variant, question)} == answers
    assert not variant.is_port
    port = replace(variant, kind="port")
    assert port.is_port is not port.is_part
    assert not port.is_callback


def test_a_body_that_nobody_wrote_makes_an_attempt_of_whatever_needs_it() -> None:
    op = made_op(own=OWN_OPS["with a py_function body"])
    assert made_variant(body="tensor").is_attempt_for(op)
    assert not made_variant(body="numpy").is_attempt_for(op)
    assert not made_variant(body="tensor").is_attempt_for(made_op())
    assert made_variant(body="numpy", role="attempt").is_attempt_for(made_op())
