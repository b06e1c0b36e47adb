"""Nothing that a terminal obeys, or that turns text around, is left in what is shown; all that is seen is."""

from __future__ import annotations

import sys
from unicodedata import category

import pytest

from pyopbench.model.formatting import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x9b2J", r"\x9b2J"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b\u2029", r"a\u2028b\u2029"),
        ("a\rb", r"a\rb"),
        ("\udcff", r"\udcff"),
        ("\ufeff\u200b", r"\ufeff\u200b"),
        ("a\tb\nc", "a\tb\nc"),
        ("Größe \N{GREEK SMALL LETTER ALPHA} \N{GRINNING FACE} → 1\N{NO-BREAK SPACE}000", None),
    ],
)
def test_what_is_no_sign_is_shown_as_its_escape(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)


def test_no_character_of_unicode_is_left_that_is_none_to_be_seen() -> None:
    left = printable("".join(map(chr, range(sys.maxunicode + 1))))
    assert {category(one) for one in set(left) - set("\n\t")}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
