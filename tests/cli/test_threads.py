"""`--threads` takes numbers, and is for one version."""

from __future__ import annotations

import pytest

from pyopbench.cli.threads import read_threads
from pyopbench.core.errors import BadInput


@pytest.mark.parametrize(("text", "numbers"), [("", ()), ("2", (2,)), ("4,1,2,2", (1, 2, 4))])
def test_numbers_are_read_ascending_and_once(text: str, numbers: tuple[int, ...]) -> None:
    assert read_threads(text, []) == numbers


@pytest.mark.parametrize("text", ["0", "two", "1,-2", "1.5", "257", "all"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_threads(text, [])


def test_beside_other_versions_they_are_refused() -> None:
    with pytest.raises(BadInput):
        read_threads("1,2", ["--tf"])
    assert read_threads("", ["--tf"]) == ()
