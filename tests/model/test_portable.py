"""Texts of ports have the format of Ruff where it is installed."""

from __future__ import annotations

import pytest

from pyopbench.model.portable import format_text, which_ruff


def test_a_text_is_formatted_by_no_settings_and_a_broken_one_stays() -> None:
    if which_ruff() is None:
        pytest.skip("there is no Ruff")
    assert format_text("x = ( 1 )\n") == "x = 1\n"
    assert format_text("x = (") == "x = ("
