"""How an option is written in errors."""

from __future__ import annotations

import pytest

from pyopbench.model.option_text import option_text


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("rev", ["main", "HEAD"], "--rev main --rev HEAD"),
        ("fail_on", "slower:5%", "--fail-on slower:5%"),
        ("launches", 5, "--launches 5"),
        ("packages", None, "--with"),
    ],
)
def test_an_option_is_written_as_on_the_command_line(
    name: str, value: str | int | list[str] | None, typed: str
) -> None:
    assert option_text(name, value) == typed
