"""Texts of ports are compared as programs: how they are formatted does not matter."""

from __future__ import annotations

import pytest

from pyopbench.model.portable import format_text, is_same_program, which_ruff

TEXT = '''"""A port."""
import numpy as np
def body(x,y):
    """Do it.

      Args:
          x: a vector.   """
    z = (x [ 1 : ]+y,
        'a' "b", 0XFF, 1E5)  # here
    del (x, y)
    return (z)
'''


def test_a_formatted_text_is_the_same_program() -> None:
    if which_ruff() is None:
        pytest.skip("there is no Ruff")
    formatted = format_text(TEXT)
    assert formatted != TEXT
    assert is_same_program(TEXT, formatted)


@pytest.mark.parametrize(
    ("old", "new"), [("1 :", "2 :"), ("'a'", "'c'"), ("return (z)", "return z, z"), ("a vector", "a matrix")]
)
def test_another_program_is_another(old: str, new: str) -> None:
    assert old in TEXT
    assert not is_same_program(TEXT, TEXT.replace(old, new))


def test_what_is_no_program_is_the_same_only_byte_by_byte() -> None:
    assert is_same_program("x = (", "x = (")
    assert not is_same_program("x = (", "x = [")
    assert not is_same_program("x = \0", "x = 1")
