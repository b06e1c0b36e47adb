"""A case is matched by its id, with or without variant, and by what tells the runs of its side apart."""

from __future__ import annotations

from dataclasses import replace

from pyopbench.judge.comparison.case_key import CaseKey
from pyopbench.model.case import Case

CASE = Case("sinh", "native", "tape", "backward", "call", "float32", 10)


def test_two_variants_of_a_case_have_one_key_without_their_variant() -> None:
    other = replace(CASE, variant="xla", gradient="autodiff")
    assert CaseKey.without_variant(CASE) == CaseKey.without_variant(other)
    assert CaseKey.whole(CASE) != CaseKey.whole(other)
    assert str(CaseKey.without_variant(CASE)) == "sinh/backward/call/float32/10/cpu"


def test_the_text_of_a_key_is_the_id_and_the_environment() -> None:
    key = CaseKey.whole(CASE)
    assert str(key) == CASE.id
    assert str(replace(key, environment=(("tensorflow", "2.16.2"),))) == f"{CASE.id} in TensorFlow 2.16.2"
    assert str(replace(key, environment=(("machine", "here"), ("commit", "abc")))) == f"{CASE.id} in here abc"
