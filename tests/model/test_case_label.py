"""A label names a variant, and its gradient where that is not the usual one; its text is read back as it was."""

from __future__ import annotations

import re

import pytest

from places import ROOT
from pyopbench.model.case import Label

EACH = [("native", Label("native")), ("py_func+override_map", Label("py_func", "override_map"))]


@pytest.mark.parametrize(("text", "label"), EACH)
def test_a_text_is_read_and_written_back(text: str, label: Label) -> None:
    assert Label.parse(text) == label
    assert str(label) == text


def test_what_follows_the_first_plus_is_the_gradient() -> None:
    assert Label.parse("a+b+c") == Label("a", "b+c")


def test_a_text_that_ends_with_a_plus_names_no_gradient() -> None:
    assert Label.parse("a+") == Label("a")


def test_labels_of_a_variant_differ_by_their_gradient() -> None:
    assert len({Label("a"), Label("a", "b"), Label("a", "c"), Label.parse("a+b")}) == 3


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
    assert str(Label.of("py_function", gradient, gradients)) == text


def test_no_other_module_of_the_package_joins_or_splits_a_label() -> None:
    by_hand = re.compile(r"""(split|partition)\([^)]*['"]\+['"]|\}\+\{""")
    files = [path for kind in ("*.py", "*.js", "*.j2") for path in (ROOT / "pyopbench").rglob(kind)]
    assert [path.name for path in files if by_hand.search(path.read_text(encoding="utf-8"))] == ["case.py"]
