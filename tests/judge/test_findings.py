"""Findings are values: each kind has a name of its own, holds no sentence, and has its words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from pyopbench.judge import findings
from pyopbench.report.wording.decisions import caveat_text, flip_text, note_text, reason_text
from pyopbench.report.wording.gpu_advice import advice_text

GROUPS: list[tuple[Any, Callable[[Any], str]]] = [
    (findings.Reason, reason_text),
    (findings.Caveat, caveat_text),
    (findings.Flip, flip_text),
    (findings.Note, note_text),
    (findings.CopiesAdvice, advice_text),
]
PLAIN: dict[Any, Any] = {str: "native", int: 3, float: 2.5, bool: True}


def example(hint: Any) -> Any:
    """Return some value of a type."""
    inner = get_args(hint)
    if get_origin(hint) is Literal:
        return inner[0]
    if get_origin(hint) is tuple:
        return (example(inner[0]),)
    if inner:
        return example(inner[0])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(**{field.name: example(hints[field.name]) for field in dataclasses.fields(hint)})
    return PLAIN[hint]


@pytest.mark.parametrize(("group", "words"), GROUPS, ids=["reason", "caveat", "flip", "note", "copies"])
def test_every_kind_has_words(group: Any, words: Callable[[Any], str]) -> None:
    sentences = [words(example(kind)) for kind in get_args(group)]
    assert all(isinstance(sentence, str) and sentence for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_every_kind_has_a_name_of_its_own() -> None:
    kinds = {kind for group, _ in GROUPS for kind in get_args(group)}
    assert len({example(kind).kind for kind in kinds}) == len(kinds)
