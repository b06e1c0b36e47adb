"""How an option is written, on a command line and in a call."""

from __future__ import annotations

import pytest

from pyopbench.model.option_text import asked_from_python, option_text


@pytest.mark.parametrize(
    ("name", "value", "typed", "called"),
    [
        ("rev", ["main", "HEAD"], "--rev main --rev HEAD", "rev=['main', 'HEAD']"),
        ("fail_on", "slower:5%", "--fail-on slower:5%", "fail_on='slower:5%'"),
        ("launches", 5, "--launches 5", "launches=5"),
        ("tf", None, "--tf", "tf="),
    ],
)
def test_an_option_is_written_as_it_is_given(
    name: str, value: str | int | list[str] | None, typed: str, called: str
) -> None:
    assert option_text(name, value) == typed
    with asked_from_python():
        assert option_text(name, value) == called
    assert option_text(name, value) == typed
