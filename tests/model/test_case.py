"""Ids of cases and their groups."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyopbench.model.case import DIRECTIONS, DTYPES, MODES, Case, make_label, variant_in
from pyopbench.model.errors import BadInput

names = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1)
cases = st.builds(
    Case,
    op=names,
    variant=names,
    gradient=names,
    direction=st.sampled_from(DIRECTIONS),
    mode=st.sampled_from(MODES),
    dtype=st.sampled_from(DTYPES),
    size=st.integers(1, 10**15),
    placement=names,
)
CASE = Case("sinh", "native", "autodiff", "backward", "call", "float32", 1000)


@given(cases)
def test_a_case_is_read_back_from_its_id(case: Case) -> None:
    assert Case.from_id(case.id) == case


@given(st.text(st.sampled_from("ab/01²٣ .-"), max_size=30))
def test_any_text_is_the_id_that_it_reads_as_or_refused(text: str) -> None:
    try:
        case = Case.from_id(text)
    except BadInput:
        return
    assert case.id == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sinh",
        "a/b/c/d/e/f/1",
        "a/b/c/d/e/f/1/cpu/more",
        "a/b/c/d/e/f/x/cpu",
        "a/b/c/d/e/f/²/cpu",
        "a/b/c/d/e/f/-1/cpu",
        "a/b/c/d/e/f/0/cpu",
        "a/b/c/d/e/f/01/cpu",
        "a//c/d/e/f/1/cpu",
        f"a/b/c/d/e/f/{'9' * 5000}/cpu",
    ],
)
def test_what_is_no_id_is_refused_with_the_form_of_one(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        Case.from_id(text)
    assert refused.value.received == repr(text)


def test_the_id_is_the_documented_one() -> None:
    assert CASE.id == "sinh/native/autodiff/backward/call/float32/1000/cpu"


def test_backward_and_forward_backward_share_a_group() -> None:
    assert replace(CASE, direction="forward_backward").group == CASE.group


@pytest.mark.parametrize(
    "other",
    [
        {"op": "cube"},
        {"direction": "forward"},
        {"mode": "eager"},
        {"dtype": "float64"},
        {"size": 1},
        {"placement": "gpu"},
    ],
)
def test_all_else_tells_groups_apart(other: dict[str, object]) -> None:
    assert replace(CASE, **other).group != CASE.group  # type: ignore[arg-type]


# Variants


@pytest.mark.parametrize("mode", ["threads", "threads:", "threads:0", "threads:two", "threads:4:4", "threads:12345"])
def test_calls_from_no_number_of_threads_are_refused(mode: str) -> None:
    with pytest.raises(BadInput):
        Case.from_id(f"sinh/native/none/forward/{mode}/float32/1000/cpu")


@pytest.mark.parametrize(
    ("gradient", "gradients", "text"),
    [
        ("none", ["tape", "override_map"], "py_function"),
        ("tape", ["tape", "override_map"], "py_function"),
        ("tape", ("tape",), "py_function"),
        ("override_map", ["tape", "override_map"], "py_function+override_map"),
        ("tape", [], "py_function+tape"),
        ("none", [], "py_function"),
    ],
)
def test_a_case_is_labelled_with_its_gradient_unless_that_is_usual_or_none(
    gradient: str, gradients: list[str], text: str
) -> None:
    label = make_label("py_function", gradient, gradients)
    assert (label, variant_in(label)) == (text, "py_function")
