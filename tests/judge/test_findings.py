"""Findings are values: each kind has a name of its own, holds no sentence, and has its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from finding_examples import example
from pyopbench.judge import copies_advice, findings
from pyopbench.report.wording.decisions import caveat_text, change_text, note_text, reason_text
from pyopbench.report.wording.gpu_advice import advice_text

GROUPS: list[tuple[Any, Callable[[Any], str]]] = [
    (findings.Reason, reason_text),
    (findings.Caveat, caveat_text),
    (findings.WouldChange, change_text),
    (findings.Note, note_text),
    (copies_advice.CopiesAdvice, advice_text),
]


@pytest.mark.parametrize(("group", "words"), GROUPS, ids=["reason", "caveat", "change", "note", "copies"])
def test_every_kind_has_words(group: Any, words: Callable[[Any], str]) -> None:
    sentences = [words(example(kind)) for kind in get_args(group)]
    assert all(isinstance(sentence, str) and sentence for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_every_kind_has_a_name_of_its_own() -> None:
    kinds = {kind for group, _ in GROUPS for kind in get_args(group)}
    assert len({example(kind).kind for kind in kinds}) == len(kinds)
